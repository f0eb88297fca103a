/* What a check of a study sums over all rows, by the logistic link.
 *
 * Rows are sorted by annotator; annotator u's are rows starts[u] to starts[u + 1], and each is
 * summed by one thread, in its order. Rows are worked on in chunks that stay in cache. */
#include "shared.h"

#define CHUNK 1024

/* F of the logistic link. */
PART double logistic(double x)
{
    const double e = exp_minus(fabs(x));
    return (x >= 0.0 ? 1.0 : e) / (1.0 + e);
}

/* Sum of log(1 + number * small), number 0 or 1, small at most 1. One logarithm for many rows: each
 * factor is at most 2. Products side by side, because each step of one waits for the last. */
PART double log_product(const double *number, const double *small, int n)
{
    double total = 0.0;
    for (int from = 0; from < n; from += 512) {
        const int to = from + 512 < n ? from + 512 : n;
        double product[4] = {1.0, 1.0, 1.0, 1.0};
        int k = from;
        for (; k + 4 <= to; k += 4)
            for (int lane = 0; lane < 4; lane++)
                product[lane] *= 1.0 + number[k + lane] * small[k + lane];
        for (; k < to; k++) product[0] *= 1.0 + number[k] * small[k];
        total += log((product[0] * product[1]) * (product[2] * product[3]));
    }
    return total;
}

/* The sum of number * log(1 + e^(-slope * size)) of each annotator (row) at each slope (column). */
void aggcal_slope_losses(int64_t first, int64_t last, const int64_t *starts, const double *size,
                         const double *number, int64_t slopes, const double *slope, double *out)
{
    double small[CHUNK];
    for (int64_t u = first; u < last; u++) {
        double *sums = out + u * slopes;
        for (int64_t s = 0; s < slopes; s++) sums[s] = 0.0;
        for (int64_t from = starts[u]; from < starts[u + 1]; from += CHUNK) {
            const int64_t left = starts[u + 1] - from;
            const int n = (int)(left < CHUNK ? left : CHUNK);
            const double *w = number + from;
            int once = 1;
            for (int k = 0; k < n; k++) once &= w[k] == 0.0 || w[k] == 1.0;
            for (int64_t s = 0; s < slopes; s++) {
                const double by = slope[s];
                for (int k = 0; k < n; k++) small[k] = exp_minus(by * size[from + k]);
                if (once) {
                    sums[s] += log_product(w, small, n);
                } else {
                    for (int k = 0; k < n; k++) small[k] = log_one_plus(small[k]);
                    sums[s] += dot(w, small, n);
                }
            }
        }
    }
}

/* Of each annotator, with p = F(offset + shift of the annotator): the sums of number * (y - p) and
 * of number * p * (1 - p). */
void aggcal_shifted(int64_t first, int64_t last, const int64_t *starts, const double *offset,
                    const double *y, const double *number, const double *shift, double *pull,
                    double *curve)
{
    double off[CHUNK], doubt[CHUNK];
    for (int64_t u = first; u < last; u++) {
        const double by = shift[u];
        pull[u] = curve[u] = 0.0;
        for (int64_t from = starts[u]; from < starts[u + 1]; from += CHUNK) {
            const int64_t left = starts[u + 1] - from;
            const int n = (int)(left < CHUNK ? left : CHUNK);
            for (int k = 0; k < n; k++) doubt[k] = logistic(offset[from + k] + by);
            for (int k = 0; k < n; k++) off[k] = y[from + k] - doubt[k];
            for (int k = 0; k < n; k++) doubt[k] *= 1.0 - doubt[k];
            pull[u] += dot(number + from, off, n);
            curve[u] += dot(number + from, doubt, n);
        }
    }
}

/* How far the answers of some annotators agree, expected at each slope and for each set of scores:
 * with p = F(slope * real), real the gap that the others see, from the side that they prefer, plus
 * what errors of the scores make of it, the sums of number * size * (p - 1/2) and of
 * number * size^2 * p * (1 - p). The errors of an item, one for each set, lie side by side; there
 * are at most SETS of them. Found are tables of whom by slopes by sets. */
