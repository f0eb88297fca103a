/* The general model of a judgment, compiled: annotators' parameters integrated out by cubature, and
 * sums over what the nodes pull rows by. The twin in NumPy is `models.general`.
 *
 * eta = gamma (gap) + position + stance * axis, and a readiness nu to tie. Rows are sorted by
 * annotator; every kernel takes a range of annotators and writes what is theirs, or adds into arrays
 * of its own, so that ranges can run in threads. Doubles that grow with the rows of one annotator
 * are room for that annotator only; what is stored per row and node is float32.
 */
#include "shared.h"

#define WIDE 256     /* rows worked on at once: what they need stays in the first cache */
#define MOST 4       /* parameters of an annotator */
#define MOST_NODES 16
#define GRADES 3
#define SMOOTH 0.4   /* sd of gamma * gap up to which derivatives replace the five points of a row's
                      * gap: a pull is then right to 6e-5 of a row at worst */
#define SLACK 1.2    /* how far beyond that a mode may move before more rows are looked at by points */
#define STEPS 60     /* Newton steps to a mode: far more than any annotator took */
#define LONGEST 1.0  /* largest change of a parameter in a step: losses are nearly straight beyond */
#define HALVINGS 30
#define CLEARLY 3.0  /* sds by which a reversed annotator's strength must be negative to be given up */
#define READIEST 600.0 /* largest readiness: beyond, every answer is a tie */
#define FURTHEST 100.0 /* largest readiness of a context */

enum { RELIABILITY, POSITION, READINESS, STANCE };
enum { GAP_GAP, GAP_AXIS, AXIS_AXIS, GAP_TIE, AXIS_TIE, TIE_TIE, PAIRS };

/* What is integrated, and where the results go. Pointers may be NULL where it says so. */
typedef struct {
    int64_t n_rows, n_second; /* n_second: rows of the annotators whose second half is looked at */
    int64_t parameters, halves, each, top;
    int64_t role[MOST];    /* where reliability, position, readiness and stance are; -1: nowhere */
    const int64_t *starts;
    const int64_t *second; /* where the annotator's rows begin among those n_second; -1: left out */
    const double *gap;
    const float *row_sd;   /* of the gaps; NULL: none are uncertain */
    const double *weight;  /* NULL: all 1 */
    const double *lean, *tied;
    const double *axis, *offset; /* NULL: none */
    const double *grades;  /* exp(kappa_g), the first of them 1 */
    const double *mean;    /* annotators by parameters */
    const double *sd, *point, *log_weight, *log_share;
    double close;
    double *mode;          /* annotators by halves by parameters: where to look for them */
    double *node;          /* annotators by nodes by parameters */
    double *chance;        /* annotators by nodes */
    float *pull, *second_pull, *tie_pull, *second_tie_pull; /* nodes by rows; ties NULL: unwanted */
    float *curve[PAIRS];   /* NULL: unwanted */
    int64_t exact;         /* 1: never by derivatives; -1: modes, too, where only some rows allow it */
} Integral;

typedef struct Own {
    const double *gap, *weight, *lean, *tied, *axis, *ready;
    const float *sd;
    int64_t rows;
    double lean_gap, lean_all, lean_axis, tied_all, tied_offset, readiest, widest;
    const struct Own *points; /* the points of all rows' gaps as rows, where rows are few; or NULL */
} Own;

/* What those are made of: each array has all rows at the first point, then at the second, ... */
typedef struct {
    double gap[WIDE], weight[WIDE], lean[WIDE], tied[WIDE], axis[WIDE], ready[WIDE];
} Points;

typedef struct {
    double gamma, position, stance, nu, tie;
    int smooth, ties; /* smooth: gaps are averaged by derivatives; 2: by more of them */
} Spot;

/* Sums over rows: pulls and curvatures times gap, 1 and axis; of nu; and of eta with nu. */
typedef struct {
    double pull_gap, pull, pull_axis, tie;
    double gap_gap, gap_one, one_one, gap_axis, one_axis, axis_axis;
    double gap_tie, one_tie, axis_tie, tie_tie;
} Slopes;

/* Rows among others whose gaps are too uncertain for derivatives, and what became of them. */
typedef struct {
    Points at;
    int row[WIDE / GAPS];
    double found[5][WIDE / GAPS];
    double weight[WIDE], lean[WIDE], tied[WIDE]; /* of all rows, 0 for these */
} Unsure;

typedef struct {
    double gap[WIDE], eta[WIDE], small[WIDE], tie[WIDE], total[WIDE], gained[WIDE];
    double pull[WIDE], curve[WIDE], tie_pull[WIDE], tie_curve[WIDE], cross[WIDE];
    double third[WIDE], fourth[WIDE], bent[WIDE];
    double one[5][WIDE]; /* of one point of the gap: pull, curve, tie_pull, tie_curve, cross */
    Unsure unsure;
} Work;

