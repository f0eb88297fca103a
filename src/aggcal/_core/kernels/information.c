/* What each row adds to the Fisher information of the logistic link. */
#include "shared.h"

#define CHUNK 1024

/* Of rows lo to lo + n of an annotator with slope g: the gaps d, and the curvatures c times weight. */
PART void curvatures(int64_t lo, int n, const int32_t *winner, const int32_t *loser,
                     const double *weight, const double *scores, double g, double *gap,
                     double *curve)
{
    for (int k = 0; k < n; k++) gap[k] = scores[winner[lo + k]] - scores[loser[lo + k]];
    for (int k = 0; k < n; k++) {
        const double e = exp_minus(fabs(g * gap[k])), r = 1.0 / (1.0 + e);
        curve[k] = e * r * r;
    }
    if (weight)
        for (int k = 0; k < n; k++) curve[k] *= weight[lo + k];
}

/* Over annotators first to last, at slopes g: near = g^2 c and cross = g d c of each row, and the sum
 * of d^2 c added to each annotator's inner. cross is NULL without reliabilities, inner where it is
 * not asked for; weight is NULL where each is 1. */
#define INFORMATION(name, number)                                                                  \
    void name(int64_t first, int64_t last, const int32_t *winner, const int32_t *loser,            \
              const double *weight, const int64_t *starts, const double *scores,                   \
              const double *slope, number *near, number *cross, double *inner)                     \
    {                                                                                              \
        double gap[CHUNK], curve[CHUNK];                                                           \
        for (int64_t u = first; u < last; u++) {                                                   \
            const double g = slope[u];                                                             \
            double total = 0.0;                                                                    \
            for (int64_t lo = starts[u]; lo < starts[u + 1]; lo += CHUNK) {                        \
                const int n = (int)(starts[u + 1] - lo < CHUNK ? starts[u + 1] - lo : CHUNK);      \
                curvatures(lo, n, winner, loser, weight, scores, g, gap, curve);                   \
                for (int k = 0; k < n; k++) near[lo + k] = (number)(g * g * curve[k]);             \
                if (!cross) continue;                                                              \
                for (int k = 0; k < n; k++) {                                                      \
                    curve[k] *= gap[k];                                                            \
                    cross[lo + k] = (number)(g * curve[k]);                                        \
                }                                                                                  \
                total += dot(gap, curve, n);                                                       \
            }                                                                                      \
            if (inner) inner[u] += total;                                                          \
        }                                                                                          \
    }

INFORMATION(aggcal_information, float)
INFORMATION(aggcal_information_exact, double)
