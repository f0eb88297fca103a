/* What an annotator's rows add up to, for `general.c`, which includes this file once for doubles and
 * once for floats. Floats take half the time and are as exact as what is kept of a row; sums over rows
 * that are compared with each other are doubles in either case.
 *
 * REAL is the type, R(x) a number of it, ABS, SIGNED, EXP_MINUS and LOG_OF its functions, DOT and SUM_OF the
 * sums of up to WIDE numbers, ROUNDING how exact a loss is, OF(name) the name of what is defined here. */
#define Own OF(Own)
#define Points OF(Points)
#define Unsure OF(Unsure)
#define Work OF(Work)
#define log_sum OF(log_sum)
#define one_grade OF(one_grade)
#define grades_of OF(grades_of)
#define smoothed OF(smoothed)
#define smoothed_more OF(smoothed_more)
#define weigh OF(weigh)
#define add_slopes OF(add_slopes)
#define row_terms OF(row_terms)
#define at_points OF(at_points)
#define over_points OF(over_points)
#define mixed_terms OF(mixed_terms)
#define spot_at OF(spot_at)
#define linear_part OF(linear_part)
#define derivable OF(derivable)
#define annotator_terms OF(annotator_terms)
#define find_mode OF(find_mode)
#define fold OF(fold)
#define node_terms OF(node_terms)
#define plain_sums OF(plain_sums)
#define plain_nodes OF(plain_nodes)
#define order_of OF(order_of)
#define plain_rows OF(plain_rows)
#define is_plain OF(is_plain)

typedef struct Own {
    const REAL *gap, *weight, *lean, *tied, *axis, *ready;
    const float *sd;
    int64_t rows;
    double lean_gap, lean_all, lean_axis, tied_all, tied_offset, readiest, widest;
    const struct Own *points; /* the points of all rows' gaps as rows, where rows are few; or NULL */
} Own;

/* What those are made of: each array has all rows at the first point, then at the second, ... */
typedef struct {
    REAL gap[WIDE], weight[WIDE], lean[WIDE], tied[WIDE], axis[WIDE], ready[WIDE];
} Points;

/* Rows among others whose gaps are too uncertain for derivatives, and what became of them. */
typedef struct {
    Points at;
    int row[WIDE / GAPS];
    REAL found[5][WIDE / GAPS];
    REAL weight[WIDE], lean[WIDE], tied[WIDE]; /* of all rows, 0 for these */
} Unsure;

typedef struct {
    REAL gap[WIDE], eta[WIDE], small[WIDE], tie[WIDE], total[WIDE], gained[WIDE];
    REAL pull[WIDE], curve[WIDE], tie_pull[WIDE], tie_curve[WIDE], cross[WIDE];
    REAL third[WIDE], fourth[WIDE], bent[WIDE];
    REAL one[5][WIDE]; /* of one point of the gap: pull, curve, tie_pull, tie_curve, cross */
    Unsure unsure;
} Work;

#include "general_plain.h"

/* The sum of weight * (half |eta| + log total); half is half the number of grades, and no total is
 * above most. */
PART double log_sum(const REAL *weight, const REAL *eta, const REAL *total, double half, double most,
                    int n)
{
    double sum = 0.0, size[4] = {0.0, 0.0, 0.0, 0.0};
    const int block = (int)(650.0 / log(most)) & ~3;
    if (weight || block < 8) {
        REAL found[WIDE];
        const REAL by = R(half);
        for (int k = 0; k < n; k++) found[k] = by * ABS(eta[k]) + LOG_OF(total[k]);
        if (weight)
            for (int k = 0; k < n; k++) found[k] *= weight[k];
        for (int k = 0; k + 4 <= n; k += 4)
            for (int lane = 0; lane < 4; lane++) size[lane] += found[k + lane];
        for (int k = n & ~3; k < n; k++) size[0] += found[k];
        return (size[0] + size[1]) + (size[2] + size[3]);
    }
    /* One logarithm for as many rows as cannot overflow. */
    for (int from = 0; from < n; from += block) {
        const int to = from + block < n ? from + block : n;
        double product[4] = {1.0, 1.0, 1.0, 1.0};
        int k = from;
        for (; k + 4 <= to; k += 4) {
            for (int lane = 0; lane < 4; lane++) {
                product[lane] *= total[k + lane];
                size[lane] += ABS(eta[k + lane]);
            }
        }
        for (; k < to; k++) {
            product[0] *= total[k];
            size[0] += ABS(eta[k]);
        }
        sum += log((product[0] * product[1]) * (product[2] * product[3]));
    }
    return sum + half * ((size[0] + size[1]) + (size[2] + size[3]));
}