/* The logarithm of a positive number that is neither tiny nor infinite; vectorises. */
PART double log_of(double x)
{
    const double magic = 4503599627370496.0; /* 2^52 */
    uint64_t bits, high;
    double m, e, z, q, q2, low, middle, last;
    memcpy(&bits, &x, sizeof bits);
    high = (bits >> 52) | 0x4330000000000000u;
    bits = (bits & 0x000fffffffffffffu) | 0x3ff0000000000000u;
    memcpy(&m, &bits, sizeof m);
    memcpy(&e, &high, sizeof e);
    e -= magic + 1023.0;
    e = m > 1.4142135623730951 ? e + 1.0 : e;
    m = m > 1.4142135623730951 ? 0.5 * m : m;
    z = (m - 1.0) / (m + 1.0);
    q = z * z;
    q2 = q * q;
    low = 2.0 + q * 6.6666666666666667e-01;
    middle = 0.4 + q * 2.8571428571428571e-01;
    last = (2.2222222222222222e-01 + q * 1.8181818181818182e-01) +
           q2 * (1.5384615384615385e-01 + q * 1.3333333333333333e-01) +
           q2 * q2 * (1.1764705882352941e-01 + q * 1.0526315789473684e-01);
    return e * 0.69314718055994531 + z * (low + q2 * (middle + q2 * last));
}

/* The sum of weight * (half |eta| + log total); half is half the number of grades, and no total is
 * above most. */
PART double log_sum(const double *weight, const double *eta, const double *total, double half,
                    double most, int n)
{
    double sum = 0.0, size[4] = {0.0, 0.0, 0.0, 0.0};
    const int block = (int)(650.0 / log(most)) & ~3;
    if (weight || block < 8) {
        double found[WIDE];
        for (int k = 0; k < n; k++) found[k] = half * fabs(eta[k]) + log_of(total[k]);
        return weight ? dot(weight, found, n) : sum_of(found, n);
    }
    /* One logarithm for as many rows as cannot overflow. */
    for (int from = 0; from < n; from += block) {
        const int to = from + block < n ? from + block : n;
        double product[4] = {1.0, 1.0, 1.0, 1.0};
        int k = from;
        for (; k + 4 <= to; k += 4) {
            for (int lane = 0; lane < 4; lane++) {
                product[lane] *= total[k + lane];
                size[lane] += fabs(eta[k + lane]);
            }
        }
        for (; k < to; k++) {
            product[0] *= total[k];
            size[0] += fabs(eta[k]);
        }
        sum += log((product[0] * product[1]) * (product[2] * product[3]));
    }
    return sum + half * ((size[0] + size[1]) + (size[2] + size[3]));
}

/* Chances at eta, of one grade: of all but weights. Fills total, mean (as pull), curve, and what
 * concerns ties: their chance (as tie_pull), tie_curve and cross. */
PART void one_grade(const Spot *s, const double *ready, int n, const double *eta, double *small,
                    double *tie, double *total, double *mean, double *curve, double *chance,
                    double *tie_curve, double *cross)
{
    for (int k = 0; k < n; k++) small[k] = exp_minus(0.5 * fabs(eta[k]));
    if (ready)
        for (int k = 0; k < n; k++) tie[k] = s->tie * ready[k] * small[k];
    else
        for (int k = 0; k < n; k++) tie[k] = s->tie * small[k];
    for (int k = 0; k < n; k++) {
        const double e = small[k] * small[k], z = tie[k], all = 1.0 + e + z, r = 1.0 / all;
        const double half = 0.5 * (1.0 - e) * r;
        total[k] = all;
        mean[k] = eta[k] < 0.0 ? -half : half;
        curve[k] = (e + 0.25 * (1.0 + e) * z) * r * r;
        chance[k] = z * r;
    }
    if (!s->ties) return;
    for (int k = 0; k < n; k++) {
        tie_curve[k] = chance[k] * (1.0 + small[k] * small[k]) / total[k];
        cross[k] = -chance[k] * mean[k];
    }
}

/* The same of several grades. */
PART void grades_of(int top, const double *grades, const Spot *s, const double *ready, int n,
                    const double *eta, double *small, double *total, double *mean, double *curve,
                    double *chance, double *tie_curve, double *cross)
{
    for (int k = 0; k < n; k++) small[k] = exp_minus(0.5 * fabs(eta[k]));
    for (int k = 0; k < n; k++) {
        double power[2 * GRADES + 1] = {1.0}, gap = 0.0, square = 0.0;
        for (int g = 1; g <= 2 * top; g++) power[g] = power[g - 1] * small[k];
        const double tie = (ready ? s->tie * ready[k] : s->tie) * power[top];
        double all = tie;
        for (int g = 1; g <= top; g++) {
            const double ahead = grades[g - 1] * power[top - g], behind = grades[g - 1] * power[top + g];
            all += ahead + behind;
            gap += 0.5 * g * (ahead - behind);
            square += 0.25 * g * g * (ahead + behind);
        }
        const double m = (eta[k] < 0.0 ? -gap : gap) / all, t = tie / all;
        total[k] = all;
        mean[k] = m;
        curve[k] = square / all - m * m;
        chance[k] = t;
        tie_curve[k] = t * (1.0 - t);
        cross[k] = -t * m;
    }
}

/* Average over a little uncertain gap by derivatives. With a = +-1/2 or 0 the answer, m its mean and
 * c its variance, the cumulants follow from k3 = m q, q = 1/4 - 3 c - m^2; the chance t of a tie has
 * t' = -m t. v is half the variance of eta. */
