/* Sums over the pairs of items that each annotator saw: columns of a sparse matrix of items by
 * annotators, from starts[u] to starts[u + 1], sorted by item. */
#include "shared.h"

/* Add w_u g_u g_u' for every column to the rows begin to end of a lower triangle of n by n. */
void aggcal_border_square(int64_t begin, int64_t end, int64_t columns, int64_t n,
                          const int32_t *starts, const int32_t *item, const double *value,
                          const double *weight, double *square)
{
    for (int64_t u = 0; u < columns; u++) {
        for (int32_t a = starts[u]; a < starts[u + 1] && item[a] < end; a++) {
            if (item[a] < begin) continue;
            double *row = square + item[a] * n;
            const double mine = weight[u] * value[a];
            for (int32_t b = starts[u]; b <= a; b++) row[item[b]] += mine * value[b];
        }
    }
}

/* Write g_u' C g_u for the columns begin to end, C symmetric. */
void aggcal_border_forms(int64_t begin, int64_t end, int64_t n, const int32_t *starts,
                         const int32_t *item, const double *value, const double *covariance,
                         double *form)
{
    for (int64_t u = begin; u < end; u++) {
        double total = 0.0;
        for (int32_t a = starts[u]; a < starts[u + 1]; a++) {
            const double *row = covariance + item[a] * n;
            double one = 0.0, other = 0.0;
            int32_t b = starts[u];
            for (; b + 1 < a; b += 2) {
                one += row[item[b]] * value[b];
                other += row[item[b + 1]] * value[b + 1];
            }
            if (b < a) one += row[item[b]] * value[b];
            total += value[a] * (2.0 * (one + other) + row[item[a]] * value[a]);
        }
        form[u] = total;
    }
}
