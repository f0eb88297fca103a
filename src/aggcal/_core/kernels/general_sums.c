/* Sums over what the nodes of the general model pull rows by: gradient, products with the curvature,
 * covariances. `general.c` has the nodes; the twin in NumPy is `models.general.sums`.
 *
 * A row touches unknowns through three channels: its gap (entries of a table of columns and values),
 * the axis (left and right item) and the readiness of its context. Node k of annotator u pulls the
 * first two by pull times its reliability and its stance, the third by tie_pull.
 */
#include "shared.h"

#define WIDE 256
#define KEPT 16384 /* rows of an annotator whose gaps are kept for the second look at them */
#define MOST_NODES 16
#define SEVERAL 4 /* vectors that are worked on at once */
enum { GAP_GAP, GAP_AXIS, AXIS_AXIS, GAP_TIE, AXIS_TIE, TIE_TIE, PAIRS };

typedef struct {
    int64_t n_rows, n_second, parameters, each, halves;
    int64_t reliability, stance;      /* where they are in a node; -1: the factor is 1 */
    int64_t entries, axis, ties, at_means, means; /* where unknowns begin; axis, ties: -1 for none */
    const int64_t *starts, *second;
    const float *pull, *second_pull, *tie_pull, *second_tie_pull;
    const float *curve[PAIRS];
    const double *node, *chance, *mean_pull;
    const int32_t *column; /* rows by entries */
    const double *value;   /* NULL: two entries, 1 and -1 */
    const int32_t *context; /* -1 for none */
} Pulls;

/* The nodes of one annotator that have a chance. */
typedef struct {
    int count;
    int which[MOST_NODES];
    const float *pull[MOST_NODES], *tie[MOST_NODES]; /* from the annotator's first row on */
    double gap[MOST_NODES], axis[MOST_NODES];
} Nodes;

PART Nodes nodes_of(const Pulls *j, int64_t u)
{
    const int all = (int)(j->each * j->halves);
    Nodes found;
    found.count = 0;
    for (int k = 0; k < all; k++) {
        if (j->chance[u * all + k] == 0.0) continue;
        const int s = found.count++, t = (int)(k % j->each);
        const int64_t first = t * j->n_rows + j->starts[u], second = t * j->n_second + j->second[u];
        const double *theta = j->node + (u * all + k) * j->parameters;
        found.which[s] = k;
        found.pull[s] = k < j->each ? j->pull + first : j->second_pull + second;
        found.tie[s] = 0;
        if (j->tie_pull) found.tie[s] = k < j->each ? j->tie_pull + first : j->second_tie_pull + second;
        found.gap[s] = j->reliability < 0 ? 1.0 : theta[j->reliability];
        found.axis[s] = j->stance < 0 ? 1.0 : theta[j->stance];
    }
    return found;
}

/* The sums over nodes of factor * pull, of n rows: differences between nodes are as exact as floats. */
PART void mixed(const Nodes *nodes, const float *const *pull, const double *factor, int64_t from,
                int n, float *out)
{
    for (int r = 0; r < n; r++) out[r] = 0.0f;
    for (int s = 0; s < nodes->count; s++) {
        const float *of = pull[s] + from, by = (float)factor[s];
        if (by == 0.0f) continue;
        for (int r = 0; r < n; r++) out[r] += by * of[r];
    }
}

/* Of n rows, in one pass: the sums over nodes of p * pull and of toward * pull, and the variance of
 * what the nodes pull by, square being p times the square of their factor. */
ALWAYS void gathered(const float *const *pull, const double *p, const double *toward,
                     const double *square, int64_t from, int n, double *force, double *along,
                     double *loose, const int count)
{
    const float *of[MOST_NODES];
    for (int s = 0; s < count; s++) of[s] = pull[s] + from;
#pragma omp simd
    for (int r = 0; r < n; r++) {
        double sum = 0.0, other = 0.0, squares = 0.0;
        for (int s = 0; s < count; s++) {
            const double value = of[s][r];
            sum += p[s] * value;
            other += toward[s] * value;
            squares += square[s] * (value * value);
        }
        force[r] = sum;
        along[r] = other;
        loose[r] = squares - sum * sum;
    }
}

/* The gradient, the diagonal with the annotators held, what is to be taken from that as if nobody met
 * an unknown twice, and the sums of weight[u, k] times what the nodes pull by: out[4 i] onward. */