PART void smoothed(const Spot *s, const float *sd, int n, Work *w)
{
    const double square = 0.5 * s->gamma * s->gamma;
    if (s->ties)
        for (int k = 0; k < n; k++) {
            const double m = w->pull[k], c = w->curve[k], v = square * sd[k] * sd[k], h = 0.5 * v * v;
            const double q = 0.25 - 3.0 * c - m * m, k3 = m * q;
            const double k4 = c * q - m * (3.0 * k3 + 2.0 * m * c), t = w->tie_pull[k];
            const double one = w->cross[k], two = t * (m * m - c);
            const double three = t * (m * (3.0 * c - m * m) - k3);
            const double four = t * (m * m * (m * m - 6.0 * c) + 4.0 * m * k3 + 3.0 * c * c - k4);
            w->tie_pull[k] = t + v * two + h * four;
            w->tie_curve[k] += v * (two - 2.0 * (one * one + t * two));
            w->cross[k] = one + v * three;
            w->bent[k] = two;
        }
    for (int k = 0; k < n; k++) {
        const double m = w->pull[k], c = w->curve[k], v = square * sd[k] * sd[k], h = 0.5 * v * v;
        const double q = 0.25 - 3.0 * c - m * m, k3 = m * q, q1 = -3.0 * k3 - 2.0 * m * c;
        const double k4 = c * q + m * q1, q2 = -3.0 * k4 - 2.0 * (c * c + m * k3);
        const double k5 = k3 * q + 2.0 * c * q1 + m * q2;
        const double q3 = -3.0 * k5 - 6.0 * c * k3 - 2.0 * m * k4;
        const double k6 = k4 * q + 3.0 * (k3 * q1 + c * q2) + m * q3;
        w->gained[k] = v * c + h * k4;
        w->pull[k] = m + v * k3 + h * k5;
        w->curve[k] = c + v * k4 + h * k6;
        w->third[k] = k3;
        w->fourth[k] = k4;
    }
}

/* What the next derivatives add to the loss, pull and curvature of smoothed(), into w->one. */
PART void smoothed_more(const Spot *s, const float *sd, int n, Work *w)
{
    const double square = 0.5 * s->gamma * s->gamma;
    for (int k = 0; k < n; k++) {
        const double m = w->pull[k], c = w->curve[k], v = square * sd[k] * sd[k];
        const double third = v * v * v * (1.0 / 6.0);
        const double q = 0.25 - 3.0 * c - m * m, k3 = m * q, q1 = -3.0 * k3 - 2.0 * m * c;
        const double k4 = c * q + m * q1, q2 = -3.0 * k4 - 2.0 * (c * c + m * k3);
        const double k5 = k3 * q + 2.0 * c * q1 + m * q2;
        const double q3 = -3.0 * k5 - 6.0 * c * k3 - 2.0 * m * k4;
        const double k6 = k4 * q + 3.0 * (k3 * q1 + c * q2) + m * q3;
        const double q4 = -3.0 * k6 - 6.0 * k3 * k3 - 8.0 * c * k4 - 2.0 * m * k5;
        const double k7 = k5 * q + 4.0 * (k4 * q1 + c * q3) + 6.0 * k3 * q2 + m * q4;
        const double q5 = -3.0 * k7 - 20.0 * k3 * k4 - 10.0 * c * k5 - 2.0 * m * k6;
        const double k8 = k6 * q + 5.0 * (k5 * q1 + c * q4) + 10.0 * (k4 * q2 + k3 * q3) + m * q5;
        w->one[0][k] = third * k6;
        w->one[1][k] = third * k7;
        w->one[2][k] = third * k8;
    }
}

PART void weigh(const double *weight, int ties, int n, double *pull, double *curve, double *tie_pull,
                double *tie_curve, double *cross)
{
    for (int k = 0; k < n; k++) pull[k] *= weight[k];
    for (int k = 0; k < n; k++) curve[k] *= weight[k];
    if (!ties) return;
    for (int k = 0; k < n; k++) tie_pull[k] *= weight[k];
    for (int k = 0; k < n; k++) tie_curve[k] *= weight[k];
    for (int k = 0; k < n; k++) cross[k] *= weight[k];
}

/* Add the sums for the parameters; small, tie, total and gained of w are room. push is gamma times the
 * variance of a gap where it was averaged by derivatives: E f(gap + noise) noise = push E f' (Stein's
 * lemma). */
