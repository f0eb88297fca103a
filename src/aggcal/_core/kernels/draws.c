/* Draws of all scores: the shape of their distribution, scores that follow it, and their ranks. */
#include "shared.h"
#include "sorting.h"

#define ROWS 4      /* items of a step at a time: sums are loaded and stored once for all */
#define LANES 8     /* items of a draw at a time: those of one cache line */
#define ENTRIES 256 /* of the table that tells where in a distribution to begin to look */

typedef float Four __attribute__((vector_size(16), aligned(4)));

/* One over the sum of eight numbers. */
PART float over(Four even, Four odd)
{
    const Four both = even + odd;
    const float sum = (both[0] + both[1]) + (both[2] + both[3]);
    return 1.0f / (sum > 1e-30f ? sum : 1e-30f);
}

/* Steps of the likeliest distribution on a grid (expectation and maximisation). likelihood has a row
 * for each item and prior, pull and weight a number for each point; there are a multiple of ROWS
 * items and of 8 points, filled up with zeros. pull is what the prior of the shape adds at each
 * step, total the items and what it counts as, weight is room. */
void aggcal_shape_steps(int64_t items, int64_t points, int64_t steps, const float *likelihood,
                        const float *pull, float total, float *prior, float *weight)
{
    const int64_t fours = points / 4;
    const Four *at = (const Four *)prior;
    Four *sum = (Four *)weight;
    for (int64_t step = 0; step < steps; step++) {
        memset(weight, 0, (size_t)points * sizeof *weight);
        for (int64_t i = 0; i < items; i += ROWS) {
            const Four *a = (const Four *)(likelihood + i * points), *b = a + fours,
                       *c = b + fours, *d = c + fours;
            Four even[ROWS] = {{0.0f}}, odd[ROWS] = {{0.0f}};
            for (int64_t k = 0; k < fours; k += 2) {
                const Four one = at[k], other = at[k + 1];
                even[0] += one * a[k];
                even[1] += one * b[k];
                even[2] += one * c[k];
                even[3] += one * d[k];
                odd[0] += other * a[k + 1];
                odd[1] += other * b[k + 1];
                odd[2] += other * c[k + 1];
                odd[3] += other * d[k + 1];
            }
            const float first = over(even[0], odd[0]), second = over(even[1], odd[1]),
                        third = over(even[2], odd[2]), fourth = over(even[3], odd[3]);
            for (int64_t k = 0; k < fours; k++)
                sum[k] += (first * a[k] + second * b[k]) + (third * c[k] + fourth * d[k]);
        }
        for (int64_t k = 0; k < points; k++) prior[k] = (prior[k] * weight[k] + pull[k]) / total;
    }
}

/* The normal distribution at x, to a relative error of 1.2e-7 on either side (the Chebyshev fit of
 * erfc in Press et al., Numerical Recipes, section 6.2); vectorises. */
PART double normal_below(double x)
{
    const double z = 0.70710678118654752 * (x < 0.0 ? -x : x), t = 1.0 / (1.0 + 0.5 * z);
    const double power =
        z * z + 1.26551223 -
        t * (1.00002368 +
             t * (0.37409196 +
                  t * (0.09678418 +
                       t * (-0.18628806 +
                            t * (0.27886807 +
                                 t * (-1.13520398 +
                                      t * (1.48851587 + t * (-0.82215223 + t * 0.17087277))))))));
    const double tail = 0.5 * t * exp_minus(power);
    return x < 0.0 ? tail : 1.0 - tail;
}

/* Turn deviations of items begin to end, a row a draw, into scores that follow their own
 * distributions: below, of points + 1 numbers each, from 0 to 1 at the edges, which begin at first
 * and are step apart. Those of sharp items are added to their scores. */
void aggcal_shaped(int64_t begin, int64_t end, int64_t items, int64_t draws, int64_t points,
                   const double *apart, const double *scores, const double *sd,
                   const uint8_t *sharp, const double *below, double first, double step,
                   double *drawn)
{
    for (int64_t block = begin; block < end; block += LANES) {
        const int64_t own = end - block < LANES ? end - block : LANES;
        uint16_t table[LANES][ENTRIES];
        double narrow[LANES] = {0.0};
        for (int64_t lane = 0; lane < own; lane++) {
            const double *mine = below + (block + lane) * (points + 1);
            int64_t k = 0;
            for (int entry = 0; entry < ENTRIES; entry++) {
                while (k < points - 1 && mine[k + 1] * ENTRIES <= entry) k++;
                table[lane][entry] = (uint16_t)k;
            }
            narrow[lane] = sd[block + lane] > 0.0 ? 1.0 / sd[block + lane] : 1.0;
        }
        for (int64_t draw = 0; draw < draws; draw++) {
            const double *from = apart + draw * items + block;
            double *to = drawn + draw * items + block, chance[LANES] = {0.0};
            for (int64_t lane = 0; lane < own; lane++) chance[lane] = from[lane] * narrow[lane];
            for (int lane = 0; lane < LANES; lane++) chance[lane] = normal_below(chance[lane]);
            for (int64_t lane = 0; lane < own; lane++) {
                if (sharp[block + lane]) {
                    to[lane] = scores[block + lane] + from[lane];
                    continue;
                }
                const double *mine = below + (block + lane) * (points + 1);
                const double entry = chance[lane] * ENTRIES;
                const int inside = entry < ENTRIES ? (entry > 0.0 ? (int)entry : 0) : ENTRIES - 1;
                int64_t k = table[lane][inside];
                while (k < points - 1 && mine[k + 1] <= chance[lane]) k++;
                const double wide = mine[k + 1] - mine[k];
                const double share = wide > 0.0 ? (chance[lane] - mine[k]) / wide : 1.0;
                to[lane] = first + step * ((double)k + share);
            }
        }
    }
}

/* Write the rank of each item in each draw, a row each, 1 the highest; whether there was room. */
int aggcal_draw_ranks(int64_t draws, int64_t items, const double *drawn, int16_t *ranks)
{
    Desk desk;
    if (!aggcal_desk(&desk, items)) return 0;
    for (int64_t draw = 0; draw < draws; draw++) {
        for (int64_t k = 0; k < items; k++) {
            desk.entry[k].value = -drawn[draw * items + k];
            desk.entry[k].at = k;
        }
        aggcal_sort_desk(&desk, items);
        for (int64_t k = 0; k < items; k++)
            ranks[draw * items + desk.entry[k].at] = (int16_t)(k + 1);
    }
    aggcal_free_desk(&desk);
    return 1;
}