void aggcal_general_gather(const Pulls *j, int64_t first, int64_t last, const double *weight,
                           double *out)
{
    const int all = (int)(j->each * j->halves);
    double force[WIDE], loose[WIDE], along[WIDE];
    for (int64_t u = first; u < last; u++) {
        const int64_t lo = j->starts[u], hi = j->starts[u + 1];
        const Nodes nodes = nodes_of(j, u);
        for (int channel = 0; channel < 3; channel++) {
            if ((channel == 1 && j->axis < 0) || (channel == 2 && j->ties < 0)) continue;
            const float *curve = j->curve[channel == 0 ? GAP_GAP : channel == 1 ? AXIS_AXIS : TIE_TIE];
            const float *const *pull = channel == 2 ? nodes.tie : nodes.pull;
            double p[MOST_NODES], square[MOST_NODES], toward[MOST_NODES];
            for (int s = 0; s < nodes.count; s++) {
                const double by = channel == 0 ? nodes.gap[s] : channel == 1 ? nodes.axis[s] : 1.0;
                p[s] = by * j->chance[u * all + nodes.which[s]];
                square[s] = by * p[s];
                toward[s] = by * weight[u * all + nodes.which[s]];
            }
            for (int64_t from = lo; from < hi; from += WIDE) {
                const int n = (int)(hi - from < WIDE ? hi - from : WIDE);
                /* As many nodes as annotators with one to three parameters have. */
                switch (nodes.count) {
#define GATHERED(count)                                                                               \
    gathered(pull, p, toward, square, from - lo, n, force, along, loose, count)
                case 3: GATHERED(3); break;
                case 5: GATHERED(5); break;
                case 6: GATHERED(6); break;
                default: GATHERED(nodes.count);
#undef GATHERED
                }
                const int32_t *column = j->column + from * j->entries;
                const int pairs = !channel && !j->value;
                for (int r = 0; pairs && r < n; r++) {
                    double *left = out + 4 * (int64_t)column[2 * r];
                    double *right = out + 4 * (int64_t)column[2 * r + 1];
                    const double bent = curve[from + r];
                    left[0] += force[r];
                    left[1] += bent;
                    left[2] += loose[r];
                    left[3] += along[r];
                    right[0] -= force[r];
                    right[1] += bent;
                    right[2] += loose[r];
                    right[3] -= along[r];
                }
                for (int r = 0; !pairs && r < n; r++) {
                    const int64_t row = from + r;
                    const int entries = channel == 0 ? (int)j->entries : channel == 1 ? 2 : 1;
                    for (int e = 0; e < entries; e++) {
                        double by = e ? -1.0 : 1.0;
                        int64_t to;
                        if (channel == 2) {
                            if (j->context[row] < 0) break;
                            to = j->ties + j->context[row];
                        } else {
                            to = j->column[row * j->entries + e] + (channel ? j->axis : 0);
                            if (!channel && j->value) by = j->value[row * j->entries + e];
                        }
                        double *at = out + 4 * to;
                        at[0] += by * force[r];
                        at[1] += by * by * curve[row];
                        at[2] += by * by * loose[r];
                        at[3] += by * along[r];
                    }
                }
            }
        }
    }
}

/* What a change of the unknowns moves n rows by: gaps, axis, readiness. */
PART void moves(const Pulls *j, int64_t from, int n, const float *v, float *gap, float *axis, float *tie)
{
    const int32_t *column = j->column + from * j->entries;
    if (!j->value) {
        for (int r = 0; r < n; r++) gap[r] = v[column[2 * r]] - v[column[2 * r + 1]];
    } else {
        const double *value = j->value + from * j->entries;
        const int entries = (int)j->entries;
        for (int r = 0; r < n; r++) {
            double sum = 0.0;
            for (int e = 0; e < entries; e++) sum += value[r * entries + e] * v[column[r * entries + e]];
            gap[r] = (float)sum;
        }
    }
    if (j->axis >= 0)
        for (int r = 0; r < n; r++)
            axis[r] = v[j->axis + column[r * j->entries]] - v[j->axis + column[r * j->entries + 1]];
    if (j->ties >= 0)
        for (int r = 0; r < n; r++) {
            const int32_t c = j->context[from + r];
            tie[r] = c < 0 ? 0.0f : v[j->ties + c];
        }
}

