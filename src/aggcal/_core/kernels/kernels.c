/* The sums over judgments, compiled: one sweep for value, gradient and curvature of the Thurstone
 * family, one for a product with its curvature.
 *
 * Rows are sorted by annotator; annotator u's are rows starts[u] to starts[u + 1]. A sweep takes a
 * range of annotators and adds into arrays of its own, so that ranges can run in threads. Rows are
 * worked on in chunks that stay in cache: gather the differences of scores, evaluate the link,
 * scatter. No temporary grows with the data; what is stored per row are two float32 weights of the
 * curvature, which shape the direction of a step and never the value or the gradient.
 */
#include "shared.h"

#define CHUNK 2048
#define FAR 1e3

/* Raised with every change of a signature: a library of another version is not loaded. */
int aggcal_version(void) { return 33; }

/* The highest level of x86-64 that this processor runs and there are kernels for; else 1. */
int aggcal_level(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__builtin_cpu_supports("bmi2"))
        return 1;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512vl")
               ? 4
               : 3;
#else
    return 1;
#endif
}

enum { LOGISTIC, NORMAL, LAPLACE };

typedef struct {
    double gap[CHUNK], small[CHUNK], pull[CHUNK], curve[CHUNK];
} Chunk;

/* Scaled complementary error function e^{z^2} erfc(z), z >= 0. */
PART double erfcx_plus(double z)
{
    if (z < 25.0) return exp(z * z) * erfc(z);
    double t = 1.0 / (2.0 * z * z);
    double series = 1.0 - t * (1.0 - 3.0 * t * (1.0 - 5.0 * t * (1.0 - 7.0 * t * (1.0 - 9.0 * t))));
    return series / (z * 1.7724538509055160273);
}

/* Fill pull and curve, the first two derivatives of the loss at x = slope * gap, and what the loss
 * is made of: e^-|x| for the logistic link, the loss itself for the others. */
PART void link_terms(int link, double slope, int n, Chunk *c)
{
    if (link == LOGISTIC) {
        for (int k = 0; k < n; k++) c->small[k] = exp_minus(fabs(slope * c->gap[k]));
        for (int k = 0; k < n; k++) {
            double x = slope * c->gap[k], e = c->small[k], r = 1.0 / (1.0 + e);
            c->pull[k] = x >= 0.0 ? e * r : r;
            c->curve[k] = e * r * r;
        }
    } else if (link == LAPLACE) {
        for (int k = 0; k < n; k++) c->small[k] = exp_minus(fabs(slope * c->gap[k]));
        for (int k = 0; k < n; k++) {
            double x = slope * c->gap[k], size = fabs(x), tail = 0.25 * c->small[k];
            if (x < 0.0) {
                double r = 1.0 / (2.0 + size);
                c->small[k] = size + log(4.0 * r);
                c->pull[k] = 1.0 - r;
                c->curve[k] = r * r;
            } else {
                double lack = (2.0 + size) * tail, f = 1.0 - lack;
                double p = (1.0 + size) * tail / f;
                c->small[k] = -log1p(-lack);
                c->pull[k] = p;
                c->curve[k] = size * tail / f + p * p;
            }
        }
    } else {
        const double root_half = 0.70710678118654752440;
        for (int k = 0; k < n; k++) {
            double x = slope * c->gap[k], p;
            if (x < 0.0) {
                double scaled = erfcx_plus(-x * root_half);
                p = 0.79788456080286535588 / scaled;
                c->small[k] = 0.5 * x * x - log(0.5 * scaled);
            } else {
                double lack = 0.5 * erfc(x * root_half);
                p = 0.39894228040143267794 * exp(-0.5 * x * x) / (1.0 - lack);
                c->small[k] = -log1p(-lack);
            }
            c->pull[k] = p;
            if (x < -FAR) {
                double inverse = 1.0 / (x * x);
                c->curve[k] = 1.0 - inverse + 6.0 * inverse * inverse;
            } else {
                c->curve[k] = p * (p + x);
            }
        }
    }
}

/* Sum of weight * loss, from what link_terms left. */
PART double link_loss(int link, double slope, const double *weight, int n, const double *gap,
                      const double *small)
{
    double total = 0.0;
    if (link != LOGISTIC) {
        for (int k = 0; k < n; k++) total += weight ? weight[k] * small[k] : small[k];
        return total;
    }
    if (weight) {
        double loss[CHUNK];
        for (int k = 0; k < n; k++) {
            double x = slope * gap[k];
            loss[k] = log_one_plus(small[k]) + (x < 0.0 ? -x : 0.0);
        }
        return dot(weight, loss, n);
    }
    /* One logarithm for many rows: each factor is at most 2. Sums side by side, because each step
     * of one waits for the last. */
    for (int from = 0; from < n; from += 512) {
        const int to = from + 512 < n ? from + 512 : n;
        double product[4] = {1.0, 1.0, 1.0, 1.0}, linear[4] = {0.0, 0.0, 0.0, 0.0};
        int k = from;
        for (; k + 4 <= to; k += 4) {
            for (int lane = 0; lane < 4; lane++) {
                double x = slope * gap[k + lane];
                product[lane] *= 1.0 + small[k + lane];
                linear[lane] += x < 0.0 ? -x : 0.0;
            }
        }
        for (; k < to; k++) {
            double x = slope * gap[k];
            product[0] *= 1.0 + small[k];
            linear[0] += x < 0.0 ? -x : 0.0;
        }
        total += log((product[0] * product[1]) * (product[2] * product[3]));
        total += (linear[0] + linear[1]) + (linear[2] + linear[3]);
    }
    return total;
}

