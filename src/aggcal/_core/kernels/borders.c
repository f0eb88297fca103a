/* Sums over the pairs of items that each annotator saw: columns of a sparse matrix of items by
 * annotators, from starts[u] to starts[u + 1], sorted by item. Of symmetric matrices of n by n only
 * the lower triangle is written. */
#include "shared.h"

/* Rows of a matrix that are worked on at a time: they stay in the cache while all columns pass. */
#define TILE 48
#define MIRRORED 32
#define MOST_RANK 16
#define WIDE 256
#define SEVERAL 4 /* vectors that are worked on at once */

/* Add near (e_i - e_j)(e_i - e_j)' for each of some rows. */
void aggcal_border_laplacian(int64_t rows, int64_t n, const int32_t *winner, const int32_t *loser,
                             const double *near, double *square)
{
    for (int64_t r = 0; r < rows; r++) {
        const int64_t i = winner[r], j = loser[r], low = i > j ? i : j, high = i > j ? j : i;
        square[low * n + high] -= near[r];
        square[i * n + i] += near[r];
        square[j * n + j] += near[r];
    }
}

/* Add the cross curvature of each row to its winner and take it from its loser, for each annotator
 * by itself. Writes items, in order, and values, and how many each annotator has; returns how many
 * there are in all. held (n) and seen (n / 64 + 1) are zero, and are left so. */
int64_t aggcal_border_columns(int64_t annotators, int64_t n, const int32_t *winner,
                              const int32_t *loser, const int64_t *starts, const double *cross,
                              double *held, uint64_t *seen, int32_t *number, int32_t *item,
                              double *value)
{
    int64_t total = 0;
    const int64_t words = n / 64 + 1;
    for (int64_t u = 0; u < annotators; u++) {
        const int64_t before = total;
        for (int64_t r = starts[u]; r < starts[u + 1]; r++) {
            const int32_t i = winner[r], j = loser[r];
            held[i] += cross[r];
            held[j] -= cross[r];
            seen[i / 64] |= (uint64_t)1 << (i % 64);
            seen[j / 64] |= (uint64_t)1 << (j % 64);
        }
        for (int64_t k = 0; k < words; k++) {
            for (uint64_t left = seen[k]; left; left &= left - 1) {
                const int64_t i = 64 * k + __builtin_ctzll(left);
                item[total] = (int32_t)i;
                value[total++] = held[i];
                held[i] = 0.0;
            }
            seen[k] = 0;
        }
        number[u] = (int32_t)(total - before);
    }
    return total;
}

/* Where the items of a column that are not below one begin. */
PART int32_t first_from(const int32_t *item, int32_t begin, int32_t end, int64_t least)
{
    while (begin < end) {
        const int32_t middle = begin + (end - begin) / 2;
        if (item[middle] < least) begin = middle + 1;
        else end = middle;
    }
    return begin;
}

/* Find where the items of every column from the first of some rows on begin. */
PART void find_first(int64_t columns, const int32_t *starts, const int32_t *item, int64_t begin,
                     int32_t *position)
{
    for (int64_t u = 0; u < columns; u++)
        position[u] = first_from(item, starts[u], starts[u + 1], begin);
}

/* How many of the rows begin to end are worked on at a time: about as many each time. */
PART int64_t tile_of(int64_t rows)
{
    const int64_t tiles = (rows + TILE - 1) / TILE;
    return tiles > 1 ? (rows + tiles - 1) / tiles : rows;
}

/* Add w_u g_u g_u' for every column to the rows begin to end of a lower triangle. Four rows of a
 * column are added to at a time, so that what they share is read once. position has a number for
 * each column. */
