/* Judgments laid out as the rows that likelihoods sum over: sorted within each annotator, equal ones
 * merged. Rows come sorted by annotator, and a range of them has whole annotators. */
#include "shared.h"
#include "sorting.h"
#include <stdlib.h>

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

/* Entries of an annotator that keep the sides of their rows, others that turn them round, and all of
 * them in order. Rows mostly come in the order of their sides: then only those turned round are to be
 * sorted. */
typedef struct {
    Desk kept, turned;
    Entry *all;
} Table;

/* Make room for the entries of the annotator who has most of the rows. */
PART int table_for(Table *table, const Judged *j, int64_t first, int64_t last)
{
    int64_t most = 0;
    for (int64_t begin = first, end; begin < last; begin = end) {
        end = end_of(j, begin, last);
        most = end - begin > most ? end - begin : most;
    }
    if (!aggcal_desk(&table->kept, most)) return 0;
    if (!aggcal_desk(&table->turned, most)) {
        aggcal_free_desk(&table->kept);
        return 0;
    }
    table->all = malloc((size_t)(2 * most + 1) * sizeof *table->all);
    if (table->all) return 1;
    aggcal_free_desk(&table->kept);
    aggcal_free_desk(&table->turned);
    return 0;
}

PART void free_table(Table *table)
{
    aggcal_free_desk(&table->kept);
    aggcal_free_desk(&table->turned);
    free(table->all);
}

/* Put so many entries of either kind in order, equal ones by where they were; returns how many. */
PART int64_t in_order(Table *table, int64_t kept, int64_t turned)
{
    aggcal_sort_desk(&table->kept, kept);
    aggcal_sort_desk(&table->turned, turned);
    const Entry *one = table->kept.entry, *one_end = one + kept;
    const Entry *other = table->turned.entry, *other_end = other + turned;
    Entry *to = table->all;
    while (one < one_end && other < other_end) {
        const int equal = other->value == one->value;
        const int later = other->value < one->value || (equal && other->at < one->at);
        *to++ = later ? *other : *one;
        other += later;
        one += !later;
    }
    memcpy(to, one, (size_t)(one_end - one) * sizeof *to);
    memcpy(to + (one_end - one), other, (size_t)(other_end - other) * sizeof *to);
    return kept + turned;
}

/* Write the wins in rows first to last, equal ones as one, and how many each annotator has (of
 * those before there are none); a row that is between 0 and 1 is part of a win each way. Returns how
 * many there are, -1 without memory. */
int64_t aggcal_wins(const Judged *j, int64_t first, int64_t last, int32_t *winner, int32_t *loser,
                    double *total, int64_t *sizes)
{
    Table table;
    int64_t to = 0;
    if (!table_for(&table, j, first, last)) return -1;
    const Entry *entry = table.all;
    for (int64_t begin = first, end; begin < last; begin = end) {
        int64_t ahead = 0, behind = 0;
        const int64_t before = to;
        end = end_of(j, begin, last);
        for (int64_t row = begin; row < end; row++) {
            const int64_t l = j->left[row], r = j->right[row];
            table.kept.entry[ahead].value = (double)(l * j->items + r);
            table.kept.entry[ahead].at = 2 * row;
            ahead += j->outcome[row] != 0.0;
            table.turned.entry[behind].value = (double)(r * j->items + l);
            table.turned.entry[behind].at = 2 * row + 1;
            behind += j->outcome[row] != 1.0;
        }
        const int64_t n = in_order(&table, ahead, behind);
        for (int64_t k = 0; k < n; to++) {
            const double key = entry[k].value;
            const int64_t row = entry[k].at / 2, lost = entry[k].at % 2;
            winner[to] = lost ? j->right[row] : j->left[row];
            loser[to] = lost ? j->left[row] : j->right[row];
            total[to] = 0.0;
            for (; k < n && entry[k].value == key; k++) {
                const int64_t here = entry[k].at / 2;
                const double share = j->outcome[here];
                total[to] += (entry[k].at % 2 ? 1.0 - share : share) * weight_of(j, here);
            }
        }
        sizes[j->annotator[begin] - j->annotator[first]] = to - before;
    }
    free_table(&table);
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
    Table table;
    int64_t to = 0;
    if (!table_for(&table, j, first, last)) return -1;
    const Entry *entry = table.all;
    for (int64_t begin = first, end; begin < last; begin = end) {
        int64_t kept = 0, turned = 0;
        const int64_t before = to;
        end = end_of(j, begin, last);
        for (int64_t row = begin; row < end; row++) {
            const int64_t l = j->left[row], r = j->right[row];
            const int turn = !sides && l > r;
            Entry *here = turn ? table.turned.entry + turned : table.kept.entry + kept;
            here->value = (double)(turn ? r * j->items + l : l * j->items + r);
            here->at = row;
            turned += turn;
            kept += !turn;
        }
        const int64_t n = in_order(&table, kept, turned);
        for (int64_t k = 0; k < n; to++) {
            const double key = entry[k].value;
            const int64_t row = entry[k].at;
            const int swap = !sides && j->left[row] > j->right[row];
            left[to] = swap ? j->right[row] : j->left[row];
            right[to] = swap ? j->left[row] : j->right[row];
            weight[to] = lean[to] = tied[to] = decided[to] = 0.0;
            for (; k < n && entry[k].value == key; k++) {
                const int64_t here = entry[k].at;
                const double w = weight_of(j, here), off = (j->outcome[here] - 0.5) * w;
                weight[to] += w;
                lean[to] += j->left[here] == left[to] ? off : -off;
                *(ties && j->outcome[here] == 0.5 ? tied + to : decided + to) += w;
            }
        }
        sizes[j->annotator[begin] - j->annotator[first]] = to - before;
    }
    free_table(&table);
    return to;
}