PART void weigh(const double *weight, int64_t from, int n, Chunk *c)
{
    if (!weight) return;
    for (int k = 0; k < n; k++) c->pull[k] *= weight[from + k];
    for (int k = 0; k < n; k++) c->curve[k] *= weight[from + k];
}

/* The sums of gap * pull and of gap^2 * curve over a chunk. */
PART void slope_sums(const Chunk *c, int n, double *pull, double *curve)
{
    double p[4] = {0.0, 0.0, 0.0, 0.0}, q[4] = {0.0, 0.0, 0.0, 0.0};
    int k = 0;
    for (; k + 4 <= n; k += 4) {
        for (int lane = 0; lane < 4; lane++) {
            double d = c->gap[k + lane];
            p[lane] += d * c->pull[k + lane];
            q[lane] += d * d * c->curve[k + lane];
        }
    }
    for (; k < n; k++) {
        double d = c->gap[k];
        p[0] += d * c->pull[k];
        q[0] += d * d * c->curve[k];
    }
    *pull += (p[0] + p[1]) + (p[2] + p[3]);
    *curve += (q[0] + q[1]) + (q[2] + q[3]);
}

PART void gather(const int32_t *winner, const int32_t *loser, const double *v, int n,
                          double *gap)
{
    for (int k = 0; k < n; k++) gap[k] = v[winner[k]] - v[loser[k]];
}

/* The sum of cross * (moved_i - moved_j) over rows lo to hi. */
PART double border(const int32_t *winner, const int32_t *loser, const float *cross,
                     const double *moved, int64_t lo, int64_t hi, Chunk *c)
{
    double total = 0.0;
    for (int64_t from = lo; from < hi; from += CHUNK) {
        const int n = (int)(hi - from < CHUNK ? hi - from : CHUNK);
        gather(winner + from, loser + from, moved, n, c->gap);
        for (int k = 0; k < n; k++) c->small[k] = cross[from + k];
        total += dot(c->small, c->gap, n);
    }
    return total;
}

/* Value, gradient and curvature over annotators first to last.
 *
 * precision < 0: no reliabilities, every slope is 1 (starts may then cut the rows anywhere).
 * Otherwise slope[u] is solved for in place, from what it holds: the zero of an increasing
 * function, by Newton steps within a bracket, until it is at most tolerance * natural[u].
 * moved is what the scores changed by since the last call, whose slope_gradient, inner and cross
 * then say where the slopes should go; NULL where there was none.
 * item[2 i] and item[2 i + 1] gather the gradient and the diagonal of item i.
 */