/* Add what flows through n rows to the unknowns. */
PART void scatter(const Pulls *j, int64_t from, int n, const float *gap, const float *axis,
                  const float *tie, double *out)
{
    const int32_t *column = j->column + from * j->entries;
    if (!j->value) {
        for (int r = 0; r < n; r++) {
            out[column[2 * r]] += gap[r];
            out[column[2 * r + 1]] -= gap[r];
        }
    } else {
        const double *value = j->value + from * j->entries;
        const int entries = (int)j->entries;
        for (int r = 0; r < n; r++)
            for (int e = 0; e < entries; e++) out[column[r * entries + e]] += value[r * entries + e] * gap[r];
    }
    if (j->axis >= 0)
        for (int r = 0; r < n; r++) {
            out[j->axis + column[r * j->entries]] += axis[r];
            out[j->axis + column[r * j->entries + 1]] -= axis[r];
        }
    if (j->ties >= 0)
        for (int r = 0; r < n; r++)
            if (j->context[from + r] >= 0) out[j->ties + j->context[from + r]] += tie[r];
}

/* out += (sum of expected curvatures - sum_u Cov_k(g_uk)) v, but for the prior of the means. */
void aggcal_general_product(const Pulls *j, int64_t first, int64_t last, const float *v, double *out)
{
    const int all = (int)(j->each * j->halves), kept = j->axis < 0 && j->ties < 0 ? KEPT : WIDE;
    float gaps[KEPT], axis[WIDE], tie[WIDE], flow[3][WIDE];
    for (int64_t u = first; u < last; u++) {
        const int64_t lo = j->starts[u], hi = j->starts[u + 1];
        const Nodes nodes = nodes_of(j, u);
        double pulled[MOST_NODES], factor[3][MOST_NODES], mean = 0.0;
        for (int s = 0; s < nodes.count; s++) {
            pulled[s] = 0.0;
            for (int64_t i = 0; i < j->means; i++)
                pulled[s] += j->mean_pull[(u * all + nodes.which[s]) * j->means + i] * v[j->at_means + i];
        }
        for (int64_t from = lo; from < hi; from += WIDE) {
            const int n = (int)(hi - from < WIDE ? hi - from : WIDE);
            float *gap = hi - lo > kept ? gaps : gaps + (from - lo);
            moves(j, from, n, v, gap, axis, tie);
            for (int s = 0; s < nodes.count; s++) {
                const float *pull = nodes.pull[s] + (from - lo);
                pulled[s] += nodes.gap[s] * dot_of_floats(pull, gap, n);
                if (j->axis >= 0) pulled[s] += nodes.axis[s] * dot_of_floats(pull, axis, n);
                if (j->ties >= 0) pulled[s] += dot_of_floats(nodes.tie[s] + (from - lo), tie, n);
            }
        }
        for (int s = 0; s < nodes.count; s++) mean += j->chance[u * all + nodes.which[s]] * pulled[s];
        for (int s = 0; s < nodes.count; s++) {
            const int64_t at = u * all + nodes.which[s];
            const double off = -j->chance[at] * (pulled[s] - mean);
            factor[0][s] = off * nodes.gap[s];
            factor[1][s] = off * nodes.axis[s];
            factor[2][s] = off;
            for (int64_t i = 0; i < j->means; i++)
                out[j->at_means + i] += off * j->mean_pull[at * j->means + i];
        }
        for (int64_t from = lo; from < hi; from += WIDE) {
            const int n = (int)(hi - from < WIDE ? hi - from : WIDE);
            const float *const *curve = j->curve;
            float *gap = hi - lo > kept ? gaps : gaps + (from - lo);
            if (hi - lo > kept) moves(j, from, n, v, gap, axis, tie);
            mixed(&nodes, nodes.pull, factor[0], from - lo, n, flow[0]);
            for (int r = 0; r < n; r++) flow[0][r] += curve[GAP_GAP][from + r] * gap[r];
            if (j->axis >= 0) {
                mixed(&nodes, nodes.pull, factor[1], from - lo, n, flow[1]);
                for (int r = 0; r < n; r++) {
                    flow[0][r] += curve[GAP_AXIS][from + r] * axis[r];
                    flow[1][r] += curve[GAP_AXIS][from + r] * gap[r] + curve[AXIS_AXIS][from + r] * axis[r];
                }
            }
            if (j->ties >= 0) {
                mixed(&nodes, nodes.tie, factor[2], from - lo, n, flow[2]);
                for (int r = 0; r < n; r++) {
                    flow[0][r] += curve[GAP_TIE][from + r] * tie[r];
                    flow[2][r] += curve[GAP_TIE][from + r] * gap[r] + curve[TIE_TIE][from + r] * tie[r];
                }
                if (j->axis >= 0)
                    for (int r = 0; r < n; r++) {
                        flow[1][r] += curve[AXIS_TIE][from + r] * tie[r];
                        flow[2][r] += curve[AXIS_TIE][from + r] * axis[r];
                    }
            }
            scatter(j, from, n, flow[0], flow[1], flow[2], out);
        }
    }
}

