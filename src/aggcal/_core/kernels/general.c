/* The general model of a judgment, compiled: annotators' parameters integrated out by cubature, and
 * sums over what the nodes pull rows by. The twin in NumPy is `models.general`.
 *
 * eta = gamma (gap) + position + stance * axis, and a readiness nu to tie. Rows are sorted by
 * annotator; every kernel takes a range of annotators and writes what is theirs, or adds into arrays
 * of its own, so that ranges can run in threads. Doubles that grow with the rows of one annotator
 * are room for that annotator only; what is stored per row and node is float32, and on the way to an
 * optimum it is worked out in float32, too.
 */
#include "shared.h"

#define WIDE 256     /* rows worked on at once: what they need stays in the first cache */
#define MOST 4       /* parameters of an annotator */
#define MOST_NODES 16
#define GRADES 3
#define SMOOTH 0.4   /* sd of gamma * gap up to which derivatives replace the five points of a row's
                      * gap: a pull is then right to 6e-5 of a row at worst */
#define SLIGHT 0.12  /* sd up to which the first pair of them does: right to 3e-6 */
#define SLACK 1.2    /* how far beyond that a mode may move before more rows are looked at by points */
#define STEPS 60     /* Newton steps to a mode: far more than any annotator took */
#define LONGEST 1.0  /* largest change of a parameter in a step: losses are nearly straight beyond */
#define HALVINGS 30
#define CLEARLY 3.0  /* sds by which a reversed annotator's strength must be negative to be given up */
#define READIEST 600.0 /* largest readiness: beyond, every answer is a tie */
#define FURTHEST 100.0 /* largest readiness of a context */
#define READY 20.0     /* largest readiness for floats */
#define QUICK 1e-9     /* how near modes are looked for by floats; nearer, at the end of a fit, doubles
                        * go on from there, and nodes are worked out in doubles, too */

enum { RELIABILITY, POSITION, READINESS, STANCE };
enum { GAP_GAP, GAP_AXIS, AXIS_AXIS, GAP_TIE, AXIS_TIE, TIE_TIE, PAIRS };

/* What is integrated, and where the results go. Pointers may be NULL where it says so. */
typedef struct {
    int64_t n_rows, n_second; /* n_second: rows of the annotators whose second half is looked at */
    int64_t parameters, halves, each, top;
    int64_t role[MOST];    /* where reliability, position, readiness and stance are; -1: nowhere */
    const int64_t *starts;
    const int64_t *second; /* where the annotator's rows begin among those n_second; -1: left out */
    const double *gap;     /* NULL: the difference of two unknowns, rows by two in column */
    const float *row_sd;   /* of the gaps; NULL: none are uncertain */
    const int32_t *column;
    const double *unknown, *variance; /* what gaps and their sds are made of; no variance: none are */
    const double *weight;  /* NULL: all 1 */
    const double *lean, *tied;
    const double *axis, *offset; /* NULL: none */
    const double *grades;  /* exp(kappa_g), the first of them 1 */
    const double *mean;    /* annotators by parameters */
    const double *sd, *point, *log_weight, *log_share;
    double cap;            /* largest sd of a gap that is made so */
    double close;
    double *mode;          /* annotators by halves by parameters: where to look for them */
    double *node;          /* annotators by nodes by parameters */
    double *chance;        /* annotators by nodes */
    float *pull, *second_pull, *tie_pull, *second_tie_pull; /* nodes by rows; ties NULL: unwanted */
    float *curve[PAIRS];   /* NULL: unwanted */
    int64_t exact;         /* 1: never by derivatives; -1: modes, too, where only some rows allow it */
    int64_t floats;        /* whether float32 may be worked in where that is exact enough */
} Integral;

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

/* The same of floats: right to 1e-7. */
PART float log_of_float(float x)
{
    const int32_t least = 0x3f3504f3; /* the root of 1/2: m is between it and twice that */
    int32_t bits;
    float m;
    memcpy(&bits, &x, sizeof bits);
    bits -= least;
    const float e = (float)(bits >> 23);
    bits = (bits & 0x007fffff) + least;
    memcpy(&m, &bits, sizeof m);
    const float z = (m - 1.0f) / (m + 1.0f), q = z * z;
    const float series = 2.0f + q * (0.666666667f + q * (0.4f + q * (0.285714286f + q * 0.222222222f)));
    return e * 0.693147181f + z * series;
}

