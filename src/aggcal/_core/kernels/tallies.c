/* What judgments add up to, item by item, in one sweep. */
#include "shared.h"

#define LANES 5
#define CHUNK 512

/* Add each item's five sums: what it won and lost on the left, what it won and lost on the right, by
 * weight, and how many judgments it is part of; and each annotator's three, from that of the first
 * row on: judgments, those that are no ties, and those for the left side. weight and count may be
 * NULL: each row then weighs heavy, and stands often times. Returns 1; 0 where a row is of none of
 * these people. */
int aggcal_tallies(int64_t n, const int32_t *annotator, const int32_t *left, const int32_t *right,
                   const double *outcome, const double *weight, double heavy,
                   const int64_t *count, int64_t often, int64_t people, double *sums, int64_t *own)
{
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
            const int64_t row = from + k, times = count ? count[row] : often;
            double *one = sums + (int64_t)LANES * left[row];
            double *other = sums + (int64_t)LANES * right[row];
            const int64_t who = (int64_t)annotator[row] - annotator[0];
            if (who < 0 || who >= people) return 0;
            int64_t *mine = own + 3 * who;
            one[0] += ahead[k];
            one[1] += behind[k];
            one[4] += (double)times;
            other[2] += behind[k];
            other[3] += ahead[k];
            other[4] += (double)times;
            mine[0] += times;
            mine[1] += outcome[row] == 0.5 ? 0 : times;
            mine[2] += outcome[row] > 0.5 ? times : 0;
        }
    }
    return 1;
}

/* Count the different items that each of some annotators met; last is room for a number per item,
 * all -1. */
void aggcal_met(int64_t people, const int64_t *who, const int64_t *starts, const int32_t *left,
                const int32_t *right, int32_t *last, int64_t *met)
{
    for (int64_t k = 0; k < people; k++) {
        int64_t number = 0;
        for (int64_t row = starts[who[k]]; row < starts[who[k] + 1]; row++) {
            number += last[left[row]] != (int32_t)k;
            last[left[row]] = (int32_t)k;
            number += last[right[row]] != (int32_t)k;
            last[right[row]] = (int32_t)k;
        }
        met[k] = number;
    }
}
