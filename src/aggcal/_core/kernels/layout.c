/* Judgments laid out as the rows that likelihoods sum over: sorted within each annotator, equal ones
 * merged. Rows come sorted by annotator, and a range of them has whole annotators. */
#include "shared.h"
#include "sorting.h"

/* The rows of judgments. weight may be NULL: each is then heavy. */
typedef struct {
    int64_t items;
    double heavy;
    const int32_t *annotator, *left, *right;
    const double *outcome, *weight;
} Judged;

PART double weight_of(const Judged *j, int64_t row) { return j->weight ? j->weight[row] : j->heavy; }

/* One past the last row of the annotator of a row. */
PART int64_t end_of(const Judged *j, int64_t row, int64_t last)
{
    const int32_t who = j->annotator[row];
    while (row < last && j->annotator[row] == who) row++;
    return row;
}

/* Make room for the entries of the annotator who has most of the rows, twice for each row. */
PART int desk_for(Desk *desk, const Judged *j, int64_t first, int64_t last)
{
    int64_t most = 0;
    for (int64_t begin = first, end; begin < last; begin = end) {
        end = end_of(j, begin, last);
        most = end - begin > most ? end - begin : most;
    }
    return aggcal_desk(desk, 2 * most);
}

/* Write the wins in rows first to last, equal ones as one, and how many each annotator has (of
 * those before there are none); a row that is between 0 and 1 is part of a win each way. Returns how many there are, -1 without memory. */
int64_t aggcal_wins(const Judged *j, int64_t first, int64_t last, int32_t *winner, int32_t *loser,
                    double *total, int64_t *sizes)
{
    Desk desk;
    int64_t to = 0;
    if (!desk_for(&desk, j, first, last)) return -1;
    for (int64_t begin = first, end; begin < last; begin = end) {
        int64_t n = 0, before = to;
        end = end_of(j, begin, last);
        for (int64_t row = begin; row < end; row++)
            for (int lost = 0; lost < 2; lost++) {
                if (lost ? j->outcome[row] == 1.0 : j->outcome[row] == 0.0) continue;
                const int64_t won = lost ? j->right[row] : j->left[row];
                const int64_t against = lost ? j->left[row] : j->right[row];
                desk.entry[n].value = (double)(won * j->items + against);
                desk.entry[n++].at = 2 * row + lost;
            }
        aggcal_sort_desk(&desk, n);
        for (int64_t k = 0; k < n; to++) {
            const double key = desk.entry[k].value;
            const int64_t row = desk.entry[k].at / 2, lost = desk.entry[k].at % 2;
            winner[to] = lost ? j->right[row] : j->left[row];
            loser[to] = lost ? j->left[row] : j->right[row];
            total[to] = 0.0;
            for (; k < n && desk.entry[k].value == key; k++) {
                const int64_t here = desk.entry[k].at / 2;
                const double share = j->outcome[here];
                total[to] += (desk.entry[k].at % 2 ? 1.0 - share : share) * weight_of(j, here);
            }
        }
        sizes[j->annotator[begin] - j->annotator[first]] = to - before;
    }
    aggcal_free_desk(&desk);
    return to;
}

/* Write the questions in rows first to last, equal ones as one, and how many each annotator has: their
 * items (where sides do not matter, the one with the lower code first), the weight of the answers, how
 * far they lean to the first item, what of them are ties, where a tie is an answer of its own, and the
 * rest. Returns how many there are, -1 without memory. */
int64_t aggcal_questions(const Judged *j, int64_t first, int64_t last, int sides, int ties,
                         int32_t *left, int32_t *right, double *weight, double *lean, double *tied,
                         double *decided, int64_t *sizes)
{
    Desk desk;
    int64_t to = 0;
    if (!desk_for(&desk, j, first, last)) return -1;
    for (int64_t begin = first, end; begin < last; begin = end) {
        const int64_t before = to;
        end = end_of(j, begin, last);
        for (int64_t row = begin; row < end; row++) {
            const int64_t l = j->left[row], r = j->right[row];
            const int64_t key = !sides && l > r ? r * j->items + l : l * j->items + r;
            desk.entry[row - begin].value = (double)key;
            desk.entry[row - begin].at = row;
        }
        aggcal_sort_desk(&desk, end - begin);
        for (int64_t k = 0; k < end - begin; to++) {
            const double key = desk.entry[k].value;
            const int64_t row = desk.entry[k].at;
            const int swap = !sides && j->left[row] > j->right[row];
            left[to] = swap ? j->right[row] : j->left[row];
            right[to] = swap ? j->left[row] : j->right[row];
            weight[to] = lean[to] = tied[to] = decided[to] = 0.0;
            for (; k < end - begin && desk.entry[k].value == key; k++) {
                const int64_t here = desk.entry[k].at;
                const double w = weight_of(j, here), off = (j->outcome[here] - 0.5) * w;
                weight[to] += w;
                lean[to] += j->left[here] == left[to] ? off : -off;
                *(ties && j->outcome[here] == 0.5 ? tied + to : decided + to) += w;
            }
        }
        sizes[j->annotator[begin] - j->annotator[first]] = to - before;
    }
    aggcal_free_desk(&desk);
    return to;
}