#define SETS 64
void aggcal_agreeing(int64_t first, int64_t last, const int64_t *who, const int64_t *starts,
                     const int32_t *left, const int32_t *right, const double *gap,
                     const double *number, const double *size, int64_t sets, const double *errors,
                     const double *wider, int64_t slopes, const double *slope, double *mean,
                     double *variance)
{
    double real[SETS], p[SETS];
    const int n = (int)sets;
    for (int64_t at = first; at < last; at++) {
        const int64_t u = who[at];
        const double wide = wider[u];
        double *means = mean + at * slopes * sets, *variances = variance + at * slopes * sets;
        for (int64_t k = 0; k < slopes * sets; k++) means[k] = variances[k] = 0.0;
        for (int64_t row = starts[u]; row < starts[u + 1]; row++) {
            const double *one = errors + left[row] * sets, *other = errors + right[row] * sets;
            const double w = number[row] * size[row], q = w * size[row];
            const double side = gap[row] >= 0.0 ? 1.0 : -1.0;
            for (int d = 0; d < n; d++) real[d] = side * (gap[row] + wide * (one[d] - other[d]));
            for (int64_t s = 0; s < slopes; s++) {
                double *m = means + s * sets, *v = variances + s * sets;
                const double by = slope[s];
                for (int d = 0; d < n; d++) p[d] = logistic(by * real[d]);
                for (int d = 0; d < n; d++) m[d] += w * (p[d] - 0.5);
                for (int d = 0; d < n; d++) v[d] += q * (p[d] * (1.0 - p[d]));
            }
        }
    }
}

/* How far each annotator moves the gap of each of their rows, and its variance without them, every
 * item taken on its own: whole has the information about each, pull and curve what a row adds to it.
 * pulled and curved have room for a number of each item; they are 0 before and after. */
void aggcal_left_out(int64_t first, int64_t last, const int64_t *starts, const int32_t *left,
                     const int32_t *right, const double *pull, const double *curve,
                     const double *whole, double least, double *pulled, double *curved,
                     double *moved, double *variance)
{
    for (int64_t u = first; u < last; u++) {
        const int64_t begin = starts[u], end = starts[u + 1];
        for (int64_t k = begin; k < end; k++) {
            pulled[left[k]] += pull[k];
            curved[left[k]] += curve[k];
        }
        for (int64_t k = begin; k < end; k++) {
            pulled[right[k]] -= pull[k];
            curved[right[k]] += curve[k];
        }
        for (int64_t k = begin; k < end; k++) {
            const int32_t i = left[k], j = right[k];
            const double one = whole[i] - curved[i], other = whole[j] - curved[j];
            const double room = one > least ? one : least, space = other > least ? other : least;
            moved[k] = pulled[i] / room - pulled[j] / space;
            variance[k] = 1.0 / room + 1.0 / space;
        }
        for (int64_t k = begin; k < end; k++)
            pulled[left[k]] = pulled[right[k]] = curved[left[k]] = curved[right[k]] = 0.0;
    }
}

/* What the order of each item and those of a few others is worth, added up: with the variance v of
 * a gap d, e^(-d^2 / 2v) / (2 pi v), times half of the square of how far a model puts the two apart
 * where there is one (NaN: it does not know an item). Pairs of an item with itself count nothing. */