/* b = sum_k weight[u, k] g_uk of one annotator, added to the unknowns. */
PART void add_border(const Pulls *j, int64_t u, const double *weight, double *out)
{
    const int all = (int)(j->each * j->halves);
    const int64_t lo = j->starts[u], hi = j->starts[u + 1];
    const Nodes nodes = nodes_of(j, u);
    double factor[3][MOST_NODES];
    float flow[3][WIDE];
    for (int s = 0; s < nodes.count; s++) {
        const int64_t at = u * all + nodes.which[s];
        factor[0][s] = weight[at] * nodes.gap[s];
        factor[1][s] = weight[at] * nodes.axis[s];
        factor[2][s] = weight[at];
        for (int64_t i = 0; i < j->means; i++)
            out[j->at_means + i] += weight[at] * j->mean_pull[at * j->means + i];
    }
    for (int64_t from = lo; from < hi; from += WIDE) {
        const int n = (int)(hi - from < WIDE ? hi - from : WIDE);
        mixed(&nodes, nodes.pull, factor[0], from - lo, n, flow[0]);
        if (j->axis >= 0) mixed(&nodes, nodes.pull, factor[1], from - lo, n, flow[1]);
        if (j->ties >= 0) mixed(&nodes, nodes.tie, factor[2], from - lo, n, flow[2]);
        scatter(j, from, n, flow[0], flow[1], flow[2], out);
    }
}

/* Those borders as a table, annotators first to last by size unknowns, all zero before. */
void aggcal_general_borders(const Pulls *j, int64_t first, int64_t last, int64_t size,
                          const double *weight, double *table)
{
    for (int64_t u = first; u < last; u++) add_border(j, u, weight, table + (u - first) * size);
}

/* The unknowns that an annotator's rows touch, each once; seen is all zero, and so again afterwards. */
PART int32_t touched_by(const Pulls *j, int64_t u, uint8_t *seen, int32_t *touched)
{
    int32_t count = 0;
    for (int64_t row = j->starts[u]; row < j->starts[u + 1]; row++) {
        for (int64_t e = 0; e < j->entries; e++) {
            const int32_t i = j->column[row * j->entries + e];
            if (!seen[i]) touched[count++] = i;
            seen[i] = 1;
        }
        for (int e = 0; j->axis >= 0 && e < 2; e++) {
            const int32_t i = (int32_t)j->axis + j->column[row * j->entries + e];
            if (!seen[i]) touched[count++] = i;
            seen[i] = 1;
        }
        if (j->ties >= 0 && j->context[row] >= 0) {
            const int32_t i = (int32_t)j->ties + j->context[row];
            if (!seen[i]) touched[count++] = i;
            seen[i] = 1;
        }
    }
    for (int64_t i = 0; i < j->means; i++) touched[count++] = (int32_t)(j->at_means + i);
    for (int32_t s = 0; s < count; s++) seen[touched[s]] = 0;
    return count;
}

/* The same where C is diagonal and a row only has its gap, of two items. each is room for numbers of
 * every unknown next to each other, so that it is looked up once: what is held of each of several
 * vectors, zero, and then the diagonal and x. */