/* Chances at eta, of one grade: of all but weights. Fills total, mean (as pull), curve, and what
 * concerns ties: their chance (as tie_pull), tie_curve and cross. */
PART void one_grade(const Spot *s, const REAL *ready, int n, const REAL *eta, REAL *small, REAL *tie,
                    REAL *total, REAL *mean, REAL *curve, REAL *chance, REAL *tie_curve, REAL *cross)
{
    const REAL ties = R(s->tie);
    for (int k = 0; k < n; k++) small[k] = EXP_MINUS(R(0.5) * ABS(eta[k]));
    if (ready)
        for (int k = 0; k < n; k++) tie[k] = ties * ready[k] * small[k];
    else
        for (int k = 0; k < n; k++) tie[k] = ties * small[k];
    for (int k = 0; k < n; k++) {
        const REAL e = small[k] * small[k], z = tie[k], all = R(1.0) + e + z, r = R(1.0) / all;
        const REAL half = R(0.5) * (R(1.0) - e) * r;
        total[k] = all;
        mean[k] = eta[k] < R(0.0) ? -half : half;
        curve[k] = (e + R(0.25) * (R(1.0) + e) * z) * r * r;
        chance[k] = z * r;
    }
    if (!s->ties) return;
    for (int k = 0; k < n; k++) {
        tie_curve[k] = chance[k] * (R(1.0) + small[k] * small[k]) / total[k];
        cross[k] = -chance[k] * mean[k];
    }
}

/* The same of several grades. */
PART void grades_of(int top, const double *grades, const Spot *s, const REAL *ready, int n,
                    const REAL *eta, REAL *small, REAL *total, REAL *mean, REAL *curve, REAL *chance,
                    REAL *tie_curve, REAL *cross)
{
    const REAL ties = R(s->tie);
    for (int k = 0; k < n; k++) small[k] = EXP_MINUS(R(0.5) * ABS(eta[k]));
    for (int k = 0; k < n; k++) {
        REAL power[2 * GRADES + 1] = {R(1.0)}, gap = R(0.0), square = R(0.0);
        for (int g = 1; g <= 2 * top; g++) power[g] = power[g - 1] * small[k];
        const REAL tie = (ready ? ties * ready[k] : ties) * power[top];
        REAL all = tie;
        for (int g = 1; g <= top; g++) {
            const REAL grade = R(grades[g - 1]), steps = R(g);
            const REAL ahead = grade * power[top - g], behind = grade * power[top + g];
            all += ahead + behind;
            gap += R(0.5) * steps * (ahead - behind);
            square += R(0.25) * steps * steps * (ahead + behind);
        }
        const REAL m = (eta[k] < R(0.0) ? -gap : gap) / all, t = tie / all;
        total[k] = all;
        mean[k] = m;
        curve[k] = square / all - m * m;
        chance[k] = t;
        tie_curve[k] = t * (R(1.0) - t);
        cross[k] = -t * m;
    }
}

/* Average over a little uncertain gap by derivatives. With a = +-1/2 or 0 the answer, m its mean and
 * c its variance, the cumulants follow from k3 = m q, q = 1/4 - 3 c - m^2; the chance t of a tie has
 * t' = -m t. v is half the variance of eta. */