double aggcal_evaluate(int link, int64_t first, int64_t last, const int32_t *winner,
                       const int32_t *loser, const double *weight, const int64_t *starts,
                       const double *scores, const double *moved, const double *natural,
                       double precision, double tolerance, double *slope,
                       double *slope_gradient, double *inner, double *item, float *near,
                       float *cross)
{
    Chunk c;
    double value = 0.0;
    for (int64_t u = first; u < last; u++) {
        const int64_t lo = starts[u], hi = starts[u + 1];
        const int free_slope = precision >= 0.0, single = hi - lo <= CHUNK;
        double g = 1.0, low = -INFINITY, high = INFINITY, before = INFINITY;
        double gradient = 0.0, curvature = 1.0;
        if (free_slope) {
            g = isfinite(slope[u]) ? slope[u] : 1.0;
            if (moved) {
                double change = slope_gradient[u] + border(winner, loser, cross, moved, lo, hi, &c);
                change /= inner[u];
                if (fabs(change) <= 0.5 * (1.0 + fabs(g))) g -= change;
            }
        }
        for (int step = 0; step < 200 && free_slope; step++) {
            gradient = precision * (g - 1.0);
            curvature = precision;
            double pull = 0.0;
            for (int64_t from = lo; from < hi; from += CHUNK) {
                const int n = (int)(hi - from < CHUNK ? hi - from : CHUNK);
                if (!single || step == 0) gather(winner + from, loser + from, scores, n, c.gap);
                link_terms(link, g, n, &c);
                weigh(weight, from, n, &c);
                slope_sums(&c, n, &pull, &curvature);
            }
            gradient -= pull;
            double change = gradient / curvature, size = fabs(change) / (1.0 + fabs(g));
            if (fabs(gradient) <= tolerance * natural[u] || (size < 1e-9 && size >= 0.5 * before))
                break;
            before = size;
            if (gradient < 0.0) low = g;
            if (gradient > 0.0) high = g;
            double next = g - change;
            if (!(next > low && next < high) && isfinite(low) && isfinite(high))
                next = 0.5 * (low + high);
            g = next;
        }
        if (free_slope) {
            slope[u] = g;
            slope_gradient[u] = gradient;
            inner[u] = curvature;
            value += 0.5 * precision * (g - 1.0) * (g - 1.0);
        }
        const double shrink = free_slope ? gradient / curvature : 0.0;
        for (int64_t from = lo; from < hi; from += CHUNK) {
            const int n = (int)(hi - from < CHUNK ? hi - from : CHUNK);
            const int32_t *win = winner + from, *lose = loser + from;
            if (!single || !free_slope) {
                gather(win, lose, scores, n, c.gap);
                link_terms(link, g, n, &c);
                weigh(weight, from, n, &c);
            }
            value += link_loss(link, g, weight ? weight + from : 0, n, c.gap, c.small);
            for (int k = 0; k < n; k++) {
                c.small[k] = g * g * c.curve[k];
                near[from + k] = (float)c.small[k];
            }
            if (free_slope) {
                for (int k = 0; k < n; k++) {
                    double mixed = g * c.curve[k] * c.gap[k] - c.pull[k];
                    cross[from + k] = (float)mixed;
                    c.pull[k] = g * c.pull[k] + shrink * mixed;
                }
            }
            for (int k = 0; k < n; k++) {
                double *i = item + 2 * (int64_t)win[k], *j = item + 2 * (int64_t)lose[k];
                const double force = c.pull[k], stiff = c.small[k];
                i[0] -= force;
                i[1] += stiff;
                j[0] += force;
                j[1] += stiff;
            }
        }
    }
    return value;
}

/* out += (A - B D^-1 B') v over annotators first to last; cross is NULL without reliabilities. */
void aggcal_product(int64_t first, int64_t last, const int32_t *winner, const int32_t *loser,
                    const int64_t *starts, const float *near, const float *cross,
                    const double *inner, const double *v, double *out)
{
    double gap[CHUNK], mixed[CHUNK];
    for (int64_t u = first; u < last; u++) {
        const int64_t lo = starts[u], hi = starts[u + 1];
        const int single = hi - lo <= CHUNK;
        double shared = 0.0;
        if (cross) {
            for (int64_t from = lo; from < hi; from += CHUNK) {
                const int n = (int)(hi - from < CHUNK ? hi - from : CHUNK);
                gather(winner + from, loser + from, v, n, gap);
                for (int k = 0; k < n; k++) mixed[k] = cross[from + k];
                shared += dot(mixed, gap, n);
            }
            shared /= inner[u];
        }
        for (int64_t from = lo; from < hi; from += CHUNK) {
            const int n = (int)(hi - from < CHUNK ? hi - from : CHUNK);
            const int32_t *win = winner + from, *lose = loser + from;
            if (!cross || !single) gather(win, lose, v, n, gap);
            if (cross)
                for (int k = 0; k < n; k++) gap[k] = near[from + k] * gap[k] - shared * cross[from + k];
            else
                for (int k = 0; k < n; k++) gap[k] *= near[from + k];
            for (int k = 0; k < n; k++) {
                out[win[k]] += gap[k];
                out[lose[k]] -= gap[k];
            }
        }
    }
}

/* out += the diagonal of A - B D^-1 B'; held is room for a number per item, all zero. */
void aggcal_diagonal(int64_t first, int64_t last, const int32_t *winner, const int32_t *loser,
                     const int64_t *starts, const float *near, const float *cross,
                     const double *inner, double *held, double *out)
{
    for (int64_t u = first; u < last; u++) {
        for (int64_t k = starts[u]; k < starts[u + 1]; k++) {
            out[winner[k]] += near[k];
            out[loser[k]] += near[k];
            if (!cross) continue;
            held[winner[k]] += cross[k];
            held[loser[k]] -= cross[k];
        }
        if (!cross) continue;
        for (int64_t k = starts[u]; k < starts[u + 1]; k++) {
            const int32_t ends[2] = {winner[k], loser[k]};
            for (int e = 0; e < 2; e++) {
                const double b = held[ends[e]];
                out[ends[e]] -= b * b / inner[u];
                held[ends[e]] = 0.0;
            }
        }
    }
}

/* Order rows by tiles of 2^shift winners by 2^shift losers, so that the scores a stretch of rows
 * asks for stay in cache. place holds a zero for each of side * side tiles; weight may be NULL. */
