/* Draws of all scores: the shape of their distribution, scores that follow it, and their ranks. */
#include "shared.h"
#include "sorting.h"
#include <stdlib.h>

#define ROWS 4      /* items of a step at a time: sums are loaded and stored once for all */
#define LANES 8     /* items of a draw at a time: those of one cache line */
#define ENTRIES 512 /* of the table that tells where in a distribution to begin to look */
#define DIGIT 10    /* bits of a digit that items are sorted by: more leave the cache */
#define SHORT 8     /* the same of fewer items than it has values: counting these would take longer */
#define MANY 200    /* items from which digits are counted: fewer are sorted before */

typedef float Four __attribute__((vector_size(16), aligned(4)));

/* Numbers below 1e-38, of which the tails of likelihoods are full, take x86 processors a hundred times
 * as long as others: let them be 0, and return what says how it was before. */
#if defined(__x86_64__) && defined(__GNUC__)
#include <xmmintrin.h>
PART unsigned without_tiny(void)
{
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040); /* results and operands */
    return before;
}

PART void as_before(unsigned before) { _mm_setcsr(before); }
#else
PART unsigned without_tiny(void) { return 0; }
PART void as_before(unsigned before) { (void)before; }
#endif

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
    const unsigned before = without_tiny();
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
    as_before(before);
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

/* What tells where in its distribution an item's draw is. */
typedef struct {
    uint16_t begin[ENTRIES];
    double narrow;
} Table;

static void make_table(Table *table, const double *below, int64_t points, double sd)
{
    int64_t k = 0;
    for (int entry = 0; entry < ENTRIES; entry++) {
        while (k < points - 1 && below[k + 1] * ENTRIES <= entry) k++;
        table->begin[entry] = (uint16_t)k;
    }
    table->narrow = sd > 0.0 ? 1.0 / sd : 1.0;
}

/* Where a probability is in a distribution, in steps. */
PART double place_of(const Table *table, const double *below, int64_t points, double chance)
{
    const double entry = chance * ENTRIES;
    const int inside = entry < ENTRIES ? (entry > 0.0 ? (int)entry : 0) : ENTRIES - 1;
    int64_t k = table->begin[inside];
    while (k < points - 1 && below[k + 1] <= chance) k++;
    const double wide = below[k + 1] - below[k];
    return (double)k + (wide > 0.0 ? (chance - below[k]) / wide : 1.0);
}

/* Turn deviations of items begin to end, a row a draw, into scores that follow their own
 * distributions: below, of points + 1 numbers each, from 0 to 1 at the edges, which begin at first
 * and are step apart. Those of sharp items are added to their scores. */
void aggcal_shaped(int64_t begin, int64_t end, int64_t items, int64_t draws, int64_t points,
                   const double *apart, const double *scores, const double *sd,
                   const uint8_t *sharp, const double *below, double first, double step,
                   double *drawn)
{
    Table table[LANES];
    for (int64_t block = begin; block < end; block += LANES) {
        const int64_t own = end - block < LANES ? end - block : LANES;
        const double *mine = below + block * (points + 1);
        for (int64_t lane = 0; lane < own; lane++)
            make_table(table + lane, mine + lane * (points + 1), points, sd[block + lane]);
        for (int64_t draw = 0; draw < draws; draw++) {
            const double *from = apart + draw * items + block;
            double *to = drawn + draw * items + block;
            double chance[LANES] = {0.0};
            for (int64_t lane = 0; lane < own; lane++)
                chance[lane] = from[lane] * table[lane].narrow;
            for (int lane = 0; lane < LANES; lane++) chance[lane] = normal_below(chance[lane]);
            for (int64_t lane = 0; lane < own; lane++) {
                const double *whose = mine + lane * (points + 1);
                to[lane] = sharp[block + lane]
                               ? scores[block + lane] + from[lane]
                               : first + step * place_of(table + lane, whose, points, chance[lane]);
            }
        }
    }
}

/* Sort places by digits of a key, the lowest first: two passes over numbers that hold both. */
static void by_digits(int64_t n, int bits, uint64_t *key, uint64_t *spare)
{
    uint32_t count[2][1 << DIGIT];
    const uint64_t digits = (1u << bits) - 1;
    for (int pass = 0; pass < 2; pass++) memset(count[pass], 0, sizeof **count << bits);
    for (int64_t k = 0; k < n; k++) {
        count[0][key[k] >> 16 & digits]++;
        count[1][key[k] >> (16 + bits) & digits]++;
    }
    for (int pass = 0; pass < 2; pass++) {
        uint32_t before = 0;
        for (uint64_t digit = 0; digit <= digits; digit++) {
            const uint32_t number = count[pass][digit];
            count[pass][digit] = before;
            before += number;
        }
        const int shift = 16 + pass * bits;
        for (int64_t k = 0; k < n; k++) spare[count[pass][key[k] >> shift & digits]++] = key[k];
        uint64_t *other = key;
        key = spare;
        spare = other;
    }
}

/* Put the items of one draw in order by keys of two digits; whether that told nearly all apart. */
static int in_order(int64_t n, const double *drawn, uint64_t *key, uint64_t *spare)
{
    const int bits = n < 1 << DIGIT ? SHORT : DIGIT;
    double least = drawn[0], most = drawn[0];
    for (int64_t k = 1; k < n; k++) {
        least = drawn[k] < least ? drawn[k] : least;
        most = drawn[k] > most ? drawn[k] : most;
    }
    const double each = ((double)((1 << 2 * bits) - 1)) / (most - least);
    if (!(most - least < 1e300 && each < 1e300)) return 0;
    for (int64_t k = 0; k < n; k++)
        key[k] = (uint64_t)((most - drawn[k]) * each) << 16 | (uint64_t)k;
    by_digits(n, bits, key, spare);
    int64_t alike = 0;
    for (int64_t k = 1; k < n; k++) alike += key[k] >> 16 == key[k - 1] >> 16;
    if (alike > n / 8) return 0;
    for (int64_t k = 1; k < n; k++) {
        const uint64_t here = key[k];
        const double value = drawn[here & 0xffff];
        int64_t to = k;
        for (; to > 0 && key[to - 1] >> 16 == here >> 16 && drawn[key[to - 1] & 0xffff] < value;
             to--)
            key[to] = key[to - 1];
        key[to] = here;
    }
    return 1;
}

/* Write the rank of each item in each draw, a row each, 1 the highest; whether there was room. */
int aggcal_draw_ranks(int64_t draws, int64_t items, const double *drawn, int16_t *ranks)
{
    Desk desk;
    uint64_t *key = malloc((size_t)(2 * items + 1) * sizeof *key);
    const int there = aggcal_desk(&desk, items), room = there && key;
    for (int64_t draw = 0; room && draw < draws; draw++, drawn += items, ranks += items) {
        if (items >= MANY && in_order(items, drawn, key, key + items)) {
            for (int64_t k = 0; k < items; k++) ranks[key[k] & 0xffff] = (int16_t)(k + 1);
            continue;
        }
        for (int64_t k = 0; k < items; k++) {
            desk.entry[k].value = -drawn[k];
            desk.entry[k].at = k;
        }
        aggcal_sort_desk(&desk, items);
        for (int64_t k = 0; k < items; k++) ranks[desk.entry[k].at] = (int16_t)(k + 1);
    }
    if (there) aggcal_free_desk(&desk);
    free(key);
    return room;
}
