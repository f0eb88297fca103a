/* Triples of items of which all three pairs are decided, and those that go round in a circle. */
#include "shared.h"

/* Bits of a word: written out, as few processors are sure to have an instruction for it. */
PART int64_t bits_of(uint64_t x)
{
    x -= (x >> 1) & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (int64_t)((x * 0x0101010101010101u) >> 56);
}

/* Of each item those below and those above it are bits of a row of `words`; both tables are overwritten.
 * found has the triples, then the circles: of each triple, every pair sees the third item. */
void aggcal_triads(int64_t pairs, int64_t items, int64_t words, const int64_t *first,
                   const int64_t *second, const double *majority, uint64_t *below, uint64_t *above,
                   int64_t *found)
{
    int64_t triads = 0, circular = 0;
    memset(below, 0, (size_t)(items * words) * sizeof *below);
    memset(above, 0, (size_t)(items * words) * sizeof *above);
    for (int64_t k = 0; k < pairs; k++) {
        const int64_t i = first[k], j = second[k];
        const uint64_t one = (uint64_t)1 << (i & 63), other = (uint64_t)1 << (j & 63);
        if (majority[k] > 0.0) {
            below[i * words + (j >> 6)] |= other;
            above[j * words + (i >> 6)] |= one;
        } else if (majority[k] < 0.0) {
            below[j * words + (i >> 6)] |= one;
            above[i * words + (j >> 6)] |= other;
        }
    }
    for (int64_t k = 0; k < pairs; k++) {
        if (!(majority[k] > 0.0) && !(majority[k] < 0.0)) continue;
        const int64_t up = majority[k] > 0.0 ? first[k] : second[k];
        const int64_t down = majority[k] > 0.0 ? second[k] : first[k];
        const uint64_t *over = above + up * words, *under = below + down * words;
        const uint64_t *over_too = below + up * words, *under_too = above + down * words;
        for (int64_t w = 0; w < words; w++) {
            circular += bits_of(under[w] & over[w]);
            triads += bits_of((under[w] | under_too[w]) & (over[w] | over_too[w]));
        }
    }
    found[0] = triads / 3;
    found[1] = circular / 3;
}