PART void add_slopes(double share, const Spot *s, const float *sd, const double *axis,
                     const double *pull, const double *curve, const double *tie_pull,
                     const double *tie_curve, const double *cross, int n, Work *w, Slopes *sums)
{
    const double *gap = w->gap;
    double *once = w->small, *twice = w->tie, *pulled = w->total, *crossed = w->gained;
    for (int k = 0; k < n; k++) {
        pulled[k] = gap[k] * pull[k];
        once[k] = gap[k] * curve[k];
        twice[k] = gap[k] * once[k];
    }
    if (sd && s->smooth)
        for (int k = 0; k < n; k++) {
            const double var = (double)sd[k] * sd[k], push = s->gamma * var, third = w->third[k];
            pulled[k] += push * curve[k];
            once[k] += push * third;
            twice[k] += var * curve[k] + push * (2.0 * gap[k] * third + push * w->fourth[k]);
        }
    sums->pull_gap += share * sum_of(pulled, n);
    sums->pull += share * sum_of(pull, n);
    sums->gap_gap += share * sum_of(twice, n);
    sums->gap_one += share * sum_of(once, n);
    sums->one_one += share * sum_of(curve, n);
    if (axis) {
        sums->pull_axis += share * dot(axis, pull, n);
        sums->gap_axis += share * dot(axis, once, n);
        sums->one_axis += share * dot(axis, curve, n);
        for (int k = 0; k < n; k++) pulled[k] = axis[k] * curve[k];
        sums->axis_axis += share * dot(axis, pulled, n);
    }
    if (!s->ties) return;
    for (int k = 0; k < n; k++) crossed[k] = gap[k] * cross[k];
    if (sd && s->smooth)
        for (int k = 0; k < n; k++) crossed[k] += s->gamma * ((double)sd[k] * sd[k]) * w->bent[k];
    sums->tie += share * sum_of(tie_pull, n);
    sums->tie_tie += share * sum_of(tie_curve, n);
    sums->gap_tie += share * sum_of(crossed, n);
    sums->one_tie += share * sum_of(cross, n);
    if (axis) sums->axis_tie += share * dot(axis, cross, n);
}

/* What a spot makes of n rows from a first one: fills pull and the rest of w, weighted, and less what
 * was answered; returns the loss but for what is linear in eta and nu. Adds to sums unless NULL. */
PART double row_terms(const Integral *j, const Own *o, const Spot *s, int64_t from, int n, Work *w,
                      Slopes *sums)
{
    const double *weight = o->weight ? o->weight + from : 0, *ready = o->ready ? o->ready + from : 0;
    const double *axis = o->axis ? o->axis + from : 0, *gap = o->gap + from;
    const float *sd = o->sd ? o->sd + from : 0;
    const int top = (int)j->top, points = sd && !s->smooth ? GAPS : 1;
    const double half = 0.5 * top;
    double loss = 0.0, most = s->tie * o->readiest;
    for (int g = 0; g < top; g++) most += 2.0 * j->grades[g];
    for (int t = 0; t < points; t++) {
        const double share = points > 1 ? GAP_WEIGHT[t] : 1.0;
        double *pull = points > 1 ? w->one[0] : w->pull, *curve = points > 1 ? w->one[1] : w->curve;
        double *tie_pull = points > 1 ? w->one[2] : w->tie_pull;
        double *tie_curve = points > 1 ? w->one[3] : w->tie_curve;
        double *cross = points > 1 ? w->one[4] : w->cross;
        if (points > 1)
            for (int k = 0; k < n; k++) w->gap[k] = gap[k] + GAP[t] * sd[k];
        else
            for (int k = 0; k < n; k++) w->gap[k] = gap[k];
        for (int k = 0; k < n; k++) w->eta[k] = s->gamma * w->gap[k] + s->position;
        if (axis)
            for (int k = 0; k < n; k++) w->eta[k] += s->stance * axis[k];
        if (top == 1)
            one_grade(s, ready, n, w->eta, w->small, w->tie, w->total, pull, curve, tie_pull,
                      tie_curve, cross);
        else
            grades_of(top, j->grades, s, ready, n, w->eta, w->small, w->total, pull, curve, tie_pull,
                      tie_curve, cross);
        loss += share * log_sum(weight, w->eta, w->total, half, most, n);
        if (s->smooth && sd) {
            if (s->smooth > 1) smoothed_more(s, sd, n, w);
            smoothed(s, sd, n, w);
            if (s->smooth > 1)
                for (int k = 0; k < n; k++) {
                    w->gained[k] += w->one[0][k];
                    w->pull[k] += w->one[1][k];
                    w->curve[k] += w->one[2][k];
                }
            loss += weight ? dot(weight, w->gained, n) : sum_of(w->gained, n);
            if (weight && sums) {
                for (int k = 0; k < n; k++) w->third[k] *= weight[k];
                for (int k = 0; k < n; k++) w->fourth[k] *= weight[k];
                if (s->ties)
                    for (int k = 0; k < n; k++) w->bent[k] *= weight[k];
            }
        }
        if (weight) weigh(weight, s->ties, n, pull, curve, tie_pull, tie_curve, cross);
        for (int k = 0; k < n; k++) pull[k] -= o->lean[from + k];
        if (s->ties)
            for (int k = 0; k < n; k++) tie_pull[k] -= o->tied[from + k];
        if (sums)
            add_slopes(share, s, sd, axis, pull, curve, tie_pull, tie_curve, cross, n, w, sums);
        if (points == 1) continue;
        double *kept[5] = {w->pull, w->curve, w->tie_pull, w->tie_curve, w->cross};
        for (int i = 0; i < (s->ties ? 5 : 2); i++) {
            if (t == 0)
                for (int k = 0; k < n; k++) kept[i][k] = share * w->one[i][k];
            else
                for (int k = 0; k < n; k++) kept[i][k] += share * w->one[i][k];
        }
    }
    return loss;
}