void aggcal_nearness(int64_t first, int64_t last, int64_t few, const int64_t *chosen,
                     const double *score, const double *variance, const double *model,
                     double *total)
{
    double wide[CHUNK], near[CHUNK];
    for (int64_t i = first; i < last; i++) total[i] = 0.0;
    for (int64_t from = 0; from < few; from += CHUNK) {
        const int n = (int)(few - from < CHUNK ? few - from : CHUNK);
        const int64_t *who = chosen + from;
        double at[CHUNK], spread[CHUNK], put[CHUNK];
        for (int k = 0; k < n; k++) at[k] = score[who[k]];
        for (int k = 0; k < n; k++) spread[k] = variance[who[k]];
        for (int k = 0; k < n; k++) put[k] = model ? model[who[k]] : 0.0;
        for (int64_t i = first; i < last; i++) {
            const double own = variance[i], here = score[i];
            for (int k = 0; k < n; k++) {
                const double v = own + spread[k], d = here - at[k];
                wide[k] = 1.0 / (v > 1e-12 ? v : 1e-12);
                near[k] = 0.5 * d * d * wide[k];
            }
            for (int k = 0; k < n; k++) near[k] = exp_minus(near[k]) * wide[k];
            if (model)
                for (int k = 0; k < n; k++) {
                    const double apart = model[i] - put[k], half = 0.5 * apart * apart;
                    near[k] *= half == half ? half : 0.0;
                }
            for (int k = 0; k < n; k++)
                if (who[k] == i) near[k] = 0.0;
            total[i] += sum_of(near, n) * 0.15915494309189533577;
        }
    }
}

/* Whether the Cholesky factor of a matrix of n rows could be made, in its lower triangle. */
PART int factored(double *matrix, int n)
{
    for (int i = 0; i < n; i++) {
        double *row = matrix + i * n;
        for (int j = 0; j < i; j++)
            row[j] = (row[j] - dot(row, matrix + j * n, j)) / matrix[j * n + j];
        const double rest = row[i] - dot(row, row, i);
        if (!(rest > 0.0)) return 0;
        row[i] = sqrt(rest);
    }
    return 1;
}

/* How far some annotators, of at most FEW_ROWS rows each, move the gaps of their rows, and the
 * variances of these without them: with the covariance C of the gaps, W the curvature of the rows,
 * S its root and r their pull, (I - C W)^-1 C = C + T'T, where T = L^-1 S C and LL' = I - S C S.
 * covariance is that of the items. undone says whose factor was lost to rounding. */
#define FEW_ROWS 64
void aggcal_left_out_few(int64_t first, int64_t last, const int64_t *who, const int64_t *starts,
                         const int32_t *left, const int32_t *right, const double *pull,
                         const double *curve, int64_t items, const double *covariance,
                         double *moved, double *variance, int8_t *undone)
{
    double shared[FEW_ROWS * FEW_ROWS], factor[FEW_ROWS * FEW_ROWS], root[FEW_ROWS];
    for (int64_t at = first; at < last; at++) {
        const int64_t begin = starts[who[at]];
        const int n = (int)(starts[who[at] + 1] - begin);
        const int32_t *i = left + begin, *j = right + begin;
        const double *r = pull + begin;
        double *move = moved + begin, *vary = variance + begin;
        for (int row = 0; row < n; row++) {
            const double *one = covariance + i[row] * items, *other = covariance + j[row] * items;
            for (int k = 0; k <= row; k++)
                shared[row * n + k] = shared[k * n + row] =
                    (one[i[k]] + other[j[k]]) - (one[j[k]] + other[i[k]]);
            root[row] = sqrt(curve[begin + row]);
        }
        for (int row = 0; row < n; row++) {
            for (int k = 0; k <= row; k++)
                factor[row * n + k] = -root[row] * root[k] * shared[row * n + k];
            factor[row * n + row] += 1.0;
            move[row] = dot(shared + row * n, r, n);
            vary[row] = shared[row * n + row];
        }
        undone[at] = (int8_t)!factored(factor, n);
        if (undone[at]) continue;
        /* Each row of T takes the place of one of C, which no later row needs. */
        for (int row = 0; row < n; row++) {
            double *t = shared + row * n;
            const double by = 1.0 / factor[row * n + row];
            for (int k = 0; k < n; k++) t[k] *= root[row];
            for (int above = 0; above < row; above++) {
                const double less = factor[row * n + above], *u = shared + above * n;
                for (int k = 0; k < n; k++) t[k] -= less * u[k];
            }
            for (int k = 0; k < n; k++) t[k] *= by;
            const double along = dot(t, r, n);
            for (int k = 0; k < n; k++) move[k] += along * t[k];
            for (int k = 0; k < n; k++) vary[k] += t[k] * t[k];
        }
    }
}

