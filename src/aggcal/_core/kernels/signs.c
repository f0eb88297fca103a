/* Products with a sparse table whose entries have random signs, for many draws of signs at once.
 *
 * One entry is read once for all draws: its value, a word of signs (bit d is that of draw d, 1 for
 * minus), and the numbers of its column, which lie side by side. Single precision is enough: what
 * is wanted is an eigenvalue to three digits. Every row is summed by one thread, in its order. */
#include "shared.h"

/* Four draws at a time, written as vectors of the compiler's: it does not find them by itself. */
typedef float four __attribute__((vector_size(16)));

/* Entries between fetching a column's numbers and using them: fewer wait, more are forgotten. */
#define AHEAD 6

#define P 1.0f
#define M -1.0f
static const four SIGN[16] = {
    {P, P, P, P}, {M, P, P, P}, {P, M, P, P}, {M, M, P, P}, {P, P, M, P}, {M, P, M, P},
    {P, M, M, P}, {M, M, M, P}, {P, P, P, M}, {M, P, P, M}, {P, M, P, M}, {M, M, P, M},
    {P, P, M, M}, {M, P, M, M}, {P, M, M, M}, {M, M, M, M}};

/* The sums of one row for 4 * FOURS draws, from `from` on, which stay in registers. */
#define ROW_SUM(FOURS)                                                                           \
    PART void row_sum_##FOURS(int64_t from, int64_t begin, int64_t end, int64_t stop,            \
                              int64_t draws, const int32_t *column, const float *value,          \
                              const uint64_t *bits, const float *given, float *out)              \
    {                                                                                            \
        four sum[FOURS], v;                                                                      \
        for (int d = 0; d < FOURS; d++) sum[d] = (four){0.0f, 0.0f, 0.0f, 0.0f};                 \
        for (int64_t k = begin; k < end; k++) {                                                  \
            const float *at = given + (int64_t)column[k] * draws + from, y = value[k];           \
            const int64_t soon = column[k + AHEAD < stop ? k + AHEAD : k] * draws + from;         \
            __builtin_prefetch(given + soon);                                                    \
            __builtin_prefetch(given + soon + 2 * FOURS);                                        \
            const four x = {y, y, y, y};                                                         \
            const uint64_t word = bits[k] >> from;                                               \
            _Pragma("GCC unroll 8") for (int d = 0; d < FOURS; d++)                              \
            {                                                                                    \
                memcpy(&v, at + 4 * d, sizeof v);                                                \
                sum[d] += x * SIGN[(word >> (4 * d)) & 15] * v;                                  \
            }                                                                                    \
        }                                                                                        \
        memcpy(out + from, sum, sizeof sum);                                                     \
    }
ROW_SUM(6)
ROW_SUM(4)
ROW_SUM(1)

/* Rows by columns times columns by draws; draws is a multiple of 4, at most 64. */
void aggcal_signed_product(int64_t first, int64_t last, int64_t draws, const int64_t *starts,
                           const int32_t *column, const float *value, const uint64_t *bits,
                           const float *given, float *out)
{
    for (int64_t row = first; row < last; row++) {
        const int64_t begin = starts[row], end = starts[row + 1];
        float *sums = out + row * draws;
        int64_t d = 0;
        for (; d + 24 <= draws; d += 24)
            row_sum_6(d, begin, end, starts[last], draws, column, value, bits, given, sums);
        for (; d + 16 <= draws; d += 16)
            row_sum_4(d, begin, end, starts[last], draws, column, value, bits, given, sums);
        for (; d + 4 <= draws; d += 4)
            row_sum_1(d, begin, end, starts[last], draws, column, value, bits, given, sums);
    }
}

/* The same entries ordered by their columns, and in each by their rows. next has one number for
 * each column, where its entries begin; it is moved to where they end. */
void aggcal_signed_transpose(int64_t rows, const int64_t *starts, const int32_t *column,
                             const float *value, const uint64_t *bits, int64_t *next, int32_t *row,
                             float *moved, uint64_t *moved_bits)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = starts[r]; k < starts[r + 1]; k++) {
            int64_t to = next[column[k]]++;
            row[to] = (int32_t)r;
            moved[to] = value[k];
            moved_bits[to] = bits[k];
        }
}
