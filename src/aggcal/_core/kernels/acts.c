/* Acts: rows of one group that are all pairs of some items. */
#include "shared.h"

/* Grow a block of rows from begin on, while no pair comes twice, the rows left are enough for all
 * pairs of its items, and (if linked) each row has an item of an earlier one. Returns where the
 * largest block ends that is all pairs of its items (begin if none is), and how many these are;
 * reached is where growing ended. when and seen hold the number of the block that used them last. */
static int64_t grown(int64_t begin, int64_t end, const int32_t *left, const int32_t *right,
                     int linked, int64_t block, int64_t *when, int32_t *place, int64_t *seen,
                     int32_t *items, int64_t *reached)
{
    int64_t best = begin, members = 0, row = begin;
    for (; row < end; row++) {
        const int32_t ends[2] = {left[row], right[row]};
        const int fresh = (when[ends[0]] != block) + (when[ends[1]] != block);
        const int64_t all = members + fresh;
        if (all * (all - 1) / 2 > end - begin || (linked && fresh == 2 && row > begin)) break;
        for (int side = 0; side < 2; side++)
            if (when[ends[side]] != block) {
                when[ends[side]] = block;
                place[ends[side]] = (int32_t)members++;
            }
        const int64_t a = place[ends[0]], b = place[ends[1]];
        const int64_t pair = a < b ? b * (b - 1) / 2 + a : a * (a - 1) / 2 + b;
        if (seen[pair] == block) break;
        seen[pair] = block;
        if (row + 1 - begin == members * (members - 1) / 2) {
            best = row + 1;
            *items = (int32_t)members;
        }
    }
    *reached = row;
    return best;
}

/* Number acts: largest blocks of rows of one group that are all pairs of some items, each once.
 * Rows are sorted by group, and ends says where each group ends. A row gets the number of its act,
 * and how many items that has (2 for a row by itself). when has room for a number per item, seen
 * for one per row of the longest group, both all 0. Growing gives up in a group where it has looked
 * at patience times its rows. */
void aggcal_acts(int64_t groups, const int64_t *ends, const int32_t *left, const int32_t *right,
                 int64_t patience, int64_t *when, int32_t *place, int64_t *seen, int64_t *act,
                 int32_t *items)
{
    int64_t number = 0, block = 0, start = 0;
    for (int64_t group = 0; group < groups; group++) {
        const int64_t begin = start, end = ends[group];
        int64_t left_over = patience * (end - begin);
        while (start < end) {
            int64_t next = start, reached;
            int32_t members = 2;
            if (start == begin) /* all rows, in any order */
                next = grown(start, end, left, right, 0, ++block, when, place, seen, &members,
                             &reached);
            if (next < end) {
                next = start + 1;
                members = 2;
                if (left_over > 0) {
                    next = grown(start, end, left, right, 1, ++block, when, place, seen, &members,
                                 &reached);
                    left_over -= reached - start;
                }
            }
            for (; start < next; start++) {
                act[start] = number;
                items[start] = members;
            }
            number++;
        }
    }
}