/* The points of some rows' gaps as rows of their own: row[k] is the k-th of n, or NULL: the first n. */
PART void at_points(const Own *o, const int *row, int n, Points *room, Own *found)
{
    *found = *o;
    for (int t = 0; t < GAPS; t++)
        for (int k = 0; k < n; k++) {
            const int to = t * n + k, r = row ? row[k] : k;
            room->gap[to] = o->gap[r] + GAP[t] * o->sd[r];
            room->weight[to] = GAP_WEIGHT[t] * (o->weight ? o->weight[r] : 1.0);
            room->lean[to] = GAP_WEIGHT[t] * o->lean[r];
            room->tied[to] = GAP_WEIGHT[t] * o->tied[r];
            if (o->axis) room->axis[to] = o->axis[r];
            if (o->ready) room->ready[to] = o->ready[r];
        }
    found->rows = GAPS * n;
    found->gap = room->gap;
    found->weight = room->weight;
    found->lean = room->lean;
    found->tied = room->tied;
    found->axis = o->axis ? room->axis : 0;
    found->ready = o->ready ? room->ready : 0;
    found->sd = 0;
}

/* The sum over the points of a row, of n. */
PART double over_points(const double *values, int n, int k)
{
    double sum = 0.0;
    for (int t = 0; t < GAPS; t++) sum += values[t * n + k];
    return sum;
}

/* The same as row_terms where most rows can be averaged by derivatives: those with an sd above cut by
 * points. No row is, where the spot is smooth; all are, where cut is 0. As many rows are then near
 * that bound, more derivatives are used: a pull is right to 5e-6. */
PART double mixed_terms(const Integral *j, const Own *o, const Spot *s, double cut, int64_t from, int n,
                        Work *w, Slopes *sums)
{
    Unsure *few = &w->unsure;
    Spot smooth = *s;
    int count = 0;
    if (!o->sd || s->smooth || cut <= 0.0) return row_terms(j, o, s, from, n, w, sums);
    const float *sd = o->sd + from;
    for (int k = 0; k < n; k++) {
        if (!(sd[k] > cut)) continue;
        if (count == WIDE / GAPS) return row_terms(j, o, s, from, n, w, sums);
        few->row[count++] = k;
    }
    smooth.smooth = 2;
    if (!count) return row_terms(j, o, &smooth, from, n, w, sums);
    Own own = *o, points;
    own.gap += from;
    own.lean += from;
    own.tied += from;
    own.sd += from;
    if (o->weight) own.weight += from;
    if (o->axis) own.axis += from;
    if (o->ready) own.ready += from;
    at_points(&own, few->row, count, &few->at, &points);
    double loss = row_terms(j, &points, s, 0, GAPS * count, w, sums);
    const int kinds = s->ties ? 5 : 2;
    double *all[5] = {w->pull, w->curve, w->tie_pull, w->tie_curve, w->cross};
    for (int i = 0; i < kinds; i++)
        for (int k = 0; k < count; k++) few->found[i][k] = over_points(all[i], count, k);
    for (int k = 0; k < n; k++) few->weight[k] = own.weight ? own.weight[k] : 1.0;
    for (int k = 0; k < n; k++) few->lean[k] = own.lean[k];
    for (int k = 0; k < n; k++) few->tied[k] = own.tied[k];
    for (int k = 0; k < count; k++) {
        const int row = few->row[k];
        few->weight[row] = few->lean[row] = few->tied[row] = 0.0;
    }
    own.weight = few->weight;
    own.lean = few->lean;
    own.tied = few->tied;
    loss += row_terms(j, &own, &smooth, 0, n, w, sums);
    for (int i = 0; i < kinds; i++)
        for (int k = 0; k < count; k++) all[i][few->row[k]] = few->found[i][k];
    return loss;
}

PART Spot spot_at(const Integral *j, const Own *o, double sign, const double *theta, int ties)
{
    Spot s = {1.0, 0.0, 0.0, 0.0, 0.0, 0, ties};
    if (j->role[RELIABILITY] >= 0) s.gamma = sign * theta[j->role[RELIABILITY]];
    if (j->role[POSITION] >= 0) s.position = theta[j->role[POSITION]];
    if (j->role[STANCE] >= 0) s.stance = theta[j->role[STANCE]];
    if (j->role[READINESS] >= 0) {
        s.nu = theta[j->role[READINESS]];
        s.tie = exp(s.nu < READIEST ? s.nu : READIEST);
    }
    s.smooth = o->sd && j->top == 1 && j->exact <= 0 && fabs(s.gamma) * o->widest <= SMOOTH;
    return s;
}

/* What of the loss is linear in the spot, and the prior. */
PART double linear_part(const Integral *j, const Own *o, const Spot *s, const double *theta,
                        const double *mean)
{
    double found = -s->gamma * o->lean_gap - s->position * o->lean_all - s->stance * o->lean_axis;
    if (j->role[READINESS] >= 0) found -= s->nu * o->tied_all + o->tied_offset;
    for (int i = 0; i < j->parameters; i++) {
        const double off = (theta[i] - mean[i]) / j->sd[i];
        found += 0.5 * off * off;
    }
    return found;
}

