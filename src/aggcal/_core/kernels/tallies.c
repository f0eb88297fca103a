/* What judgments add up to, item by item, in one sweep. */
#include "shared.h"

#define LANES 5
#define CHUNK 512

/* Add each item's five sums: what it won and lost on the left, what it won and lost on the right, by
 * weight, and how many judgments it is part of. Returns how many judgments are ties. weight and count
 * may be NULL: each row then weighs heavy, and stands often times. */
int64_t aggcal_tallies(int64_t n, const int32_t *left, const int32_t *right, const double *outcome,
                       const double *weight, double heavy, const int64_t *count, int64_t often,
                       double *sums)
{
    int64_t ties = 0;
    /* Products are stored before they are added, so that they are rounded as NumPy rounds them. */
    double ahead[CHUNK], behind[CHUNK];
    for (int64_t from = 0; from < n; from += CHUNK) {
        const int size = (int)(n - from < CHUNK ? n - from : CHUNK);
        for (int k = 0; k < size; k++) {
            const double w = weight ? weight[from + k] : heavy, share = outcome[from + k];
            ahead[k] = w * share;
            behind[k] = w * (1.0 - share);
        }
        for (int k = 0; k < size; k++) {
            const int64_t times = count ? count[from + k] : often;
            double *one = sums + (int64_t)LANES * left[from + k];
            double *other = sums + (int64_t)LANES * right[from + k];
            one[0] += ahead[k];
            one[1] += behind[k];
            one[4] += (double)times;
            other[2] += behind[k];
            other[3] += ahead[k];
            other[4] += (double)times;
            ties += outcome[from + k] == 0.5 ? times : 0;
        }
    }
    return ties;
}
