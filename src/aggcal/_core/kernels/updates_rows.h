/* What pairs that were asked take from two matrices, for `updates.c`, which includes this file once for
 * doubles and once for floats.
 *
 * REAL is the type, OF(name) the name of what is defined here. `asked` has two rows of `room` numbers for
 * each item, u and h, one of each for every pair asked; `met` has the differences of u and of h between the
 * two items of a pair, of the pairs before it. */
#define sums_with OF(sums_with)
#define Lanes OF(Lanes)
#define LANES 4
#define TOGETHER 4

/* Several numbers from anywhere: compilers keep sums of them in registers, which arrays of sums are not. */
typedef REAL Lanes __attribute__((vector_size(LANES * sizeof(REAL)), aligned(sizeof(REAL)), may_alias));

/* The sums of c·u and of d·u + c·h of some items, which c and d are loaded for once. */
PART void sums_with(const REAL *c, const REAL *d, REAL *const *u, int64_t room, int64_t n, double *near,
                    double *far)
{
    Lanes one[TOGETHER] = {{0}}, two[TOGETHER] = {{0}};
    const int64_t whole = n - n % LANES;
    for (int64_t k = 0; k < whole; k += LANES) {
        const Lanes by = *(const Lanes *)(c + k), too = *(const Lanes *)(d + k);
#pragma GCC unroll 4
        for (int m = 0; m < TOGETHER; m++) {
            const Lanes v = *(const Lanes *)(u[m] + k), h = *(const Lanes *)(u[m] + room + k);
            one[m] += by * v;
            two[m] += too * v;
            two[m] += by * h;
        }
    }
#pragma GCC unroll 4
    for (int m = 0; m < TOGETHER; m++) {
        const REAL *v = u[m], *h = v + room;
        near[m] = far[m] = 0.0;
        for (int lane = 0; lane < LANES; lane++) {
            near[m] += one[m][lane];
            far[m] += two[m][lane];
        }
        for (int64_t k = whole; k < n; k++) {
            near[m] += c[k] * v[k];
            far[m] += d[k] * v[k] + c[k] * h[k];
        }
    }
}

/* Work out u and h of some items for the pairs asked since `done`, several items at a time: those that
 * are further begin where the others are, and come to the same again. Of `carried` the upper triangle is
 * looked at. `scale` has of each pair the root of its share, and half of what u'Lu is. */
void OF(aggcal_caught_up)(int64_t few, const int64_t *items, int64_t n, int64_t number, int64_t room,
                          const double *covariance, const REAL *carried, const int64_t *pairs,
                          const double *scale, const REAL *met, REAL *asked, int64_t *done)
{
    for (int64_t from = 0; from < few; from += TOGETHER) {
        int64_t x[TOGETHER], first = number;
        REAL *u[TOGETHER];
        for (int m = 0; m < TOGETHER; m++) {
            x[m] = items[from + m < few ? from + m : few - 1];
            u[m] = asked + 2 * room * x[m];
            if (done[x[m]] < first) first = done[x[m]];
        }
        for (int64_t k = first; k < number; k++) {
            const int64_t i = pairs[2 * k], j = pairs[2 * k + 1];
            const REAL *c = met + 2 * room * k;
            double near[TOGETHER], far[TOGETHER];
            sums_with(c, c + room, u, room, k, near, far);
            for (int m = 0; m < TOGETHER; m++) {
                const int64_t at = x[m];
                const double one = at < i ? carried[at * n + i] : carried[i * n + at];
                const double other = at < j ? carried[at * n + j] : carried[j * n + at];
                const double *row = covariance + at * n;
                const double step = scale[2 * k] * (row[i] - row[j] - near[m]);
                u[m][k] = (REAL)step;
                u[m][room + k] = (REAL)(scale[2 * k] * (one - other - far[m]) - scale[2 * k + 1] * step);
            }
        }
        for (int m = 0; m < TOGETHER; m++) done[x[m]] = number;
    }
}