/* Whether derivatives may replace points at all. */
PART int derivable(const Integral *j, const Own *o)
{
    return o->sd && j->top == 1 && j->exact <= 0;
}

/* The objective of an annotator at theta, its gradient and its curvature. cut is the sd of a gap from
 * which points are used: it falls as the reliability rises, and never rises, so that the objective
 * does not go to and fro; 0 for points alone, which curve rows a little more exactly. */
PART double annotator_terms(const Integral *j, const Own *o, double sign, const double *theta,
                            const double *mean, double *cut, Work *w, double *gradient,
                            double curvature[MOST][MOST])
{
    Spot s = spot_at(j, o, sign, theta, j->role[READINESS] >= 0);
    Slopes a;
    memset(&a, 0, sizeof a);
    double value = linear_part(j, o, &s, theta, mean);
    const int begun = *cut < o->widest;
    const double size = fabs(s.gamma), most = begun ? *cut : o->widest;
    if (*cut > 0.0 && size * most > (begun ? SLACK : 1.0) * SMOOTH)
        *cut = j->exact < 0 ? SMOOTH / size : 0.0;
    s.smooth = *cut >= o->widest && *cut > 0.0;
    if (o->points && *cut <= 0.0) o = o->points;
    for (int64_t from = 0; from < o->rows; from += WIDE) {
        const int n = (int)(o->rows - from < WIDE ? o->rows - from : WIDE);
        value += mixed_terms(j, o, &s, *cut, from, n, w, &a);
    }
    const double slope[MOST] = {sign * a.pull_gap, a.pull, a.tie, a.pull_axis};
    const double bend[MOST][MOST] = {
        {a.gap_gap, sign * a.gap_one, sign * a.gap_tie, sign * a.gap_axis},
        {sign * a.gap_one, a.one_one, a.one_tie, a.one_axis},
        {sign * a.gap_tie, a.one_tie, a.tie_tie, a.axis_tie},
        {sign * a.gap_axis, a.one_axis, a.axis_tie, a.axis_axis},
    };
    for (int x = 0; x < MOST; x++) {
        if (j->role[x] < 0) continue;
        const int64_t i = j->role[x];
        const double precision = 1.0 / (j->sd[i] * j->sd[i]);
        gradient[i] = slope[x] + precision * (theta[i] - mean[i]);
        for (int y = 0; y < MOST; y++)
            if (j->role[y] >= 0) curvature[i][j->role[y]] = bend[x][y] + (x == y ? precision : 0.0);
    }
    return value;
}

/* The inverse of the Cholesky factor, lower triangular; returns log det, or NAN if not definite. */
PART double inverse_factor(int n, double matrix[MOST][MOST], double inverse[MOST][MOST])
{
    double factor[MOST][MOST], log_det = 0.0;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k <= i; k++) {
            double sum = matrix[i][k];
            for (int t = 0; t < k; t++) sum -= factor[i][t] * factor[k][t];
            if (i == k && !(sum > 0.0)) return NAN;
            factor[i][k] = i == k ? sqrt(sum) : sum / factor[k][k];
        }
        log_det += 2.0 * log(factor[i][i]);
    }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n; k++) inverse[i][k] = 0.0;
        inverse[i][i] = 1.0 / factor[i][i];
        for (int k = 0; k < i; k++) {
            double sum = 0.0;
            for (int t = k; t < i; t++) sum -= factor[i][t] * inverse[t][k];
            inverse[i][k] = sum / factor[i][i];
        }
    }
    return log_det;
}

/* Find the mode by damped Newton steps from what theta holds. Fills theta, where to look for it the
 * next time, the inverse factor of the curvature there and the curvature in the reliability; returns
 * the log determinant. */
PART double find_mode(const Integral *j, const Own *o, double sign, const double *mean, Work *w,
                      double *theta, double *next, double inverse[MOST][MOST], double *bend)
{
    const int n = (int)j->parameters;
    double cut = derivable(j, o) ? INFINITY : 0.0, gradient[MOST], curvature[MOST][MOST], step[MOST], trial[MOST], log_det = 0.0;
    double value = annotator_terms(j, o, sign, theta, mean, &cut, w, gradient, curvature);
    for (int count = 0;; count++) {
        log_det = inverse_factor(n, curvature, inverse);
        if (isnan(log_det)) {
            if (cut <= 0.0) {
                for (int i = 0; i < n; i++) curvature[i][i] += 1.0 / (j->sd[i] * j->sd[i]);
                if (count >= STEPS + HALVINGS) break;
                continue;
            }
            /* Far from where they were taken, derivatives may curve the wrong way: points. */
            cut = 0.0;
            value = annotator_terms(j, o, sign, theta, mean, &cut, w, gradient, curvature);
            continue;
        }
        double fall = 0.0, largest = 0.0, half[MOST];
        for (int i = 0; i < n; i++) {
            half[i] = 0.0;
            for (int k = 0; k <= i; k++) half[i] += inverse[i][k] * gradient[k];
            fall += half[i] * half[i];
        }
        for (int i = 0; i < n; i++) {
            step[i] = 0.0;
            for (int k = i; k < n; k++) step[i] += inverse[k][i] * half[k];
            largest = fabs(step[i]) > largest ? fabs(step[i]) : largest;
        }
        const double shorter = largest > LONGEST ? LONGEST / largest : 1.0;
        for (int i = 0; i < n; i++) step[i] *= shorter;
        if (!(fall >= j->close) || count >= STEPS) break;
        const double limit = value + 1e-9 * (1.0 + fabs(value));
        for (int t = 0; t < HALVINGS; t++) {
            for (int i = 0; i < n; i++) trial[i] = theta[i] - step[i];
            value = annotator_terms(j, o, sign, trial, mean, &cut, w, gradient, curvature);
            if (!(value > limit)) break;
            for (int i = 0; i < n; i++) step[i] *= 0.5;
        }
        for (int i = 0; i < n; i++) theta[i] = trial[i];
    }
    const int64_t strength = j->role[RELIABILITY] < 0 ? 0 : j->role[RELIABILITY];
    *bend = curvature[strength][strength];
    for (int i = 0; i < n; i++) next[i] = theta[i] - step[i];
    return log_det;
}

