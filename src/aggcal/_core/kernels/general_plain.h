/* The rows of `general_rows.h` in one loop, for what nearly all studies are: one grade, no axis, the
 * same readiness in every context. What is known when it is compiled (whether rows are weighted, how
 * many derivatives average over a gap, whether ties are curved) comes as constants, so that each
 * combination has a loop of its own without branches, and nothing is stored but what is asked for.
 *
 * Included by general_rows.h, once for each type. */
#define PlainRows OF(PlainRows)
#define plain_node OF(plain_node)
#define plain_slopes OF(plain_slopes)
#define sum_as_doubles OF(sum_as_doubles)
#define NODE(w, o) OF(plain_node_##w##o)
#define SLOPES(w, o, t) OF(plain_slopes_##w##o##t)

/* Up to WIDE rows. */
typedef struct {
    const REAL *gap, *weight, *lean, *tied;
    const float *sd;
    int n;
} PlainRows;

/* At one eta, as variables of a loop (a struct of them would not become vectors): mean m and variance
 * c of the answer (+-1/2, or 0 for a tie), and what they are made of. */
#define CHANCES(eta, small, ties)                                                                     \
    const REAL e = (small) * (small);                                                                 \
    const REAL z = (ties) * (small), all = R(1.0) + e + z, r = R(1.0) / all;                          \
    const REAL half = R(0.5) * (R(1.0) - e) * r, m = SIGNED(half, eta);                               \
    const REAL c = (e + R(0.25) * (R(1.0) + e) * z) * r * r

/* The derivatives that average over a normal eta, v being half its variance and h half the square of
 * that (0 where one pair of them does): see smoothed(). */
#define CUMULANTS                                                                                     \
    const REAL two = R(2.0), three = R(3.0), q = R(0.25) - three * c - m * m, k3 = m * q;             \
    const REAL q1 = -three * k3 - two * m * c, k4 = c * q + m * q1;                                   \
    const REAL q2 = -three * k4 - two * (c * c + m * k3), k5 = k3 * q + two * c * q1 + m * q2;        \
    const REAL q3 = -three * k5 - R(6.0) * c * k3 - two * m * k4;                                     \
    const REAL k6 = k4 * q + three * (k3 * q1 + c * q2) + m * q3

/* A sum that is compared with others: exact, whatever the type. */
PART double sum_as_doubles(const REAL *x, int n)
{
    double part[8] = {0.0};
    int k = 0;
    for (; k + 8 <= n; k += 8)
        for (int lane = 0; lane < 8; lane++) part[lane] += x[k + lane];
    for (; k < n; k++) part[0] += x[k];
    return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}

/* What a node pulls rows by and bends them by; returns its loss. */
ALWAYS double plain_node(const PlainRows *rows, const Spot *s, float *pull, float *curve,
                         const int weighted, const int order)
{
    const REAL gamma = R(s->gamma), position = R(s->position), ties = R(s->tie);
    const REAL square = R(0.5 * s->gamma * s->gamma);
    const REAL *gap = rows->gap, *weight = rows->weight, *lean = rows->lean;
    const float *sd = rows->sd;
    const int n = rows->n;
    REAL small[WIDE], total[WIDE], losses[WIDE];
#pragma omp simd
    for (int k = 0; k < n; k++) small[k] = EXP_MINUS(R(0.5) * ABS(gamma * gap[k] + position));
#pragma omp simd
    for (int k = 0; k < n; k++) {
        const REAL eta = gamma * gap[k] + position, by = weighted ? weight[k] : R(1.0);
        CHANCES(eta, small[k], ties);
        total[k] = all;
        CUMULANTS;
        const REAL v = order ? square * ((REAL)sd[k] * sd[k]) : R(0.0), h = R(0.5) * v * v;
        const REAL more = order ? v * c : R(0.0), pulled = order ? m + v * k3 : m;
        const REAL bent = order ? c + v * k4 : c;
        losses[k] = order > 1 ? more + h * k4 : more;
        pull[k] = (float)(lean[k] - by * (order > 1 ? pulled + h * k5 : pulled));
        curve[k] = (float)(by * (order > 1 ? bent + h * k6 : bent));
    }
#pragma omp simd
    for (int k = 0; k < n; k++) {
        const REAL loss = R(0.5) * ABS(gamma * gap[k] + position) + LOG_OF(total[k]);
        losses[k] = (weighted ? weight[k] : R(1.0)) * (order ? loss + losses[k] : loss);
    }
    return sum_as_doubles(losses, n);
}