/* The product of a symmetric matrix, given by its lower triangle, with a vector. */
PART void symmetric_product(const double *matrix, const double *x, int64_t n, double *out)
{
    for (int64_t i = 0; i < n; i++) {
        const double *row = matrix + i * n, here = x[i];
        out[i] = row[i] * here + dot(row, x, (int)i);
        for (int64_t k = 0; k < i; k++) out[k] += row[k] * here;
    }
}

/* The same of one annotator by the series C + C W C + ..., where each row's own part of what is
 * known of its gap is at most little; the variances are its first two terms, and those after them
 * as if each fell like the second. terms is how many are added at most, the last of them at most
 * the part same of the sum. shared is left with C, its lower triangle; room has a number of each
 * item and three of each row. Says whether it was done; where not, moved is left with C r. */
int aggcal_left_out_series(int64_t n, int64_t items, const int32_t *left, const int32_t *right,
                           const double *pull, const double *curve, const double *covariance,
                           double little, int64_t terms, double same, double *room, double *shared,
                           double *moved, double *variance)
{
    double *difference = room, *part = room + items, *step = part + n, *next = step + n;
    double most = 0.0, largest = 0.0;
    for (int64_t row = 0; row < n; row++) {
        const double *one = covariance + left[row] * items, *other = covariance + right[row] * items;
        const double w = curve[row];
        double *c = shared + row * n, own = 0.0;
        if (2 * row < items) {
            for (int64_t k = 0; k <= row; k++)
                c[k] = (one[left[k]] - other[left[k]]) - (one[right[k]] - other[right[k]]);
        } else {
            for (int64_t k = 0; k < items; k++) difference[k] = one[k] - other[k];
            for (int64_t k = 0; k <= row; k++) c[k] = difference[left[k]] - difference[right[k]];
        }
        for (int64_t k = 0; k < row; k++) next[k] = c[k] * c[k];
        own = dot(next, curve, (int)row);
        for (int64_t k = 0; k < row; k++) part[k] += w * next[k];
        part[row] = own + c[row] * c[row] * w;
    }
    for (int64_t row = 0; row < n; row++) {
        const double v = shared[row * n + row];
        part[row] /= v > 1e-300 ? v : 1e-300;
        most = part[row] > most ? part[row] : most;
        variance[row] = v / (1.0 - part[row]);
    }
    symmetric_product(shared, pull, n, moved);
    if (!(most <= little)) return 0;
    memcpy(step, moved, (size_t)n * sizeof *step);
    for (int64_t term = 0; term < terms; term++) {
        double last = 0.0;
        for (int64_t k = 0; k < n; k++) part[k] = curve[k] * step[k];
        symmetric_product(shared, part, n, step);
        largest = 0.0;
        for (int64_t k = 0; k < n; k++) {
            moved[k] += step[k];
            last = fabs(step[k]) > last ? fabs(step[k]) : last;
            largest = fabs(moved[k]) > largest ? fabs(moved[k]) : largest;
        }
        if (last <= same * largest) return 1;
    }
    symmetric_product(shared, pull, n, moved);
    return 0;
}

/* What rows with signs drawn at random add to each item: coin has 0 or 1 for each set (row) and row
 * (column), root the size of what is added. out has items by sets, and is 0 before. */
