/* Isotonic regression: pool adjacent violators in one sweep (Busing 2022, Algorithm 1, with >= for >
 * so that equal neighbours are one block). The sums are those of SciPy, term by term: the same bits. */
#include <stdint.h>

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
