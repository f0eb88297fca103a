/* Judgments as weighted wins: each annotator's by winner and loser, equal ones as one. */
#include "shared.h"

typedef struct {
    uint64_t pair; /* winner, loser */
    double weight;
} Win;

#define RUN 12 /* wins that are put in order one by one */

/* Sort by pair, equal ones in their order; room is as long. Returns where the sorted ones are. */
static Win *sorted(Win *wins, Win *room, int64_t n)
{
    for (int64_t from = 0; from < n; from += RUN) {
        const int64_t to = n - from < RUN ? n : from + RUN;
        for (int64_t k = from + 1; k < to; k++) {
            const Win one = wins[k];
            int64_t j = k;
            for (; j > from && wins[j - 1].pair > one.pair; j--) wins[j] = wins[j - 1];
            wins[j] = one;
        }
    }
    for (int64_t width = RUN; width < n; width *= 2) {
        for (int64_t from = 0; from < n; from += 2 * width) {
            const int64_t middle = n - from < width ? n : from + width;
            const int64_t to = n - from < 2 * width ? n : from + 2 * width;
            int64_t a = from, b = middle;
            if (middle == to || wins[middle - 1].pair <= wins[middle].pair) { /* in order */
                memcpy(room + from, wins + from, (size_t)(to - from) * sizeof *wins);
                continue;
            }
            for (int64_t k = from; k < to; k++) {
                const int first = b >= to || (a < middle && wins[a].pair <= wins[b].pair);
                room[k] = wins[first ? a : b];
                a += first;
                b += !first;
            }
        }
        Win *other = wins;
        wins = room;
        room = other;
    }
    return wins;
}

/* How many wins the rows are: a tie is one each way. */
int64_t aggcal_count_wins(int64_t n_rows, const double *outcome)
{
    int64_t wins = 0;
    for (int64_t k = 0; k < n_rows; k++) wins += (outcome[k] > 0.0) + (outcome[k] < 1.0);
    return wins;
}

/* Rows are sorted by owner; an owner's wins come first, then the losses of its left items. wins and
 * room hold as many as there are of the owner who has most. sizes gets how many wins each owner has,
 * those between the first and the last who have no row included. Returns the number of wins. */
int64_t aggcal_wins(int64_t n_rows, const int32_t *owner, const int32_t *left,
                    const int32_t *right, const double *outcome, const double *weight, Win *wins,
                    Win *room, int32_t *winner, int32_t *loser, double *given, int64_t *sizes)
{
    int64_t put = 0;
    for (int64_t lo = 0, hi; lo < n_rows; lo = hi) {
        int64_t n = 0;
        const int64_t before = put;
        for (hi = lo; hi < n_rows && owner[hi] == owner[lo]; hi++) {
            if (!(outcome[hi] > 0.0)) continue;
            wins[n].pair = (uint64_t)left[hi] << 32 | (uint32_t)right[hi];
            wins[n++].weight = weight[hi] * outcome[hi];
        }
        for (int64_t k = lo; k < hi; k++) {
            if (!(outcome[k] < 1.0)) continue;
            wins[n].pair = (uint64_t)right[k] << 32 | (uint32_t)left[k];
            wins[n++].weight = weight[k] * (1.0 - outcome[k]);
        }
        const Win *ordered = sorted(wins, room, n);
        for (int64_t k = 0; k < n; k++) {
            if (k && ordered[k].pair == ordered[k - 1].pair) {
                given[put - 1] += ordered[k].weight;
                continue;
            }
            winner[put] = (int32_t)(ordered[k].pair >> 32);
            loser[put] = (int32_t)ordered[k].pair;
            given[put++] = ordered[k].weight;
        }
        sizes[owner[lo] - owner[0]] = put - before;
    }
    return put;
}