PART void forms_of_pairs(const Pulls *j, int64_t u, int64_t annotators, int several,
                         const double *weight, double *each, double *square, double *along)
{
    const int64_t lo = j->starts[u], hi = j->starts[u + 1], all = j->each * j->halves;
    const int wide = several + 2;
    const Nodes nodes = nodes_of(j, u);
    double factor[SEVERAL][MOST_NODES], form[SEVERAL] = {0.0}, product[SEVERAL] = {0.0};
    float flow[SEVERAL][WIDE];
    for (int t = 0; t < several; t++)
        for (int s = 0; s < nodes.count; s++) {
            const int64_t at = u * all + nodes.which[s];
            const double by = weight[t * annotators * all + at];
            factor[t][s] = by * nodes.gap[s];
            for (int64_t i = 0; i < j->means; i++)
                each[wide * (j->at_means + i) + t] += by * j->mean_pull[at * j->means + i];
        }
    for (int64_t from = lo; from < hi; from += WIDE) {
        const int n = (int)(hi - from < WIDE ? hi - from : WIDE);
        const int32_t *column = j->column + 2 * from;
        for (int t = 0; t < several; t++) mixed(&nodes, nodes.pull, factor[t], from - lo, n, flow[t]);
        for (int r = 0; r < n; r++) {
            double *left = each + (int64_t)wide * column[2 * r];
            double *right = each + (int64_t)wide * column[2 * r + 1];
            for (int t = 0; t < several; t++) left[t] += flow[t][r];
            for (int t = 0; t < several; t++) right[t] -= flow[t][r];
        }
    }
    for (int64_t k = 2 * lo; k < 2 * hi + j->means; k++) {
        /* An item that comes again has nothing left the second time. */
        const int64_t i = k < 2 * hi ? j->column[k] : j->at_means + (k - 2 * hi);
        double *mine = each + wide * i;
        for (int t = 0; t < several; t++) {
            form[t] += mine[t] * mine[t] * mine[several];
            product[t] += mine[t] * mine[several + 1];
            mine[t] = 0.0;
        }
    }
    for (int t = 0; t < several; t++) {
        square[t * annotators + u] = form[t];
        along[t * annotators + u] = product[t];
    }
}

/* square[u] = b'Cb and along[u] = b'x with b as above, C diagonal. held is room for (several + 2) *
 * size numbers, all zero, seen for size, all zero, touched for size. There may be several weights,
 * squares and alongs, those of all annotators after each other. */
void aggcal_general_forms(const Pulls *j, int64_t first, int64_t last, int64_t annotators,
                          int64_t several, int64_t size, const double *weight,
                          const double *diagonal, const double *x, double *held, uint8_t *seen,
                          int32_t *touched, double *square, double *along)
{
    if (!j->value && j->axis < 0 && j->ties < 0 && several <= SEVERAL) {
        for (int64_t i = 0; i < size; i++) {
            held[(several + 2) * i + several] = diagonal[i];
            held[(several + 2) * i + several + 1] = x[i];
        }
        for (int64_t u = first; u < last; u++)
            forms_of_pairs(j, u, annotators, (int)several, weight, held, square, along);
        return;
    }
    for (int64_t u = first; u < last; u++) {
        const int32_t count = touched_by(j, u, seen, touched);
        for (int64_t k = 0; k < several; k++) {
            double product = 0.0, own = 0.0;
            add_border(j, u, weight + k * annotators * j->each * j->halves, held);
            for (int32_t s = 0; s < count; s++) {
                const double b = held[touched[s]];
                held[touched[s]] = 0.0;
                product += b * x[touched[s]];
                own += b * b * diagonal[touched[s]];
            }
            along[k * annotators + u] = product;
            square[k * annotators + u] = own;
        }
    }
}

/* Put unknowns in order; bits is room for a bit of each, all zero, and so again afterwards. */
PART void put_in_order(int32_t count, int64_t size, int32_t *touched, uint64_t *bits)
{
    int32_t s = 0;
    for (int32_t t = 0; t < count; t++) bits[touched[t] / 64] |= (uint64_t)1 << (touched[t] % 64);
    for (int64_t k = 0; k <= size / 64; k++) {
        for (uint64_t left = bits[k]; left; left &= left - 1)
            touched[s++] = (int32_t)(64 * k + __builtin_ctzll(left));
        bits[k] = 0;
    }
}

/* Write the borders b of annotators first to last, packed: how many unknowns each touches, which, in
 * order, and b of each of several weights, a row of most numbers each; along[u] = b'x. Returns how
 * many there are. held, seen and bits are all zero, and so again afterwards. */
int64_t aggcal_general_packed(const Pulls *j, int64_t first, int64_t last, int64_t annotators,
                              int64_t several, int64_t size, int64_t most, const double *weight,
                              const double *x, double *held, uint8_t *seen, uint64_t *bits,
                              int32_t *number, int32_t *item, double *value, double *along)
{
    int64_t total = 0;
    for (int64_t u = first; u < last; u++) {
        int32_t *mine = item + total;
        const int32_t count = touched_by(j, u, seen, mine);
        put_in_order(count, size, mine, bits);
        for (int64_t k = 0; k < several; k++) {
            double product = 0.0, *b = value + k * most + total;
            add_border(j, u, weight + k * annotators * j->each * j->halves, held);
            for (int32_t s = 0; s < count; s++) {
                b[s] = held[mine[s]];
                held[mine[s]] = 0.0;
                product += b[s] * x[mine[s]];
            }
            along[k * annotators + u] = product;
        }
        number[u - first] = count;
        total += count;
    }
    return total;
}