/* e^-a for 0 <= a, of floats, right to 1e-7; a above 87 is taken as 87. */
PART float exp_minus_float(float a)
{
    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
    const int32_t most = 0x42ae0000; /* 87: floats that are not negative are ordered as their bits */
    float shifted, power, r, r2;
    int32_t bits, base;
    memcpy(&bits, &a, sizeof bits);
    bits = bits < most ? bits : most;
    memcpy(&a, &bits, sizeof a);
    shifted = a * 1.44269504f + magic;
    power = shifted - magic;
    r = (power * 0.693145752f - a) + power * 1.42860677e-06f;
    r2 = r * r;
    const float low = (1.0f + r) + r2 * (0.5f + r * 0.166666667f);
    const float high = (0.0416666667f + r * 0.00833333333f) + r2 * (0.00138888889f + r * 0.000198412698f);
    memcpy(&bits, &shifted, sizeof bits);
    memcpy(&base, &magic, sizeof base);
    bits = (127 - (bits - base)) << 23;
    memcpy(&shifted, &bits, sizeof shifted);
    return (low + r2 * r2 * high) * shifted;
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

#define REAL double
#define R(x) (x)
#define ABS fabs
#define SIGNED copysign
#define EXP_MINUS exp_minus
#define LOG_OF log_of
#define DOT dot
#define SUM_OF sum_of
#define ROUNDING 1e-9
#define OF(name) name##_double
#include "general_rows.h"
#undef REAL
#undef R
#undef ABS
#undef SIGNED
#undef EXP_MINUS
#undef LOG_OF
#undef DOT
#undef SUM_OF
#undef ROUNDING
#undef OF
#define REAL float
#define R(x) ((float)(x))
#define ABS fabsf
#define SIGNED copysignf
#define EXP_MINUS exp_minus_float
#define LOG_OF log_of_float
#define DOT dot_of_floats
#define SUM_OF sum_of_floats
#define ROUNDING 1e-6
#define OF(name) name##_float
#include "general_rows.h"

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

/* Work out the gaps of rows that are differences of two unknowns, and their sds. */
PART void pair_gaps(const Integral *j, int64_t lo, int64_t rows, double *gap, float *sd)
{
    const int32_t *column = j->column + 2 * lo;
    for (int64_t r = 0; r < rows; r++)
        gap[r] = j->unknown[column[2 * r]] - j->unknown[column[2 * r + 1]];
    if (!j->variance) return;
    for (int64_t r = 0; r < rows; r++) {
        const double sum = j->variance[column[2 * r]] + j->variance[column[2 * r + 1]];
        const double found = sqrt(sum > 0.0 ? sum : 0.0);
        sd[r] = (float)(found < j->cap ? found : j->cap);
    }
}

/* What an annotator's rows are, with sums over them; the readiness and gap of each fill doubles, its
 * sd fills sd. */
PART Own_double own_rows(const Integral *j, int64_t u, double *doubles, float *sd)
{
    const int64_t lo = j->starts[u], rows = j->starts[u + 1] - lo;
    Own_double o;
    memset(&o, 0, sizeof o);
    o.rows = rows;
    double *ready = doubles;
    o.gap = doubles + rows;
    if (j->gap)
        o.gap = j->gap + lo;
    else
        pair_gaps(j, lo, rows, doubles + rows, sd);
    o.lean = j->lean + lo;
    o.tied = j->tied + lo;
    o.weight = j->weight ? j->weight + lo : 0;
    o.axis = j->axis && j->role[STANCE] >= 0 ? j->axis + lo : 0;
    o.sd = j->row_sd ? j->row_sd + lo : !j->gap && j->variance ? sd : 0;
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

PART const float *as_floats(const double *from, int64_t rows, float **room)
{
    float *to = *room;
    if (!from) return 0;
    for (int64_t r = 0; r < rows; r++) to[r] = (float)from[r];
    *room += rows;
    return to;
}

/* The same rows as floats; room is for six of each. */
PART Own_float own_floats(const Own_double *o, float *room)
{
    const int64_t n = o->rows;
    const Own_float found = {
        as_floats(o->gap, n, &room), as_floats(o->weight, n, &room), as_floats(o->lean, n, &room),
        as_floats(o->tied, n, &room), as_floats(o->axis, n, &room), as_floats(o->ready, n, &room),
        o->sd, n, o->lean_gap, o->lean_all, o->lean_axis, o->tied_all, o->tied_offset, o->readiest,
        o->widest, 0,
    };
    return found;
}

/* What one annotator's rows are, in either type, and room to work in. */
typedef struct {
    Own_double exact;
    Own_float quick;
    double readiest; /* readiness up to which ties do not overflow floats */
    Work_double exact_work;
    Work_float quick_work;
} Annotator;

/* Find a mode, by floats as far as they go; see find_mode. */
PART double mode_of(const Integral *j, Annotator *a, double sign, const double *mean, double *theta,
                    double *next, double inverse[MOST][MOST], double *bend)
{
    const int64_t ready = j->role[READINESS];
    if (j->floats && (ready < 0 || theta[ready] < a->readiest)) {
        const double close = j->close > QUICK ? j->close : QUICK;
        double begin[MOST];
        for (int i = 0; i < j->parameters; i++) begin[i] = theta[i];
        const double log_det = find_mode_float(j, &a->quick, sign, mean, close, &a->quick_work, theta,
                                               next, inverse, bend);
        const int found = isfinite(log_det) && (ready < 0 || theta[ready] < a->readiest);
        if (found && j->close >= QUICK) return log_det;
        for (int i = 0; i < j->parameters; i++) theta[i] = found ? next[i] : begin[i];
    }
    return find_mode_double(j, &a->exact, sign, mean, j->close, &a->exact_work, theta, next, inverse,
                            bend);
}

/* Look at the nodes of one half of an annotator; fills their log weights and values. */
PART void look_at_half(const Integral *j, Annotator *a, int64_t u, int half, double log_precision,
                       float *room, double *log_weight, double *node)
{
    const Own_double *o = &a->exact;
    const int n = (int)j->parameters, each = (int)j->each;
    const int64_t lo = j->starts[u], reliability = j->role[RELIABILITY];
    const double sign = half ? -1.0 : 1.0, *mean = j->mean + u * n;
    double theta[MOST], inverse[MOST][MOST], bend, *mode = j->mode + (j->halves * u + half) * n;
    for (int i = 0; i < n; i++) theta[i] = mode[i];
    const double log_det = mode_of(j, a, sign, mean, theta, mode, inverse, &bend);
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
        const Spot s = spot_at_double(j, o, sign, spot, j->tie_pull != 0);
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
        double loss = linear_part_double(j, o, &s, spot, mean);
        float *curves = room + 3 * t * o->rows;
        if (j->floats && j->close >= QUICK && s.nu < a->readiest)
            loss += node_terms_float(j, &a->quick, &s, &a->quick_work, pull, tie_pull, curves);
        else
            loss += node_terms_double(j, o, &s, &a->exact_work, pull, tie_pull, curves);
        log_weight[t] = j->log_share[half] - loss + j->log_weight[t] + 0.5 * far +
                        0.5 * (log_precision - log_det);
        for (int i = 0; i < n; i++) node[t * n + i] = i == reliability ? sign * spot[i] : spot[i];
    }
}

/* Integrate the parameters of annotators first to last out. For each row of the annotator who has
 * most, doubles is room for two, own for seven floats and room for three floats of each node. Returns
 * the log evidence. */
double aggcal_general_integrate(const Integral *j, int64_t first, int64_t last, double *doubles,
                                float *own, float *room)
{
    Annotator a;
    Points_double points;
    Points_float quick_points;
    const int each = (int)j->each, nodes = (int)(j->halves * j->each), n = (int)j->parameters;
    double total = 0.0, log_precision = 0.0;
    for (int i = 0; i < n; i++) log_precision -= 2.0 * log(j->sd[i]);
    for (int64_t u = first; u < last; u++) {
        Own_double at;
        Own_float quick_at;
        a.exact = own_rows(j, u, doubles, own);
        if (j->floats) a.quick = own_floats(&a.exact, own + a.exact.rows);
        a.readiest = READY - log(a.exact.readiest);
        if (a.exact.sd && GAPS * a.exact.rows <= WIDE) {
            at_points_double(&a.exact, 0, (int)a.exact.rows, &points, &at);
            a.exact.points = &at;
            if (j->floats) at_points_float(&a.quick, 0, (int)a.exact.rows, &quick_points, &quick_at);
            a.quick.points = &quick_at;
        }
        double log_weight[MOST_NODES], *p = j->chance + u * nodes, *node = j->node + u * nodes * n;
        double most = -INFINITY, sum = 0.0;
        for (int k = 0; k < nodes; k++) log_weight[k] = -INFINITY;
        for (int i = 0; i < nodes * n; i++) node[i] = 0.0;
        for (int half = 0; half < j->halves; half++)
            if (!half || j->second[u] >= 0)
                look_at_half(j, &a, u, half, log_precision, room + 3 * half * each * a.exact.rows,
                             log_weight + half * each, node + half * each * n);
        for (int k = 0; k < nodes; k++) most = log_weight[k] > most ? log_weight[k] : most;
        for (int k = 0; k < nodes; k++) {
            p[k] = log_weight[k] > most - 700.0 ? exp(log_weight[k] - most) : 0.0;
            sum += p[k];
        }
        for (int k = 0; k < nodes; k++) p[k] /= sum;
        total += most + log(sum);
        expect_curves(j, nodes, j->starts[u], a.exact.rows, p, node, room);
    }
    return total;
}