void aggcal_tile(int64_t n_rows, const int32_t *winner, const int32_t *loser, const double *weight,
                 int shift, int64_t side, int64_t *place, int32_t *winners, int32_t *losers,
                 double *weights)
{
    for (int64_t k = 0; k < n_rows; k++) place[(winner[k] >> shift) * side + (loser[k] >> shift)]++;
    for (int64_t tile = 0, from = 0; tile < side * side; tile++) {
        const int64_t here = place[tile];
        place[tile] = from;
        from += here;
    }
    for (int64_t k = 0; k < n_rows; k++) {
        const int64_t to = place[(winner[k] >> shift) * side + (loser[k] >> shift)]++;
        winners[to] = winner[k];
        losers[to] = loser[k];
        if (weight) weights[to] = weight[k];
    }
}

/* How often each index occurs. */
void aggcal_count(int64_t n_rows, const int32_t *index, double *out)
{
    for (int64_t k = 0; k < n_rows; k++) out[index[k]] += 1.0;
}

/* The sum of the values of each index. */
void aggcal_sums(int64_t n_rows, const int32_t *index, const double *values, double *out)
{
    for (int64_t k = 0; k < n_rows; k++) out[index[k]] += values[k];
}

/* Rows in the order of their codes, those of one code in their own; next[c] is where the first row
 * of code c goes, and is moved on. */
void aggcal_by_code(int64_t first, int64_t last, const int32_t *code, int64_t *next, int64_t *order)
{
    for (int64_t k = first; k < last; k++) order[next[code[k]]++] = k;
}