/* Expected curvatures of an annotator's rows, weighed with the chances of the nodes. room has, of each
 * node, curve, tie_curve and cross. */
PART void expect_curves(const Integral *j, int nodes, int64_t lo, int64_t rows, const double *p,
                        const double *node, const float *room)
{
    const int64_t reliability = j->role[RELIABILITY], stance = j->role[STANCE];
    for (int pair = 0; pair < PAIRS; pair++) {
        float *to = j->curve[pair];
        if (!to) continue;
        to += lo;
        for (int64_t r = 0; r < rows; r++) to[r] = 0.0f;
        for (int k = 0; k < nodes; k++) {
            if (p[k] == 0.0) continue;
            const double *theta = node + k * j->parameters;
            const double g = reliability < 0 ? 1.0 : theta[reliability];
            const double f = stance < 0 ? 1.0 : theta[stance];
            const double factor[PAIRS] = {g * g, g * f, f * f, g, f, 1.0};
            const int what = pair == TIE_TIE ? 1 : pair >= GAP_TIE ? 2 : 0;
            const float share = (float)(p[k] * factor[pair]), *from = room + (3 * k + what) * rows;
            for (int64_t r = 0; r < rows; r++) to[r] += share * from[r];
        }
    }
}

/* What an annotator's rows are, with sums over them. */
PART Own own_rows(const Integral *j, int64_t u, double *ready)
{
    const int64_t lo = j->starts[u], rows = j->starts[u + 1] - lo;
    Own o;
    memset(&o, 0, sizeof o);
    o.rows = rows;
    o.gap = j->gap + lo;
    o.lean = j->lean + lo;
    o.tied = j->tied + lo;
    o.weight = j->weight ? j->weight + lo : 0;
    o.axis = j->axis && j->role[STANCE] >= 0 ? j->axis + lo : 0;
    o.sd = j->row_sd ? j->row_sd + lo : 0;
    o.readiest = 1.0;
    for (int64_t from = 0; from < rows; from += WIDE) {
        const int n = (int)(rows - from < WIDE ? rows - from : WIDE);
        o.lean_gap += dot(o.lean + from, o.gap + from, n);
        o.lean_all += sum_of(o.lean + from, n);
        o.tied_all += sum_of(o.tied + from, n);
        if (o.axis) o.lean_axis += dot(o.lean + from, o.axis + from, n);
    }
    if (j->offset && j->role[READINESS] >= 0) {
        o.ready = ready;
        for (int64_t r = 0; r < rows; r++) {
            const double by = j->offset[lo + r];
            ready[r] = exp(by < FURTHEST ? by : FURTHEST);
            o.tied_offset += o.tied[r] * by;
            o.readiest = ready[r] > o.readiest ? ready[r] : o.readiest;
        }
    }
    for (int64_t r = 0; o.sd && r < rows; r++) o.widest = o.sd[r] > o.widest ? o.sd[r] : o.widest;
    if (o.widest == 0.0) o.sd = 0;
    return o;
}

/* The sums over the points of n rows, times a factor. */
PART void fold(const double *values, int n, double factor, float *out)
{
    for (int k = 0; k < n; k++) out[k] = (float)(factor * over_points(values, n, k));
}