void aggcal_signed_rows(int64_t rows, int64_t sets, const int32_t *left, const int32_t *right,
                        const int64_t *coin, const double *root, double *out)
{
    for (int64_t k = 0; k < rows; k++) {
        double *one = out + left[k] * sets, *other = out + right[k] * sets;
        for (int64_t s = 0; s < sets; s++) {
            const double signed_root = coin[s * rows + k] ? root[k] : -root[k];
            one[s] += signed_root;
            other[s] -= signed_root;
        }
    }
}

/* The mean square, over sets, of how far the items of each row are apart; drawn is items by sets. */
void aggcal_mean_squares(int64_t rows, int64_t sets, const int32_t *left, const int32_t *right,
                         const double *drawn, double *out)
{
    double apart[SETS];
    for (int64_t k = 0; k < rows; k++) {
        const double *one = drawn + left[k] * sets, *other = drawn + right[k] * sets;
        for (int64_t s = 0; s < sets; s++) apart[s] = one[s] - other[s];
        out[k] = dot(apart, apart, (int)sets) / (double)sets;
    }
}

/* How common three kinds of annotators are, for each of several laws of what two of them are like:
 * along, guess and against have the log-likelihoods of each annotator as each kind, those of the
 * first and the third a row for each law. shares begin where EM begins, and end where it ends: after
 * so many rounds, or once none moves by as much as close. beforehand counts as so many annotators of
 * the first kind. fit is the log-likelihood there. room has four numbers of each annotator. */
void aggcal_mixtures(int64_t first, int64_t last, int64_t annotators, const double *along,
                     const double *guess, const double *against, double beforehand, int64_t rounds,
                     double close, double *room, double *shares, double *fit)
{
    const int n = (int)annotators;
    double *one = room, *two = one + n, *three = two + n, *part = three + n;
    for (int64_t law = first; law < last; law++) {
        const double *a = along + law * n, *b = against + law * n;
        double *s = shares + 3 * law, tops;
        for (int k = 0; k < n; k++) {
            const double top = a[k] > b[k] ? a[k] : b[k];
            part[k] = top > guess[k] ? top : guess[k];
        }
        for (int k = 0; k < n; k++) one[k] = exp_minus(part[k] - a[k]);
        for (int k = 0; k < n; k++) two[k] = exp_minus(part[k] - guess[k]);
        for (int k = 0; k < n; k++) three[k] = exp_minus(part[k] - b[k]);
        tops = sum_of(part, n);
        for (int64_t round = 0; round < rounds; round++) {
            double new[3], total, moves = 0.0;
            for (int k = 0; k < n; k++)
                part[k] = 1.0 / ((one[k] * s[0] + two[k] * s[1]) + three[k] * s[2]);
            new[0] = s[0] * dot(one, part, n) + beforehand;
            new[1] = s[1] * dot(two, part, n);
            new[2] = s[2] * dot(three, part, n);
            total = (new[0] + new[1]) + new[2];
            for (int k = 0; k < 3; k++) {
                const double move = fabs(new[k] / total - s[k]);
                moves = move > moves ? move : moves;
                s[k] = new[k] / total;
            }
            if (moves < close) break;
        }
        for (int k = 0; k < n; k++)
            part[k] = log((one[k] * s[0] + two[k] * s[1]) + three[k] * s[2]);
        fit[law] = (sum_of(part, n) + tops) + beforehand * log(s[0]);
    }
}

/* Numbers of pairs of codes, by an order in which equal ones are side by side: found has the number
 * of the one at each position, and first where each occurs first. Returns how many there are. */
int64_t aggcal_numbered(int64_t rows, const int64_t *order, const int32_t *one,
                        const int32_t *other, int64_t *found, int64_t *first)
{
    int64_t number = -1;
    int32_t a = 0, b = 0;
    for (int64_t k = 0; k < rows; k++) {
        const int64_t at = order[k];
        if (k == 0 || one[at] != a || other[at] != b) {
            a = one[at];
            b = other[at];
            first[++number] = at;
        }
        found[at] = number;
    }
    return number + 1;
}