static int32_t root_of(int32_t *parent, int32_t i)
{
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

/* Connected pieces by union-find: parent[i] ends as the smallest item of i's piece. Most studies are
 * one piece after a small part of their rows, and the rest need not be looked at. */
void aggcal_components(int64_t n_rows, const int32_t *left, const int32_t *right, int32_t n_items,
                       int32_t *parent)
{
    int32_t pieces = n_items;
    for (int32_t i = 0; i < n_items; i++) parent[i] = i;
    for (int64_t k = 0; k < n_rows && pieces > 1; k++) {
        int32_t a = root_of(parent, left[k]), b = root_of(parent, right[k]);
        if (a == b) continue;
        if (a < b) parent[b] = a;
        if (b < a) parent[a] = b;
        pieces--;
    }
    for (int32_t i = 0; i < n_items; i++) parent[i] = root_of(parent, i);
}

/* Annotators' reliabilities integrated out. Each has NODES values of gamma: three for those who
 * answer as asked and three for those who answer the other way round (gamma = -rho), at and around
 * the mode of each half (Gauss-Hermite). What a node pulls its rows' gaps by is stored by node:
 * pull[k * n_rows + row]. */
#define NODES 6
#define POINTS 3 /* nodes of either half */
#define NARROW 512 /* rows worked on at once: what they need stays in the first cache */
#define OPEN 2
#define SMOOTH 0.8 /* sd of rho * gap up to which derivatives do: a pull is then right to 7e-4 of a
                    * row at worst, scores and their errors to 2e-4 of a standard error */
static const double POINT[POINTS] = {0.0, 1.7320508075688772, -1.7320508075688772};
static const double LOG_POINT_WEIGHT[POINTS] = {-0.40546510810816438, -1.7917594692280550 + 1.5,
                                                -1.7917594692280550 + 1.5};

/* Where rows vary little, their averages by six derivatives instead of points (logistic link):
 * with q = F(-x), h = q (1 - q) and v half the variance of x = slope * gap, the loss gains the sum
 * of v^k / k! times its derivative of order 2k, a polynomial in h, and pull and curve gain what
 * follows from it. Fills them, weighted, and F(|x|); returns the loss. In one go, because this is
 * where the time goes. */
PART double smooth_terms(double slope, const double *gap, const float *row_sd, const double *weight,
                         int n, double *small, double *inverse, double *pull, double *curve)
{
    double gained[NARROW];
    for (int k = 0; k < n; k++) small[k] = exp_minus(fabs(slope * gap[k]));
    for (int k = 0; k < n; k++) {
        const double x = slope * gap[k], e = small[k], r = 1.0 / (1.0 + e), sd = slope * row_sd[k];
        const double q = x >= 0.0 ? e * r : r, h = e * r * r, v = 0.5 * sd * sd, v2 = 0.5 * v * v;
        const double v3 = v * v2 * (1.0 / 3.0), four = 1.0 - 6.0 * h;
        const double six = 1.0 - h * (30.0 - 120.0 * h);
        const double eight = 1.0 - h * (126.0 - h * (1680.0 - 5040.0 * h));
        inverse[k] = r;
        gained[k] = h * ((v + v2 * four) + (v3 * six));
        pull[k] = q + (1.0 - 2.0 * q) * h *
                          ((v + v2 * (1.0 - 12.0 * h)) + v3 * (1.0 - h * (60.0 - 360.0 * h)));
        curve[k] = h * ((1.0 + v * four) + (v2 * six + v3 * eight));
    }
    const double loss = link_loss(LOGISTIC, slope, weight, n, gap, small);
    if (!weight) return loss + sum_of(gained, n);
    for (int k = 0; k < n; k++) pull[k] *= weight[k];
    for (int k = 0; k < n; k++) curve[k] *= weight[k];
    return loss + dot(weight, gained, n);
}

/* What smooth_terms found as sums for the slope: adds what pulls it, and its curvature. With noise of
 * a variance added to the gap, and by Stein's lemma,
 *   E(pull (gap + noise)) = gap E(pull) - slope variance E(curve),
 *   E(curve (gap + noise)^2) = (gap^2 + variance) E(curve) + 2 gap slope variance E(curve')
 *                              + (slope variance)^2 E(curve''). */
PART void smooth_slope(double slope, const double *gap, const float *row_sd, const double *weight,
                       int n, const double *small, const double *inverse, const double *pull,
                       const double *curve, double *pulled, double *curvature)
{
    double pulls[NARROW], curves[NARROW];
    for (int k = 0; k < n; k++) {
        const double d = gap[k], e = small[k], r = inverse[k], h = e * r * r;
        const double up = slope * d >= 0.0 ? (1.0 - e) * r : (e - 1.0) * r;
        const double var = (double)row_sd[k] * row_sd[k], push = slope * var, v = 0.5 * slope * push;
        const double bent = 1.0 - 6.0 * h + v * (1.0 - h * (30.0 - 120.0 * h));
        pulls[k] = d * pull[k] - push * curve[k];
        curves[k] = h * push * (push * bent - 2.0 * d * up * (1.0 + v * (1.0 - 12.0 * h)));
        curves[k] = (d * d + var) * curve[k] + (weight ? weight[k] : 1.0) * curves[k];
    }
    *pulled += sum_of(pulls, n);
    *curvature += sum_of(curves, n);
}

/* What a slope makes of n rows: fills pull and curve, weighted; returns the loss. Where pulled is not
 * NULL, adds what pulls the slope, and its curvature. */
PART double node_terms(int link, int smooth, double slope, const double *gap, const double *weight,
                       const float *row_sd, int n, Chunk *c, double *pull, double *curve,
                       double *pulled, double *curvature)
{
    if (smooth) {
        const double loss =
            smooth_terms(slope, gap, row_sd, weight, n, c->small, c->pull, pull, curve);
        if (pulled)
            smooth_slope(slope, gap, row_sd, weight, n, c->small, c->pull, pull, curve, pulled,
                         curvature);
        return loss;
    }
    double loss = 0.0;
    for (int r = 0; r < n; r++) pull[r] = curve[r] = 0.0;
    for (int t = 0; t < GAPS; t++) {
        const double share = GAP_WEIGHT[t];
        double pulls = 0.0, curves = 0.0;
        for (int r = 0; r < n; r++) c->gap[r] = gap[r] + GAP[t] * row_sd[r];
        link_terms(link, slope, n, c);
        weigh(weight, 0, n, c);
        loss += share * link_loss(link, slope, weight, n, c->gap, c->small);
        for (int r = 0; r < n; r++) pull[r] += share * c->pull[r];
        for (int r = 0; r < n; r++) curve[r] += share * c->curve[r];
        if (!pulled) continue;
        slope_sums(c, n, &pulls, &curves);
        *pulled += share * pulls;
        *curvature += share * curves;
    }
    return loss;
}

/* Add up what the nodes of an annotator make of their rows, and remember what they pull gaps by.
 * nodes is 3 where the second half is left out, else 6: a constant wherever this is inlined. */
PART void gather_nodes(int nodes, int64_t rows, const double *value, const double *p,
                       const double *off, const double *restrict pulls,
                       const double *restrict curves, const int32_t *winner, const int32_t *loser,
                       double *item, float *restrict near, float *restrict pull, int64_t n_rows)
{
    double force[NARROW], stiff[NARROW], loose[NARROW], along[NARROW];
    for (int64_t from = 0; from < rows; from += NARROW) {
        const int n = (int)(rows - from < NARROW ? rows - from : NARROW);
        for (int r = 0; r < n; r++) {
            double f = 0.0, s = 0.0, l = 0.0, a = 0.0;
            for (int k = 0; k < nodes; k++) {
                const double q = value[k] * pulls[k * rows + from + r];
                f += p[k] * q;
                l += p[k] * q * q;
                a += off[k] * q;
                s += p[k] * value[k] * value[k] * curves[k * rows + from + r];
                pull[k * n_rows + from + r] = (float)q;
            }
            force[r] = f;
            stiff[r] = s;
            loose[r] = l - f * f;
            along[r] = a;
            near[from + r] = (float)s;
        }
        for (int r = 0; r < n; r++) {
            double *i = item + 4 * (int64_t)winner[from + r], *j = item + 4 * (int64_t)loser[from + r];
            i[0] += force[r];
            i[1] += stiff[r];
            i[2] += loose[r];
            i[3] += along[r];
            j[0] -= force[r];
            j[1] += stiff[r];
            j[2] += loose[r];
            j[3] -= along[r];
        }
    }
}

/* Integrate the reliabilities of annotators first to last out at these scores.
 *
 * Beforehand rho_u ~ N(mean[u], 1 / precision), and the share of those who answer the other way
 * round is e^log_share[1] = 1 - e^log_share[0]. mode[2 u] and mode[2 u + 1] are where to look for
 * the two modes from, and afterwards where to look the next time; the search ends where the square
 * of Newton's step is below close times the variance (nodes are only placed by the modes), so that
 * its last evaluation is that of the first node. skip[u]: leave the second half out, as hopeless.
 * kind[2 u], kind[2 u + 1]: whether rows are averaged by derivatives, or OPEN; settle decides it
 * for good, because going to and fro between the two would keep a fit from coming to rest.
 * node and chance get the values and their posterior weights; item[4 i] gathers the gradient of the
 * log-likelihood, item[4 i + 1] the diagonal of its curvature with the reliabilities held,
 * item[4 i + 2] what is to be taken from that, as if nobody judged an item twice, and
 * item[4 i + 3] how rho, weighed with unit[u], varies with the pull on the item.
 * room: 2 * NODES + 1 doubles for each row of the annotator who has most. Returns the log evidence. */
double aggcal_integrate(int link, int64_t first, int64_t last, int64_t n_rows,
                        const int32_t *winner, const int32_t *loser, const double *weight,
                        const int64_t *starts, const double *scores, const float *row_sd,
                        const double *mean, const double *unit, double precision, double close,
                        int settle, const double *log_share, const uint8_t *skip, uint8_t *kind,
                        double *mode, double *node, double *chance, double *item, float *near,
                        float *pull, double *room)
{
    Chunk c;
    double total = 0.0;
    for (int64_t u = first; u < last; u++) {
        const int64_t lo = starts[u], hi = starts[u + 1], rows = hi - lo;
        double log_weight[NODES], *value = node + NODES * u, *p = chance + NODES * u;
        double *pulls = room, *curves = pulls + NODES * rows, *gap = curves + NODES * rows;
        double most = -INFINITY, sum = 0.0;
        for (int64_t r = 0; r < rows; r++) gap[r] = scores[winner[lo + r]] - scores[loser[lo + r]];
        for (int k = 0; k < NODES; k++) {
            value[k] = p[k] = 0.0;
            log_weight[k] = -INFINITY;
        }
        float widest = 0.0f;
        for (int64_t row = lo; row < hi; row++) widest = row_sd[row] > widest ? row_sd[row] : widest;
        for (int half = 0; half < 2; half++) {
            const double sign = half ? -1.0 : 1.0;
            if (half && skip && skip[u]) continue;
            double g = mode[2 * u + half], next = g, wide = 0.0, prior_width = 0.0;
            uint8_t *how = kind + 2 * u + half;
            int smooth = link == LOGISTIC && (*how == OPEN ? fabs(g) * widest <= SMOOTH : *how);
            /* The search for the mode makes the first node, then come the two around it. */
            for (int t = 0, step = 0; t < POINTS; step++) {
                const int k = POINTS * half + t;
                const double rho = g + POINT[t] * wide, excess = rho - mean[u];
                double loss = 0.0, pulled = 0.0, curvature = precision;
                for (int64_t from = 0; from < rows; from += NARROW) {
                    const int n = (int)(rows - from < NARROW ? rows - from : NARROW);
                    const int64_t at = k * rows + from;
                    loss += node_terms(link, smooth, sign * rho, gap + from,
                                       weight ? weight + lo + from : 0, row_sd + lo + from, n, &c,
                                       pulls + at, curves + at, t ? 0 : &pulled, &curvature);
                }
                if (t == 0) {
                    /* Far from where they were taken, derivatives may curve the wrong way: points. */
                    if (smooth && !(curvature > 0.0)) {
                        smooth = 0;
                        continue;
                    }
                    double change = (sign * pulled - precision * excess) / curvature;
                    change = change > 1.0 ? 1.0 : change < -1.0 ? -1.0 : change;
                    next = g + change;
                    if (change * change * curvature >= close && step < 50) {
                        g = next;
                        continue;
                    }
                    wide = 1.0 / sqrt(curvature);
                    prior_width = 0.5 * log(precision / curvature);
                    if (smooth && *how == OPEN && (fabs(g) + POINT[1] * wide) * widest > SMOOTH) {
                        smooth = 0;
                        continue;
                    }
                }
                value[k] = sign * rho;
                log_weight[k] = log_share[half] - loss - 0.5 * precision * excess * excess +
                                LOG_POINT_WEIGHT[t] + prior_width;
                most = log_weight[k] > most ? log_weight[k] : most;
                t++;
            }
            mode[2 * u + half] = next;
            if (settle) *how = (uint8_t)smooth;
        }
        double strength = 0.0, off[NODES];
        for (int k = 0; k < NODES; k++) {
            p[k] = log_weight[k] > most - 700.0 ? exp(log_weight[k] - most) : 0.0;
            sum += p[k];
        }
        total += most + log(sum);
        for (int k = 0; k < NODES; k++) {
            p[k] /= sum;
            off[k] = k < POINTS ? value[k] : -value[k];
            strength += p[k] * off[k];
        }
        for (int k = 0; k < NODES; k++) off[k] = unit[u] * p[k] * (off[k] - strength);
        if (p[POINTS] + p[POINTS + 1] + p[POINTS + 2] > 0.0) {
            gather_nodes(NODES, rows, value, p, off, pulls, curves, winner + lo, loser + lo, item,
                         near + lo, pull + lo, n_rows);
            continue;
        }
        gather_nodes(POINTS, rows, value, p, off, pulls, curves, winner + lo, loser + lo, item,
                     near + lo, pull + lo, n_rows);
        for (int k = POINTS; k < NODES; k++)
            memset(pull + k * n_rows + lo, 0, (size_t)rows * sizeof *pull);
    }
    return total;
}

/* out += (sum near aa' - sum_u Cov_k(g_uk)) v, g_uk what node k of annotator u pulls the items by. */
void aggcal_integrated_product(int64_t first, int64_t last, int64_t n_rows, const int32_t *winner,
                               const int32_t *loser, const int64_t *starts, const float *near,
                               const float *pull, const double *chance, const double *v,
                               double *out)
{
    double gap[CHUNK], mixed[CHUNK];
    for (int64_t u = first; u < last; u++) {
        const int64_t lo = starts[u], hi = starts[u + 1];
        const int single = hi - lo <= CHUNK;
        const double *p = chance + NODES * u;
        double pulled[NODES] = {0.0}, mean = 0.0;
        for (int64_t from = lo; from < hi; from += CHUNK) {
            const int n = (int)(hi - from < CHUNK ? hi - from : CHUNK);
            gather(winner + from, loser + from, v, n, gap);
            for (int k = 0; k < NODES; k++) {
                if (p[k] == 0.0) continue;
                for (int r = 0; r < n; r++) mixed[r] = pull[k * n_rows + from + r];
                pulled[k] += dot(mixed, gap, n);
            }
        }
        for (int k = 0; k < NODES; k++) mean += p[k] * pulled[k];
        for (int64_t from = lo; from < hi; from += CHUNK) {
            const int n = (int)(hi - from < CHUNK ? hi - from : CHUNK);
            const int32_t *win = winner + from, *lose = loser + from;
            if (!single) gather(win, lose, v, n, gap);
            for (int r = 0; r < n; r++) gap[r] *= near[from + r];
            for (int k = 0; k < NODES; k++) {
                if (p[k] == 0.0) continue;
                const double t = p[k] * (pulled[k] - mean);
                for (int r = 0; r < n; r++) gap[r] -= t * pull[k * n_rows + from + r];
            }
            for (int r = 0; r < n; r++) {
                out[win[r]] += gap[r];
                out[lose[r]] -= gap[r];
            }
        }
    }
}

/* What the nodes of one annotator pull each item by: sums[NODES * slot + k] for item touched[slot].
 * slot_of is -1 for every item, and is so again afterwards. Returns how many items there are. */
PART int32_t by_item(int nodes, int64_t lo, int64_t hi, int64_t n_rows, const int32_t *winner,
                     const int32_t *loser, const float *pull, int32_t *slot_of, int32_t *touched,
                     double *sums)
{
    int32_t count = 0;
    for (int64_t row = lo; row < hi; row++) {
        const int32_t ends[2] = {winner[row], loser[row]};
        for (int e = 0; e < 2; e++) {
            if (slot_of[ends[e]] < 0) {
                slot_of[ends[e]] = count;
                touched[count] = ends[e];
                for (int k = 0; k < nodes; k++) sums[NODES * (int64_t)count + k] = 0.0;
                count++;
            }
            double *at = sums + NODES * (int64_t)slot_of[ends[e]];
            for (int k = 0; k < nodes; k++)
                at[k] += e ? -(double)pull[k * n_rows + row] : (double)pull[k * n_rows + row];
        }
    }
    for (int32_t s = 0; s < count; s++) slot_of[touched[s]] = -1;
    return count;
}

/* out += Cov_k(g_uk) of one annotator; nodes is a constant wherever this is inlined. */
PART void one_covariance(int nodes, int64_t lo, int64_t hi, int64_t n_rows, int64_t n,
                         const int32_t *winner, const int32_t *loser, const float *pull,
                         const double *p, int dense, int32_t *slot_of, int32_t *touched,
                         double *sums, double *out)
{
    const int32_t count = by_item(nodes, lo, hi, n_rows, winner, loser, pull, slot_of, touched, sums);
    for (int32_t s = 0; s < count; s++) {
        double *g = sums + NODES * (int64_t)s, mean = 0.0;
        for (int k = 0; k < nodes; k++) mean += p[k] * g[k];
        for (int k = 0; k < nodes; k++) g[k] = sqrt(p[k]) * (g[k] - mean);
    }
    for (int32_t s = 0; s < count; s++) {
        const double *g = sums + NODES * (int64_t)s;
        double *row = dense ? out + (int64_t)touched[s] * n : out + touched[s];
        for (int32_t t = dense ? 0 : s; t <= s; t++) {
            const double *h = sums + NODES * (int64_t)t;
            double product = 0.0;
            for (int k = 0; k < nodes; k++) product += g[k] * h[k];
            row[dense ? touched[t] : 0] += product;
        }
    }
}

/* out += Cov_k(g_uk) over annotators first to last: as a matrix of n by n where dense, each pair of
 * items on one side of the diagonal only, else its diagonal. slot_of, touched and sums are room for
 * n, n and NODES * n. */
void aggcal_pull_covariance(int64_t first, int64_t last, int64_t n_rows, int64_t n,
                            const int32_t *winner, const int32_t *loser, const int64_t *starts,
                            const float *pull, const double *chance, int dense, int32_t *slot_of,
                            int32_t *touched, double *sums, double *out)
{
    for (int64_t u = first; u < last; u++) {
        const double *p = chance + NODES * u;
        if (p[POINTS] + p[POINTS + 1] + p[POINTS + 2] > 0.0)
            one_covariance(NODES, starts[u], starts[u + 1], n_rows, n, winner, loser, pull, p, dense,
                           slot_of, touched, sums, out);
        else
            one_covariance(POINTS, starts[u], starts[u + 1], n_rows, n, winner, loser, pull, p,
                           dense, slot_of, touched, sums, out);
    }
}

/* out[u] = b'Cb and along[u] = b'x with b = sum_k value[u, k] g_uk; C is matrix, n by n, or a
 * diagonal where that is NULL. held is room for n numbers, all zero, touched for n + 1 items. */
void aggcal_pull_forms(int64_t first, int64_t last, int64_t n_rows, int64_t n,
                       const int32_t *winner, const int32_t *loser, const int64_t *starts,
                       const float *pull, const double *value, const double *matrix,
                       const double *diagonal, const double *x, double *held, uint8_t *seen,
                       int32_t *touched, double *out, double *along)
{
    for (int64_t u = first; u < last; u++) {
        const double *of = value + NODES * u;
        double square = 0.0, product = 0.0, force[NARROW];
        int32_t count = 0;
        for (int64_t from = starts[u]; from < starts[u + 1]; from += NARROW) {
            const int64_t rest = starts[u + 1] - from;
            const int rows = (int)(rest < NARROW ? rest : NARROW);
            for (int r = 0; r < rows; r++) force[r] = 0.0;
            for (int k = 0; k < NODES; k++) {
                if (of[k] == 0.0) continue;
                for (int r = 0; r < rows; r++) force[r] += of[k] * pull[k * n_rows + from + r];
            }
            for (int r = 0; r < rows; r++) {
                const int32_t i = winner[from + r], j = loser[from + r];
                touched[count] = i;
                count += !seen[i];
                seen[i] = 1;
                touched[count] = j;
                count += !seen[j];
                seen[j] = 1;
                held[i] += force[r];
                held[j] -= force[r];
            }
        }
        for (int32_t s = 0; s < count; s++) {
            const int32_t i = touched[s];
            product += held[i] * x[i];
            if (!matrix) {
                square += held[i] * held[i] * diagonal[i];
                continue;
            }
            const double *row = matrix + (int64_t)i * n;
            double inner = 0.0;
            for (int32_t t = 0; t < count; t++) inner += row[touched[t]] * held[touched[t]];
            square += held[i] * inner;
        }
        for (int32_t s = 0; s < count; s++) {
            held[touched[s]] = 0.0;
            seen[touched[s]] = 0;
        }
        out[u] = square;
        along[u] = product;
    }
}

/* The sd of each row's gap, of items with these variances, at most cap. */
void aggcal_row_sd(int64_t first, int64_t last, const int32_t *winner, const int32_t *loser,
                   const double *variances, double cap, float *out)
{
    for (int64_t k = first; k < last; k++) {
        const double sd = sqrt(variances[winner[k]] + variances[loser[k]]);
        out[k] = (float)(sd < cap ? sd : cap);
    }
}