/* Keep what a node pulls rows by, and bends them by, in room; returns its loss. */
PART double node_terms(const Integral *j, const Own *o, const Spot *s, Work *w, float *pull,
                       float *tie_pull, float *room)
{
    double loss = 0.0;
    float *curve = room, *tie_curve = room + o->rows, *cross = room + 2 * o->rows;
    const double cut = derivable(j, o) && s->gamma != 0.0 ? SMOOTH / fabs(s->gamma) : 0.0;
    if (o->points && cut <= 0.0) {
        loss = row_terms(j, o->points, s, 0, (int)o->points->rows, w, 0);
        fold(w->pull, (int)o->rows, -1.0, pull);
        fold(w->curve, (int)o->rows, 1.0, curve);
        if (!tie_pull) return loss;
        fold(w->tie_pull, (int)o->rows, -1.0, tie_pull);
        fold(w->tie_curve, (int)o->rows, 1.0, tie_curve);
        fold(w->cross, (int)o->rows, 1.0, cross);
        return loss;
    }
    for (int64_t from = 0; from < o->rows; from += WIDE) {
        const int n = (int)(o->rows - from < WIDE ? o->rows - from : WIDE);
        loss += mixed_terms(j, o, s, cut, from, n, w, 0);
        for (int r = 0; r < n; r++) pull[from + r] = (float)-w->pull[r];
        for (int r = 0; r < n; r++) curve[from + r] = (float)w->curve[r];
        if (!tie_pull) continue;
        for (int r = 0; r < n; r++) tie_pull[from + r] = (float)-w->tie_pull[r];
        for (int r = 0; r < n; r++) tie_curve[from + r] = (float)w->tie_curve[r];
        for (int r = 0; r < n; r++) cross[from + r] = (float)w->cross[r];
    }
    return loss;
}

/* Look at the nodes of one half of an annotator; fills their log weights and values. */
PART void look_at_half(const Integral *j, const Own *o, int64_t u, int half, double log_precision,
                       Work *w, float *room, double *log_weight, double *node)
{
    const int n = (int)j->parameters, each = (int)j->each;
    const int64_t lo = j->starts[u], reliability = j->role[RELIABILITY];
    const double sign = half ? -1.0 : 1.0, *mean = j->mean + u * n;
    double theta[MOST], inverse[MOST][MOST], bend, *mode = j->mode + (j->halves * u + half) * n;
    for (int i = 0; i < n; i++) theta[i] = mode[i];
    const double log_det = find_mode(j, o, sign, mean, w, theta, mode, inverse, &bend);
    /* Were they reversed, their strength would clearly be negative: they are not. */
    const int given_up = half && theta[reliability] < -CLEARLY / sqrt(bend);
    for (int t = 0; t < each; t++) {
        const double *at = j->point + t * n;
        double spot[MOST], far = 0.0;
        for (int i = 0; i < n; i++) {
            spot[i] = theta[i];
            for (int k = i; k < n; k++) spot[i] += inverse[k][i] * at[k];
            far += at[i] * at[i];
        }
        const Spot s = spot_at(j, o, sign, spot, j->tie_pull != 0);
        float *pull = half ? j->second_pull + t * j->n_second + j->second[u] : j->pull + t * j->n_rows + lo;
        float *tie_pull = 0;
        if (j->tie_pull)
            tie_pull = half ? j->second_tie_pull + t * j->n_second + j->second[u]
                            : j->tie_pull + t * j->n_rows + lo;
        if (given_up) {
            memset(pull, 0, (size_t)o->rows * sizeof *pull);
            if (tie_pull) memset(tie_pull, 0, (size_t)o->rows * sizeof *tie_pull);
            continue;
        }
        double loss = linear_part(j, o, &s, spot, mean);
        loss += node_terms(j, o, &s, w, pull, tie_pull, room + 3 * t * o->rows);
        log_weight[t] = j->log_share[half] - loss + j->log_weight[t] + 0.5 * far +
                        0.5 * (log_precision - log_det);
        for (int i = 0; i < n; i++) node[t * n + i] = i == reliability ? sign * spot[i] : spot[i];
    }
}

/* Integrate the parameters of annotators first to last out. For each row of the annotator who has
 * most, ready is room for a double and room for three floats of each node. Returns the log evidence. */
double aggcal_general_integrate(const Integral *j, int64_t first, int64_t last, double *ready,
                                float *room)
{
    Work w;
    Points points;
    const int each = (int)j->each, nodes = (int)(j->halves * j->each), n = (int)j->parameters;
    double total = 0.0, log_precision = 0.0;
    for (int i = 0; i < n; i++) log_precision -= 2.0 * log(j->sd[i]);
    for (int64_t u = first; u < last; u++) {
        Own o = own_rows(j, u, ready), at;
        if (o.sd && GAPS * o.rows <= WIDE) {
            at_points(&o, 0, (int)o.rows, &points, &at);
            o.points = &at;
        }
        double log_weight[MOST_NODES], *p = j->chance + u * nodes, *node = j->node + u * nodes * n;
        double most = -INFINITY, sum = 0.0;
        for (int k = 0; k < nodes; k++) log_weight[k] = -INFINITY;
        for (int i = 0; i < nodes * n; i++) node[i] = 0.0;
        for (int half = 0; half < j->halves; half++)
            if (!half || j->second[u] >= 0)
                look_at_half(j, &o, u, half, log_precision, &w, room + 3 * half * each * o.rows,
                             log_weight + half * each, node + half * each * n);
        for (int k = 0; k < nodes; k++) most = log_weight[k] > most ? log_weight[k] : most;
        for (int k = 0; k < nodes; k++) {
            p[k] = log_weight[k] > most - 700.0 ? exp(log_weight[k] - most) : 0.0;
            sum += p[k];
        }
        for (int k = 0; k < nodes; k++) p[k] /= sum;
        total += most + log(sum);
        expect_curves(j, nodes, j->starts[u], o.rows, p, node, room);
    }
    return total;
}