void aggcal_border_square(int64_t begin, int64_t end, int64_t columns, int64_t n,
                          const int32_t *starts, const int32_t *item, const double *value,
                          const double *weight, int32_t *position, double *square)
{
    const int64_t tile = tile_of(end - begin);
    find_first(columns, starts, item, begin, position);
    for (int64_t top = begin; top < end; top += tile) {
        const int64_t bottom = top + tile < end ? top + tile : end;
        for (int64_t u = 0; u < columns; u++) {
            const int32_t first = starts[u], stop = starts[u + 1];
            int32_t a = position[u];
            for (; a + 3 < stop && item[a + 3] < bottom; a += 4) {
                double *row[4], mine[4];
                for (int k = 0; k < 4; k++) {
                    row[k] = square + item[a + k] * n;
                    mine[k] = weight[u] * value[a + k];
                }
                for (int32_t b = first; b <= a; b++) {
                    const int64_t i = item[b];
                    const double v = value[b], p = row[0][i] + mine[0] * v,
                                 q = row[1][i] + mine[1] * v, r = row[2][i] + mine[2] * v,
                                 s = row[3][i] + mine[3] * v;
                    row[0][i] = p;
                    row[1][i] = q;
                    row[2][i] = r;
                    row[3][i] = s;
                }
                for (int k = 1; k < 4; k++)
                    for (int l = 1; l <= k; l++) row[k][item[a + l]] += mine[k] * value[a + l];
            }
            for (; a < stop && item[a] < bottom; a++) {
                double *row = square + item[a] * n;
                const double mine = weight[u] * value[a];
                for (int32_t b = first; b <= a; b++) row[item[b]] += mine * value[b];
            }
            position[u] = a;
        }
    }
}

/* Add the products of what `rank` vectors of count numbers have at s with what they have up to it. */
ALWAYS void add_products(const double *vectors, int32_t count, int32_t s, const int32_t *item,
                         double *row, const int rank)
{
    double own[MOST_RANK], sum[WIDE];
    for (int k = 0; k < rank; k++) own[k] = vectors[(int64_t)k * count + s];
    for (int32_t from = 0; from <= s; from += WIDE) {
        const int n = s + 1 - from < WIDE ? s + 1 - from : WIDE;
        const double *others = vectors + from;
#pragma omp simd
        for (int t = 0; t < n; t++) {
            double total = 0.0;
            for (int k = 0; k < rank; k++) total += own[k] * others[(int64_t)k * count + t];
            sum[t] = total;
        }
        for (int t = 0; t < n; t++) row[item[from + t]] += sum[t];
    }
}

/* Add v v' for all vectors of every column to the rows begin to end of a lower triangle: rank[u]
 * vectors with the same items, one after the other from value[wide * starts[u]] on. */
void aggcal_packed_square(int64_t begin, int64_t end, int64_t columns, int64_t n, int64_t wide,
                          const int32_t *starts, const int32_t *item, const int32_t *rank,
                          const double *value, int32_t *position, double *square)
{
    const int64_t tile = tile_of(end - begin);
    find_first(columns, starts, item, begin, position);
    for (int64_t top = begin; top < end; top += tile) {
        const int64_t bottom = top + tile < end ? top + tile : end;
        for (int64_t u = 0; u < columns; u++) {
            const int32_t first = starts[u], count = starts[u + 1] - first, *mine = item + first;
            const double *vectors = value + wide * first;
            int32_t s = position[u] - first;
            for (; s < count && mine[s] < bottom; s++) {
                double *row = square + mine[s] * n;
                switch (rank[u]) {
                case 2: add_products(vectors, count, s, mine, row, 2); break;
                case 4: add_products(vectors, count, s, mine, row, 4); break;
                case 5: add_products(vectors, count, s, mine, row, 5); break;
                case 9: add_products(vectors, count, s, mine, row, 9); break;
                default: add_products(vectors, count, s, mine, row, rank[u]);
                }
            }
            position[u] = first + s;
        }
    }
}

/* Add what one row of C is of g' C g for several g, which have `apart` numbers each: those of the
 * items before it count twice. */
ALWAYS void add_form(const double *row, const int32_t *item, const double *value, int64_t apart,
                     int32_t first, int32_t a, double *total, const int several)
{
    double even[SEVERAL] = {0.0}, odd[SEVERAL] = {0.0};
    int32_t b = first;
    for (; b + 1 < a; b += 2) {
        const double one = row[item[b]], other = row[item[b + 1]];
        for (int k = 0; k < several; k++) even[k] += one * value[k * apart + b];
        for (int k = 0; k < several; k++) odd[k] += other * value[k * apart + b + 1];
    }
    if (b < a)
        for (int k = 0; k < several; k++) even[k] += row[item[b]] * value[k * apart + b];
    for (int k = 0; k < several; k++) {
        const double mine = value[k * apart + a];
        total[k] += mine * (2.0 * (even[k] + odd[k]) + row[item[a]] * mine);
    }
}