/* Take from the variance of the gap of some candidates (all, if `which` is NULL), and from what is at stake
 * in it, what the pairs took that were asked since a candidate was `valued`. Both are doubles: they are
 * compared with each other. */
void OF(aggcal_lowered)(int64_t few, const int64_t *which, const int64_t *i, const int64_t *j,
                        int64_t number, int64_t room, const REAL *asked, double least, int64_t *valued,
                        double *variance, double *stake)
{
    for (int64_t t = 0; t < few; t++) {
        const int64_t m = which ? which[t] : t;
        const REAL *u = asked + 2 * room * i[m], *v = asked + 2 * room * j[m];
        const REAL *h = u + room, *g = v + room;
        REAL square[LANES] = {0}, cross[LANES] = {0};
        int64_t k = valued[m];
        for (; k + LANES <= number; k += LANES)
            for (int lane = 0; lane < LANES; lane++) {
                const REAL step = u[k + lane] - v[k + lane];
                square[lane] += step * step;
                cross[lane] += step * (h[k + lane] - g[k + lane]);
            }
        for (; k < number; k++) {
            const REAL step = u[k] - v[k];
            square[0] += step * step;
            cross[0] += step * (h[k] - g[k]);
        }
        double known = variance[m], worth = stake[m];
        for (int lane = 0; lane < LANES; lane++) {
            known -= square[lane];
            worth -= 2.0 * cross[lane];
        }
        variance[m] = known > least ? known : least;
        stake[m] = worth > 0.0 ? worth : 0.0;
        valued[m] = number;
    }
}
/* Choose the candidate that is worth most, take a judgment of it into account, and so on: `most` times at
 * most, until none is worth more than `floor`, or another is worth as much. Then the caller decides. Returns
 * how many were chosen; `chosen` says which, `found` what each was worth and the variance of its gap. */
int64_t OF(aggcal_chosen)(int64_t few, const int64_t *i, const int64_t *j, const double *gained,
                          uint8_t *allowed, int again, double floor, int64_t most, int64_t n_items,
                          const int64_t *items, int64_t n, int64_t number, int64_t room,
                          const double *covariance, const REAL *carried, int64_t *pairs, double *scale,
                          REAL *met, REAL *asked, int64_t *done, double least, int64_t *valued,
                          double *variance, double *stake, int64_t *chosen, double *found)
{
    for (int64_t t = 0; t < most; t++) {
        double top = floor, next = -1.0;
        int64_t best = -1;
        for (int64_t m = 0; m < few; m++) {
            const double worth = allowed[m] ? gained[m] * stake[m] / (1.0 + gained[m] * variance[m]) : -1.0;
            if (worth > top) {
                next = best < 0 ? next : top;
                top = worth;
                best = m;
            } else if (worth > next)
                next = worth;
        }
        if (best < 0 || next >= top - EQUAL * top) return t;
        const int64_t k = number + t, one = i[best], other = j[best];
        const REAL *u = asked + 2 * room * one, *v = asked + 2 * room * other;
        REAL *c = met + 2 * room * k;
        const double share = gained[best] / (1.0 + gained[best] * variance[best]);
        for (int64_t m = 0; m < k; m++) c[m] = u[m] - v[m];
        for (int64_t m = 0; m < k; m++) c[room + m] = u[room + m] - v[room + m];
        pairs[2 * k] = one;
        pairs[2 * k + 1] = other;
        scale[2 * k] = sqrt(share);
        scale[2 * k + 1] = 0.5 * share * stake[best];
        chosen[t] = best;
        found[2 * t] = top;
        found[2 * t + 1] = variance[best];
        allowed[best] = (uint8_t)again;
        OF(aggcal_caught_up)(n_items, items, n, k + 1, room, covariance, carried, pairs, scale, met, asked, done);
        OF(aggcal_lowered)(few, 0, i, j, k + 1, room, asked, least, valued, variance, stake);
    }
    return most;
}
#undef sums_with
#undef Lanes
#undef LANES
#undef TOGETHER