/* What rows add to the objective of an annotator and its derivatives: see add_slopes(). */
ALWAYS double plain_slopes(const PlainRows *rows, const Spot *s, Slopes *sums, const int weighted,
                           const int order, const int tied)
{
    const REAL gamma = R(s->gamma), position = R(s->position), ties = R(s->tie);
    const REAL square = R(0.5 * s->gamma * s->gamma);
    const REAL *gap = rows->gap, *weight = rows->weight, *lean = rows->lean, *ties_said = rows->tied;
    const float *sd = rows->sd;
    const int n = rows->n;
    REAL small[WIDE], total[WIDE], losses[WIDE];
    REAL pull_gap = 0, pull = 0, gap_gap = 0, gap_one = 0, one_one = 0;
    REAL tie = 0, tie_tie = 0, gap_tie = 0, one_tie = 0;
#pragma omp simd
    for (int k = 0; k < n; k++) small[k] = EXP_MINUS(R(0.5) * ABS(gamma * gap[k] + position));
#pragma omp simd reduction(+ : pull_gap, pull, gap_gap, gap_one, one_one, tie, tie_tie, gap_tie, one_tie)
    for (int k = 0; k < n; k++) {
        const REAL g = gap[k], eta = gamma * g + position, by = weighted ? weight[k] : R(1.0);
        CHANCES(eta, small[k], ties);
        CUMULANTS;
        total[k] = all;
        const REAL variance = order ? (REAL)sd[k] * sd[k] : R(0.0), push = gamma * variance;
        const REAL v = square * variance, h = R(0.5) * v * v;
        const REAL more = order ? v * c : R(0.0), pulled = order ? m + v * k3 : m;
        const REAL bent = order ? c + v * k4 : c;
        losses[k] = order > 1 ? more + h * k4 : more;
        const REAL p = by * (order > 1 ? pulled + h * k5 : pulled) - lean[k];
        const REAL b = by * (order > 1 ? bent + h * k6 : bent), once = g * b;
        pull += p;
        one_one += b;
        pull_gap += order ? g * p + push * b : g * p;
        gap_one += order ? once + push * (by * k3) : once;
        gap_gap += order ? g * once + variance * b + push * by * (two * g * k3 + push * k4) : g * once;
        if (tied) {
            const REAL t = z * r, tie_curve = t * (R(1.0) + e) * r, cross = -t * m;
            const REAL second = t * (m * m - c), third = t * (m * (three * c - m * m) - k3);
            const REAL flat = m * m * (m * m - R(6.0) * c) + R(4.0) * m * k3 + three * c * c - k4;
            const REAL chance = order ? t + v * second : t, crossed = order ? cross + v * third : cross;
            const REAL curved = v * (second - two * (cross * cross + t * second));
            tie += by * (order > 1 ? chance + h * t * flat : chance) - ties_said[k];
            tie_tie += by * (order ? tie_curve + curved : tie_curve);
            gap_tie += by * (order ? g * crossed + push * second : g * crossed);
            one_tie += by * crossed;
        }
    }
#pragma omp simd
    for (int k = 0; k < n; k++) {
        const REAL loss = R(0.5) * ABS(gamma * gap[k] + position) + LOG_OF(total[k]);
        losses[k] = (weighted ? weight[k] : R(1.0)) * (order ? loss + losses[k] : loss);
    }
    sums->pull_gap += pull_gap;
    sums->pull += pull;
    sums->gap_gap += gap_gap;
    sums->gap_one += gap_one;
    sums->one_one += one_one;
    sums->tie += tie;
    sums->tie_tie += tie_tie;
    sums->gap_tie += gap_tie;
    sums->one_tie += one_tie;
    return sum_as_doubles(losses, n);
}

/* Each combination is a function: in one of them all, compilers take a third longer. */
#define MAKE_NODE(w, o)                                                                               \
    APART double NODE(w, o)(const PlainRows *rows, const Spot *s, float *pull, float *curve)          \
    {                                                                                                 \
        return plain_node(rows, s, pull, curve, w, o);                                                \
    }
