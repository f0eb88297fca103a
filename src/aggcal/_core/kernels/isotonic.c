/* Isotonic regression: pool adjacent violators in one sweep (Busing 2022, Algorithm 1, with >= for >
 * so that equal neighbours are one block). The sums are those of SciPy, term by term: the same bits. */
#include "sorting.h"
#include <stdint.h>
#include <stdlib.h>

/* SciPy is compiled for x86-64 without fused products, so that ours must not be fused either; for
 * other processors both are as the compiler has it. */
#if defined(__x86_64__) && defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__x86_64__) && defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

/* values and weights become the fitted values and the weights of the blocks; starts, of n + 1
 * numbers, where each block begins, then n. Returns the number of blocks. */
int64_t aggcal_isotonic(int64_t n, double *values, double *weights, int64_t *starts)
{
    int64_t block = 0, i, k, end;
    double before = values[0], before_weight = weights[0];
    starts[0] = 0;
    starts[1] = 1;
    for (i = 1; i < n; i++) {
        double mean = values[i], weight = weights[i], sum;
        block++;
        if (before >= mean) {
            block--;
            sum = before_weight * before + weight * mean;
            weight += before_weight;
            mean = sum / weight;
            while (i < n - 1 && mean >= values[i + 1]) {
                i++;
                sum += weights[i] * values[i];
                weight += weights[i];
                mean = sum / weight;
            }
            while (block > 0 && values[block - 1] >= mean) {
                block--;
                sum += weights[block] * values[block];
                weight += weights[block];
                mean = sum / weight;
            }
        }
        values[block] = before = mean;
        weights[block] = before_weight = weight;
        starts[block + 1] = i + 1;
    }
    for (k = block, end = n; k >= 0; end = starts[k], k--) {
        double mean = values[k];
        for (i = starts[k]; i < end; i++)
            values[i] = mean;
    }
    return block + 1;
}

/* Project rows of n values onto the order of their heights; a row of either is so many numbers after
 * the one before, 0 where all rows share one. Returns 1; 0 where two heights of a row are equal or
 * one is no number, or there is no memory. */
int aggcal_projected_rows(int64_t rows, int64_t n, const double *heights, int64_t next_heights,
                          const double *values, int64_t next_values, const double *weights,
                          double *found)
{
    Desk desk;
    if (!aggcal_desk(&desk, n)) return 0;
    double *value = malloc((size_t)n * sizeof *value), *weight = malloc((size_t)n * sizeof *weight);
    int64_t *starts = malloc((size_t)(n + 1) * sizeof *starts);
    int done = value && weight && starts;
    for (int64_t row = 0; done && row < rows; row++) {
        if (row == 0 || next_heights) {
            for (int64_t k = 0; k < n; k++) {
                desk.entry[k].value = heights[row * next_heights + k];
                desk.entry[k].at = k;
                done &= desk.entry[k].value == desk.entry[k].value;
            }
            if (!done) break;
            aggcal_sort_desk(&desk, n);
            for (int64_t k = 1; k < n; k++) done &= desk.entry[k].value != desk.entry[k - 1].value;
        }
        for (int64_t k = 0; k < n; k++) {
            value[k] = values[row * next_values + desk.entry[k].at];
            weight[k] = weights[desk.entry[k].at];
        }
        aggcal_isotonic(n, value, weight, starts);
        for (int64_t k = 0; k < n; k++) found[row * n + desk.entry[k].at] = value[k];
    }
    free(value);
    free(weight);
    free(starts);
    aggcal_free_desk(&desk);
    return done;
}