PART void smoothed(const Spot *s, const float *sd, int n, Work *w)
{
    const REAL square = R(0.5 * s->gamma * s->gamma), two_ = R(2.0), three_ = R(3.0);
    if (s->ties)
        for (int k = 0; k < n; k++) {
            const REAL m = w->pull[k], c = w->curve[k], v = square * sd[k] * sd[k];
            const REAL h = R(0.5) * v * v, q = R(0.25) - three_ * c - m * m, k3 = m * q;
            const REAL k4 = c * q - m * (three_ * k3 + two_ * m * c), t = w->tie_pull[k];
            const REAL one = w->cross[k], two = t * (m * m - c);
            const REAL three = t * (m * (three_ * c - m * m) - k3);
            const REAL four = t * (m * m * (m * m - R(6.0) * c) + R(4.0) * m * k3 + three_ * c * c - k4);
            w->tie_pull[k] = t + v * two + h * four;
            w->tie_curve[k] += v * (two - two_ * (one * one + t * two));
            w->cross[k] = one + v * three;
            w->bent[k] = two;
        }
    for (int k = 0; k < n; k++) {
        const REAL m = w->pull[k], c = w->curve[k], v = square * sd[k] * sd[k], h = R(0.5) * v * v;
        const REAL q = R(0.25) - three_ * c - m * m, k3 = m * q, q1 = -three_ * k3 - two_ * m * c;
        const REAL k4 = c * q + m * q1, q2 = -three_ * k4 - two_ * (c * c + m * k3);
        const REAL k5 = k3 * q + two_ * c * q1 + m * q2;
        const REAL q3 = -three_ * k5 - R(6.0) * c * k3 - two_ * m * k4;
        const REAL k6 = k4 * q + three_ * (k3 * q1 + c * q2) + m * q3;
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
    const REAL square = R(0.5 * s->gamma * s->gamma), two = R(2.0), three = R(3.0);
    for (int k = 0; k < n; k++) {
        const REAL m = w->pull[k], c = w->curve[k], v = square * sd[k] * sd[k];
        const REAL third = v * v * v * R(1.0 / 6.0);
        const REAL q = R(0.25) - three * c - m * m, k3 = m * q, q1 = -three * k3 - two * m * c;
        const REAL k4 = c * q + m * q1, q2 = -three * k4 - two * (c * c + m * k3);
        const REAL k5 = k3 * q + two * c * q1 + m * q2;
        const REAL q3 = -three * k5 - R(6.0) * c * k3 - two * m * k4;
        const REAL k6 = k4 * q + three * (k3 * q1 + c * q2) + m * q3;
        const REAL q4 = -three * k6 - R(6.0) * k3 * k3 - R(8.0) * c * k4 - two * m * k5;
        const REAL k7 = k5 * q + R(4.0) * (k4 * q1 + c * q3) + R(6.0) * k3 * q2 + m * q4;
        const REAL q5 = -three * k7 - R(20.0) * k3 * k4 - R(10.0) * c * k5 - two * m * k6;
        const REAL k8 = k6 * q + R(5.0) * (k5 * q1 + c * q4) + R(10.0) * (k4 * q2 + k3 * q3) + m * q5;
        w->one[0][k] = third * k6;
        w->one[1][k] = third * k7;
        w->one[2][k] = third * k8;
    }
}

PART void weigh(const REAL *weight, int ties, int n, REAL *pull, REAL *curve, REAL *tie_pull,
                REAL *tie_curve, REAL *cross)
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
PART void add_slopes(double share, const Spot *s, const float *sd, const REAL *axis, const REAL *pull,
                     const REAL *curve, const REAL *tie_pull, const REAL *tie_curve,
                     const REAL *cross, int n, Work *w, Slopes *sums)
{
    const REAL *gap = w->gap, gamma = R(s->gamma);
    REAL *once = w->small, *twice = w->tie, *pulled = w->total, *crossed = w->gained;
    for (int k = 0; k < n; k++) {
        pulled[k] = gap[k] * pull[k];
        once[k] = gap[k] * curve[k];
        twice[k] = gap[k] * once[k];
    }
    if (sd && s->smooth)
        for (int k = 0; k < n; k++) {
            const REAL var = (REAL)sd[k] * sd[k], push = gamma * var, third = w->third[k];
            pulled[k] += push * curve[k];
            once[k] += push * third;
            twice[k] += var * curve[k] + push * (R(2.0) * gap[k] * third + push * w->fourth[k]);
        }
    sums->pull_gap += share * SUM_OF(pulled, n);
    sums->pull += share * SUM_OF(pull, n);
    sums->gap_gap += share * SUM_OF(twice, n);
    sums->gap_one += share * SUM_OF(once, n);
    sums->one_one += share * SUM_OF(curve, n);
    if (axis) {
        sums->pull_axis += share * DOT(axis, pull, n);
        sums->gap_axis += share * DOT(axis, once, n);
        sums->one_axis += share * DOT(axis, curve, n);
        for (int k = 0; k < n; k++) pulled[k] = axis[k] * curve[k];
        sums->axis_axis += share * DOT(axis, pulled, n);
    }
    if (!s->ties) return;
    for (int k = 0; k < n; k++) crossed[k] = gap[k] * cross[k];
    if (sd && s->smooth)
        for (int k = 0; k < n; k++) crossed[k] += gamma * ((REAL)sd[k] * sd[k]) * w->bent[k];
    sums->tie += share * SUM_OF(tie_pull, n);
    sums->tie_tie += share * SUM_OF(tie_curve, n);
    sums->gap_tie += share * SUM_OF(crossed, n);
    sums->one_tie += share * SUM_OF(cross, n);
    if (axis) sums->axis_tie += share * DOT(axis, cross, n);
}

/* What a spot makes of n rows from a first one: fills pull and the rest of w, weighted, and less what
 * was answered; returns the loss but for what is linear in eta and nu. Adds to sums unless NULL. */
PART double row_terms(const Integral *j, const Own *o, const Spot *s, int64_t from, int n, Work *w,
                      Slopes *sums)
{
    const REAL *weight = o->weight ? o->weight + from : 0, *ready = o->ready ? o->ready + from : 0;
    const REAL *axis = o->axis ? o->axis + from : 0, *gap = o->gap + from;
    const float *sd = o->sd ? o->sd + from : 0;
    const int top = (int)j->top, points = sd && !s->smooth ? GAPS : 1;
    const double half = 0.5 * top;
    const REAL gamma = R(s->gamma), position = R(s->position), stance = R(s->stance);
    double loss = 0.0, most = s->tie * o->readiest;
    for (int g = 0; g < top; g++) most += 2.0 * j->grades[g];
    for (int t = 0; t < points; t++) {
        const double share = points > 1 ? GAP_WEIGHT[t] : 1.0;
        REAL *pull = points > 1 ? w->one[0] : w->pull, *curve = points > 1 ? w->one[1] : w->curve;
        REAL *tie_pull = points > 1 ? w->one[2] : w->tie_pull;
        REAL *tie_curve = points > 1 ? w->one[3] : w->tie_curve;
        REAL *cross = points > 1 ? w->one[4] : w->cross;
        const REAL point = R(GAP[t]);
        if (points > 1)
            for (int k = 0; k < n; k++) w->gap[k] = gap[k] + point * sd[k];
        else
            for (int k = 0; k < n; k++) w->gap[k] = gap[k];
        for (int k = 0; k < n; k++) w->eta[k] = gamma * w->gap[k] + position;
        if (axis)
            for (int k = 0; k < n; k++) w->eta[k] += stance * axis[k];
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
            loss += weight ? DOT(weight, w->gained, n) : SUM_OF(w->gained, n);
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
        REAL *kept[5] = {w->pull, w->curve, w->tie_pull, w->tie_curve, w->cross};
        const REAL by = R(share);
        for (int i = 0; i < (s->ties ? 5 : 2); i++) {
            if (t == 0)
                for (int k = 0; k < n; k++) kept[i][k] = by * w->one[i][k];
            else
                for (int k = 0; k < n; k++) kept[i][k] += by * w->one[i][k];
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
            const REAL weight = R(GAP_WEIGHT[t]);
            room->gap[to] = o->gap[r] + R(GAP[t]) * o->sd[r];
            room->weight[to] = weight * (o->weight ? o->weight[r] : R(1.0));
            room->lean[to] = weight * o->lean[r];
            room->tied[to] = weight * o->tied[r];
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
PART REAL over_points(const REAL *values, int n, int k)
{
    REAL sum = R(0.0);
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
    REAL *all[5] = {w->pull, w->curve, w->tie_pull, w->tie_curve, w->cross};
    for (int i = 0; i < kinds; i++)
        for (int k = 0; k < count; k++) few->found[i][k] = over_points(all[i], count, k);
    for (int k = 0; k < n; k++) few->weight[k] = own.weight ? own.weight[k] : R(1.0);
    for (int k = 0; k < n; k++) few->lean[k] = own.lean[k];
    for (int k = 0; k < n; k++) few->tied[k] = own.tied[k];
    for (int k = 0; k < count; k++) {
        const int row = few->row[k];
        few->weight[row] = few->lean[row] = few->tied[row] = R(0.0);
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
    const int plain = is_plain(j, o) && (!o->sd || s.smooth);
    if (plain) value += plain_sums(o, &s, &a);
    for (int64_t from = 0; !plain && from < o->rows; from += WIDE) {
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

/* Find the mode by damped Newton steps from what theta holds. Fills theta, where to look for it the
 * next time, the inverse factor of the curvature there and the curvature in the reliability; returns
 * the log determinant. */
PART double find_mode(const Integral *j, const Own *o, double sign, const double *mean, double close,
                      Work *w, double *theta, double *next, double inverse[MOST][MOST], double *bend)
{
    const int n = (int)j->parameters;
    double gradient[MOST], curvature[MOST][MOST], step[MOST], trial[MOST], log_det = 0.0;
    double cut = derivable(j, o) ? INFINITY : 0.0;
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
        if (!(fall >= close) || count >= STEPS) break;
        const double limit = value + ROUNDING * (1.0 + fabs(value));
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

/* The sums over the points of n rows, times a factor. */
PART void fold(const REAL *values, int n, double factor, float *out)
{
    const REAL by = R(factor);
    for (int k = 0; k < n; k++) out[k] = (float)(by * over_points(values, n, k));
}

/* Keep what a node pulls rows by, and bends them by, in room; returns its loss. */
PART double node_terms(const Integral *j, const Own *o, const Spot *s, Work *w, float *pull,
                       float *tie_pull, float *room)
{
    double loss = 0.0;
    float *curve = room, *tie_curve = room + o->rows, *cross = room + 2 * o->rows;
    const double cut = derivable(j, o) && s->gamma != 0.0 ? SMOOTH / fabs(s->gamma) : 0.0;
    if (!tie_pull && is_plain(j, o) && (!o->sd || s->smooth)) return plain_nodes(o, s, pull, curve);
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

#undef Own
#undef Points
#undef Unsure
#undef Work
#undef log_sum
#undef one_grade
#undef grades_of
#undef smoothed
#undef smoothed_more
#undef weigh
#undef add_slopes
#undef row_terms
#undef at_points
#undef over_points
#undef mixed_terms
#undef spot_at
#undef linear_part
#undef derivable
#undef annotator_terms
#undef find_mode
#undef fold
#undef node_terms
#undef plain_sums
#undef plain_nodes
#undef order_of
#undef plain_rows
#undef is_plain