/* The same for four rows, so that what they share is read once. */
ALWAYS void add_four_forms(const double *covariance, int64_t n, const int32_t *item,
                           const double *value, int64_t apart, int32_t first, int32_t a,
                           double *total, const int several)
{
    const double *row[4];
    double sum[4][SEVERAL] = {{0.0}};
    for (int l = 0; l < 4; l++) row[l] = covariance + item[a + l] * n;
    for (int32_t b = first; b < a; b++) {
        const int64_t i = item[b];
        for (int k = 0; k < several; k++)
            for (int l = 0; l < 4; l++) sum[l][k] += row[l][i] * value[k * apart + b];
    }
    for (int k = 0; k < several; k++) {
        const double *mine = value + k * apart + a;
        for (int l = 0; l < 4; l++) {
            for (int t = 0; t < l; t++) sum[l][k] += row[l][item[a + t]] * mine[t];
            total[k] += mine[l] * (2.0 * sum[l][k] + row[l][item[a + l]] * mine[l]);
        }
    }
}

ALWAYS void forms_of(int64_t begin, int64_t end, int64_t columns, int64_t n, int64_t apart,
                     const int32_t *starts, const int32_t *item, const double *value,
                     const double *covariance, int32_t *position, double *form, const int several)
{
    const int64_t tile = tile_of(end - begin);
    for (int64_t top = begin; top < end; top += tile) {
        const int64_t bottom = top + tile < end ? top + tile : end;
        for (int64_t u = 0; u < columns; u++) {
            const int32_t first = starts[u], stop = starts[u + 1];
            int32_t a = position[u];
            double total[SEVERAL] = {0.0};
            for (; a + 3 < stop && item[a + 3] < bottom; a += 4)
                add_four_forms(covariance, n, item, value, apart, first, a, total, several);
            for (; a < stop && item[a] < bottom; a++)
                add_form(covariance + item[a] * n, item, value, apart, first, a, total, several);
            position[u] = a;
            for (int k = 0; k < several; k++) form[k * columns + u] += total[k];
        }
    }
}

/* Write what the rows begin to end of C, symmetric, are of g' C g for every column; as above. There
 * may be several g of the same items, `apart` numbers from each other, and as many forms. */
void aggcal_border_forms(int64_t begin, int64_t end, int64_t columns, int64_t n, int64_t several,
                         int64_t apart, const int32_t *starts, const int32_t *item,
                         const double *value, const double *covariance, int32_t *position,
                         double *form)
{
    memset(form, 0, (size_t)(several * columns) * sizeof *form);
    for (int64_t done = 0; done < several; done += SEVERAL) {
        const int some = (int)(several - done < SEVERAL ? several - done : SEVERAL);
        const double *g = value + done * apart;
        double *to = form + done * columns;
        for (int64_t u = 0; u < columns; u++)
            position[u] = first_from(item, starts[u], starts[u + 1], begin);
#define FORMS(several)                                                                             \
    forms_of(begin, end, columns, n, apart, starts, item, g, covariance, position, to, several)
        switch (some) {
        case 1: FORMS(1); break;
        case 2: FORMS(2); break;
        default: FORMS(some);
        }
    }
}

/* Copy the lower triangle of a matrix to the upper one, by squares. */
void aggcal_mirror(int64_t n, double *square)
{
    for (int64_t top = 0; top < n; top += MIRRORED) {
        const int64_t bottom = top + MIRRORED < n ? top + MIRRORED : n;
        for (int64_t left = 0; left < bottom; left += MIRRORED) {
            const int64_t right = left + MIRRORED < n ? left + MIRRORED : n;
            for (int64_t j = left; j < right; j++)
                for (int64_t i = top > j ? top : j + 1; i < bottom; i++)
                    square[j * n + i] = square[i * n + j];
        }
    }
}
