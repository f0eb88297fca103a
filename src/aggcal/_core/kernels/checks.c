/* What a check of a study sums over all rows, by the logistic link.
 *
 * Rows are sorted by annotator; annotator u's are rows starts[u] to starts[u + 1], and each is
 * summed by one thread, in its order. Rows are worked on in chunks that stay in cache. */
#include "shared.h"

#define CHUNK 1024

/* F of the logistic link. */
PART double logistic(double x)
{
    const double e = exp_minus(fabs(x));
    return (x >= 0.0 ? 1.0 : e) / (1.0 + e);
}

/* Sum of log(1 + number * small), number 0 or 1, small at most 1. One logarithm for many rows: each
 * factor is at most 2. Products side by side, because each step of one waits for the last. */
PART double log_product(const double *number, const double *small, int n)
{
    double total = 0.0;
    for (int from = 0; from < n; from += 512) {
        const int to = from + 512 < n ? from + 512 : n;
        double product[4] = {1.0, 1.0, 1.0, 1.0};
        int k = from;
        for (; k + 4 <= to; k += 4)
            for (int lane = 0; lane < 4; lane++)
                product[lane] *= 1.0 + number[k + lane] * small[k + lane];
        for (; k < to; k++) product[0] *= 1.0 + number[k] * small[k];
        total += log((product[0] * product[1]) * (product[2] * product[3]));
    }
    return total;
}

/* The sum of number * log(1 + e^(-slope * size)) of each annotator (row) at each slope (column). */
void aggcal_slope_losses(int64_t first, int64_t last, const int64_t *starts, const double *size,
                         const double *number, int64_t slopes, const double *slope, double *out)
{
    double small[CHUNK];
    for (int64_t u = first; u < last; u++) {
        double *sums = out + u * slopes;
        for (int64_t s = 0; s < slopes; s++) sums[s] = 0.0;
        for (int64_t from = starts[u]; from < starts[u + 1]; from += CHUNK) {
            const int64_t left = starts[u + 1] - from;
            const int n = (int)(left < CHUNK ? left : CHUNK);
            const double *w = number + from;
            int once = 1;
            for (int k = 0; k < n; k++) once &= w[k] == 0.0 || w[k] == 1.0;
            for (int64_t s = 0; s < slopes; s++) {
                const double by = slope[s];
                for (int k = 0; k < n; k++) small[k] = exp_minus(by * size[from + k]);
                if (once) {
                    sums[s] += log_product(w, small, n);
                } else {
                    for (int k = 0; k < n; k++) small[k] = log_one_plus(small[k]);
                    sums[s] += dot(w, small, n);
                }
            }
        }
    }
}

/* Of each annotator, with p = F(offset + shift of the annotator): the sums of number * (y - p) and
 * of number * p * (1 - p). */
void aggcal_shifted(int64_t first, int64_t last, const int64_t *starts, const double *offset,
                    const double *y, const double *number, const double *shift, double *pull,
                    double *curve)
{
    double off[CHUNK], doubt[CHUNK];
    for (int64_t u = first; u < last; u++) {
        const double by = shift[u];
        pull[u] = curve[u] = 0.0;
        for (int64_t from = starts[u]; from < starts[u + 1]; from += CHUNK) {
            const int64_t left = starts[u + 1] - from;
            const int n = (int)(left < CHUNK ? left : CHUNK);
            for (int k = 0; k < n; k++) doubt[k] = logistic(offset[from + k] + by);
            for (int k = 0; k < n; k++) off[k] = y[from + k] - doubt[k];
            for (int k = 0; k < n; k++) doubt[k] *= 1.0 - doubt[k];
            pull[u] += dot(number + from, off, n);
            curve[u] += dot(number + from, doubt, n);
        }
    }
}

/* How far the answers of some annotators agree, expected at each slope and for each set of scores:
 * with p = F(slope * real), real the gap that the others see, from the side that they prefer, plus
 * what errors of the scores make of it, the sums of number * size * (p - 1/2) and of
 * number * size^2 * p * (1 - p). The errors of an item, one for each set, lie side by side; there
 * are at most SETS of them. Found are tables of whom by slopes by sets. */
#define SETS 64
void aggcal_agreeing(int64_t first, int64_t last, const int64_t *who, const int64_t *starts,
                     const int32_t *left, const int32_t *right, const double *gap,
                     const double *number, const double *size, int64_t sets, const double *errors,
                     const double *wider, int64_t slopes, const double *slope, double *mean,
                     double *variance)
{
    double real[SETS], p[SETS];
    const int n = (int)sets;
    for (int64_t at = first; at < last; at++) {
        const int64_t u = who[at];
        const double wide = wider[u];
        double *means = mean + at * slopes * sets, *variances = variance + at * slopes * sets;
        for (int64_t k = 0; k < slopes * sets; k++) means[k] = variances[k] = 0.0;
        for (int64_t row = starts[u]; row < starts[u + 1]; row++) {
            const double *one = errors + left[row] * sets, *other = errors + right[row] * sets;
            const double w = number[row] * size[row], q = w * size[row];
            const double side = gap[row] >= 0.0 ? 1.0 : -1.0;
            for (int d = 0; d < n; d++) real[d] = side * (gap[row] + wide * (one[d] - other[d]));
            for (int64_t s = 0; s < slopes; s++) {
                double *m = means + s * sets, *v = variances + s * sets;
                const double by = slope[s];
                for (int d = 0; d < n; d++) p[d] = logistic(by * real[d]);
                for (int d = 0; d < n; d++) m[d] += w * (p[d] - 0.5);
                for (int d = 0; d < n; d++) v[d] += q * (p[d] * (1.0 - p[d]));
            }
        }
    }
}