/* Write vectors v of annotators first to last with sum v v' = Cov_k(g_uk), packed: how many unknowns
 * each touches, which, in order, how many vectors there are, and these, one after the other. Those
 * of an annotator begin at `wide` times the number of unknowns before. Returns how many unknowns
 * there are. held, seen and bits are all zero, and so again afterwards; weight is room for a number
 * of each annotator and node.
 *
 * With p the chances of K nodes, the columns m_k = sqrt(p_k) (g_k - mean) are dependent: their sum
 * with factors sqrt(p_k) is zero. A reflection that turns those factors to the first axis leaves
 * K - 1 columns of the same products. */
int64_t aggcal_general_roots(const Pulls *j, int64_t first, int64_t last, int64_t size,
                             int64_t wide, double *held, uint8_t *seen, uint64_t *bits,
                             double *weight, int32_t *number, int32_t *rank, int32_t *item,
                             double *value)
{
    const int all = (int)(j->each * j->halves);
    int64_t total = 0;
    for (int64_t u = first; u < last; u++) {
        const double *p = j->chance + u * all;
        int32_t *mine = item + total;
        const int32_t count = touched_by(j, u, seen, mine);
        double *border = value + wide * total, root[MOST_NODES], chance[MOST_NODES], norm = 0.0;
        int nodes = 0;
        put_in_order(count, size, mine, bits);
        for (int k = 0; k < all; k++) {
            if (p[k] == 0.0) continue;
            for (int t = 0; t < all; t++) weight[u * all + t] = t == k;
            add_border(j, u, weight, held);
            for (int32_t s = 0; s < count; s++) {
                border[(int64_t)nodes * count + s] = held[mine[s]];
                held[mine[s]] = 0.0;
            }
            norm += p[k];
            chance[nodes] = p[k];
            root[nodes++] = sqrt(p[k]);
        }
        norm = sqrt(norm);
        const double over = 1.0 / (norm * (norm + root[0]));
        for (int32_t s = 0; s < count; s++) {
            double *g = border + s, mean = 0.0, column[MOST_NODES];
            for (int k = 0; k < nodes; k++) mean += chance[k] * g[(int64_t)k * count];
            for (int k = 0; k < nodes; k++) column[k] = root[k] * (g[(int64_t)k * count] - mean);
            double along = norm * column[0];
            for (int k = 0; k < nodes; k++) along += root[k] * column[k];
            along *= over;
            for (int k = 1; k < nodes; k++)
                g[(int64_t)(k - 1) * count] = column[k] - along * root[k];
        }
        rank[u - first] = nodes - 1;
        number[u - first] = count;
        total += count;
    }
    return total;
}

/* gap = Z x of rows first to last; value is NULL where a row has two entries, 1 and -1. */
void aggcal_general_gaps(int64_t first, int64_t last, int64_t entries, const int32_t *column,
                         const double *value, const double *x, double *gap)
{
    for (int64_t row = first; row < last; row++) {
        const int32_t *at = column + row * entries;
        double sum = 0.0;
        if (!value) sum = x[at[0]] - x[at[1]];
        for (int64_t e = 0; value && e < entries; e++) sum += value[row * entries + e] * x[at[e]];
        gap[row] = sum;
    }
}

/* The sd of each row's gap, of unknowns with these variances, at most cap. */
void aggcal_general_row_sds(int64_t first, int64_t last, int64_t entries, const int32_t *column,
                            const double *value, const double *variance, double cap, float *out)
{
    for (int64_t row = first; row < last; row++) {
        const int32_t *at = column + row * entries;
        double sum = 0.0;
        if (!value) sum = variance[at[0]] + variance[at[1]];
        for (int64_t e = 0; value && e < entries; e++) {
            const double by = value[row * entries + e];
            sum += by * by * variance[at[e]];
        }
        const double sd = sqrt(sum > 0.0 ? sum : 0.0);
        out[row] = (float)(sd < cap ? sd : cap);
    }
}
