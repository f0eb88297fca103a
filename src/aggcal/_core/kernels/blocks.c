/* Products, random vectors and pulls of four vectors in one sweep over the rows.
 *
 * The four lie side by side, four single numbers an item: a row costs hardly more for all of them
 * than for one. Eight or sixteen would cost as much each, and more where they leave the cache. */
#include "shared.h"

#define LANES 4
#define STRETCH 256 /* rows whose sums stay in single precision */

typedef float Four __attribute__((vector_size(4 * LANES), aligned(4)));

/* total = sum of cross * (v_i - v_j) over rows lo to hi. */
PART void pulls(int64_t lo, int64_t hi, const int32_t *winner, const int32_t *loser,
                const float *cross, const Four *v, double *total)
{
    for (int l = 0; l < LANES; l++) total[l] = 0.0;
    for (int64_t from = lo; from < hi; from += STRETCH) {
        const int64_t to = hi - from < STRETCH ? hi : from + STRETCH;
        Four part = {0.0f};
        for (int64_t k = from; k < to; k++) part += cross[k] * (v[winner[k]] - v[loser[k]]);
        for (int l = 0; l < LANES; l++) total[l] += part[l];
    }
}

/* out += (A - B D^-1 B') v for each vector, over annotators first to last; cross is NULL without
 * reliabilities. */
void aggcal_products(int64_t first, int64_t last, const int32_t *winner, const int32_t *loser,
                     const int64_t *starts, const float *near, const float *cross,
                     const double *inner, const Four *restrict v, Four *restrict out)
{
    for (int64_t u = first; u < last; u++) {
        Four shared = {0.0f};
        if (cross) {
            double total[LANES];
            pulls(starts[u], starts[u + 1], winner, loser, cross, v, total);
            for (int l = 0; l < LANES; l++) shared[l] = (float)(total[l] / inner[u]);
        }
        for (int64_t k = starts[u]; k < starts[u + 1]; k++) {
            Four flow = near[k] * (v[winner[k]] - v[loser[k]]);
            if (cross) flow -= cross[k] * shared;
            out[winner[k]] += flow;
            out[loser[k]] -= flow;
        }
    }
}

#define S(a, b, c, d) {a 1.0f, b 1.0f, c 1.0f, d 1.0f}
static const Four COINS[1 << LANES] = {
    S(+, +, +, +), S(+, +, +, -), S(+, +, -, +), S(+, +, -, -), S(+, -, +, +), S(+, -, +, -),
    S(+, -, -, +), S(+, -, -, -), S(-, +, +, +), S(-, +, +, -), S(-, +, -, +), S(-, +, -, -),
    S(-, -, +, +), S(-, -, +, -), S(-, -, -, +), S(-, -, -, -)};

/* The coins of row k, the same on every machine: the highest bits of the last step of SplitMix64. */
PART Four coins(uint64_t key, int64_t k)
{
    uint64_t z = key + (uint64_t)k * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return COINS[z >> (64 - LANES)];
}

/* out += random vectors whose covariance is the data's part of A - B D^-1 B'.
 *
 * Row k has the information (a, b)(a, b)' in its gap and its annotator's parameter, near = a^2 and
 * cross = a b: a coin times (a, b) has that covariance. noise is the priors' part for each
 * annotator and vector; cross is NULL without annotators' parameters. */
void aggcal_probes(int64_t first, int64_t last, const int32_t *winner, const int32_t *loser,
                   const int64_t *starts, const float *near, const float *cross,
                   const double *inner, const double *noise, uint64_t key, Four *restrict out)
{
    for (int64_t u = first; u < last; u++) {
        const int64_t lo = starts[u], hi = starts[u + 1];
        Four pull = {0.0f};
        if (cross) {
            double total[LANES];
            for (int l = 0; l < LANES; l++) total[l] = noise[LANES * u + l];
            for (int64_t from = lo; from < hi; from += STRETCH) {
                const int64_t to = hi - from < STRETCH ? hi : from + STRETCH;
                Four part = {0.0f};
                for (int64_t k = from; k < to; k++)
                    if (near[k] > 0.0f) part += cross[k] / sqrtf(near[k]) * coins(key, k);
                for (int l = 0; l < LANES; l++) total[l] += part[l];
            }
            for (int l = 0; l < LANES; l++) pull[l] = (float)(total[l] / inner[u]);
        }
        for (int64_t k = lo; k < hi; k++) {
            Four force = sqrtf(near[k]) * coins(key, k);
            if (cross) force -= cross[k] * pull;
            out[winner[k]] += force;
            out[loser[k]] -= force;
        }
    }
}

/* out[u] = (B' v)_u for each vector. */
void aggcal_borders(int64_t first, int64_t last, const int32_t *winner, const int32_t *loser,
                    const int64_t *starts, const float *cross, const Four *v, double *out)
{
    for (int64_t u = first; u < last; u++)
        pulls(starts[u], starts[u + 1], winner, loser, cross, v, out + LANES * u);
}