#define MAKE_SLOPES(w, o, t)                                                                          \
    APART double SLOPES(w, o, t)(const PlainRows *rows, const Spot *s, Slopes *sums)                  \
    {                                                                                                 \
        return plain_slopes(rows, s, sums, w, o, t);                                                  \
    }
MAKE_NODE(0, 0) MAKE_NODE(0, 1) MAKE_NODE(0, 2)
MAKE_NODE(1, 0) MAKE_NODE(1, 1) MAKE_NODE(1, 2)
MAKE_SLOPES(0, 0, 0) MAKE_SLOPES(0, 0, 1) MAKE_SLOPES(0, 1, 0)
MAKE_SLOPES(0, 1, 1) MAKE_SLOPES(0, 2, 0) MAKE_SLOPES(0, 2, 1)
MAKE_SLOPES(1, 0, 0) MAKE_SLOPES(1, 0, 1) MAKE_SLOPES(1, 1, 0)
MAKE_SLOPES(1, 1, 1) MAKE_SLOPES(1, 2, 0) MAKE_SLOPES(1, 2, 1)

/* Whether rows are what the loops above are for. */
PART int is_plain(const Integral *j, const Own *o)
{
    return j->top == 1 && !o->axis && !o->ready;
}

PART PlainRows plain_rows(const Own *o, int64_t from)
{
    const int n = (int)(o->rows - from < WIDE ? o->rows - from : WIDE);
    const PlainRows found = {o->gap + from, o->weight ? o->weight + from : 0, o->lean + from,
                             o->tied + from, o->sd ? o->sd + from : 0, n};
    return found;
}

/* How many pairs of derivatives average over a gap. */
PART int order_of(const Own *o, const Spot *s)
{
    return !o->sd ? 0 : fabs(s->gamma) * o->widest <= SLIGHT ? 1 : 2;
}

/* The same as node_terms() for all rows of an annotator, none of them to be looked at by points. */
PART double plain_nodes(const Own *o, const Spot *s, float *pull, float *curve)
{
    const int order = order_of(o, s);
    double loss = 0.0;
    for (int64_t from = 0; from < o->rows; from += WIDE) {
        const PlainRows rows = plain_rows(o, from);
        float *p = pull + from, *c = curve + from;
        if (rows.weight)
            loss += order == 0   ? NODE(1, 0)(&rows, s, p, c)
                    : order == 1 ? NODE(1, 1)(&rows, s, p, c)
                                 : NODE(1, 2)(&rows, s, p, c);
        else
            loss += order == 0   ? NODE(0, 0)(&rows, s, p, c)
                    : order == 1 ? NODE(0, 1)(&rows, s, p, c)
                                 : NODE(0, 2)(&rows, s, p, c);
    }
    return loss;
}

/* The same as mixed_terms() of all rows, with their sums. */
PART double plain_sums(const Own *o, const Spot *s, Slopes *sums)
{
    const int order = order_of(o, s);
    double loss = 0.0;
    for (int64_t from = 0; from < o->rows; from += WIDE) {
        const PlainRows rows = plain_rows(o, from);
        switch (6 * !!rows.weight + 2 * order + !!s->ties) {
        case 0: loss += SLOPES(0, 0, 0)(&rows, s, sums); break;
        case 1: loss += SLOPES(0, 0, 1)(&rows, s, sums); break;
        case 2: loss += SLOPES(0, 1, 0)(&rows, s, sums); break;
        case 3: loss += SLOPES(0, 1, 1)(&rows, s, sums); break;
        case 4: loss += SLOPES(0, 2, 0)(&rows, s, sums); break;
        case 5: loss += SLOPES(0, 2, 1)(&rows, s, sums); break;
        case 6: loss += SLOPES(1, 0, 0)(&rows, s, sums); break;
        case 7: loss += SLOPES(1, 0, 1)(&rows, s, sums); break;
        case 8: loss += SLOPES(1, 1, 0)(&rows, s, sums); break;
        case 9: loss += SLOPES(1, 1, 1)(&rows, s, sums); break;
        case 10: loss += SLOPES(1, 2, 0)(&rows, s, sums); break;
        default: loss += SLOPES(1, 2, 1)(&rows, s, sums);
        }
    }
    return loss;
}

#undef PlainRows
#undef CHANCES
#undef CUMULANTS
#undef plain_node
#undef plain_slopes
#undef sum_as_doubles
#undef NODE
#undef SLOPES
#undef MAKE_NODE
#undef MAKE_SLOPES
