/* Sorting long columns of numbers: where each stands in order, equal ones as they were.
 *
 * Numbers are dealt into boxes of equal width between the smallest and the largest, then each box
 * again, in the cache, until few are left. Columns that this does not spread (a few numbers far from
 * all others) are merged instead, so that no column takes much longer than any other. */
#include "shared.h"
#include <stdlib.h>

/* Entries that are sorted by a number, each with the place where it was. */
typedef struct {
    double value;
    int64_t at;
} Entry;

#define BOXES 2048      /* of a column: the ends of more are not all in the cache */
#define MOST_BOXES 4096 /* of what is dealt again, where all is in the cache */
#define FEW 24          /* entries that are inserted one by one */
#define DEEPEST 4       /* times that entries are dealt before they are merged */

static void insert_each(Entry *entry, int64_t n)
{
    for (int64_t k = 1; k < n; k++) {
        const Entry here = entry[k];
        int64_t to = k;
        for (; to > 0 && entry[to - 1].value > here.value; to--) entry[to] = entry[to - 1];
        entry[to] = here;
    }
}

static void merge(Entry *entry, Entry *spare, int64_t n)
{
    if (n <= FEW) {
        insert_each(entry, n);
        return;
    }
    const int64_t half = n / 2;
    merge(entry, spare, half);
    merge(entry + half, spare, n - half);
    memcpy(spare, entry, (size_t)half * sizeof *spare);
    int64_t left = 0, right = half, to = 0;
    while (left < half && right < n)
        entry[to++] = entry[right].value < spare[left].value ? entry[right++] : spare[left++];
    memcpy(entry + to, spare + left, (size_t)(half - left) * sizeof *entry);
}

/* How many boxes to one unit; 0 where they cannot be told apart in the digits that numbers have. */
PART double density(double least, double most, int64_t boxes)
{
    const double each = (double)boxes / (most - least);
    return most - least < 1e300 && each < 1e300 ? each : 0.0;
}

PART int64_t box_of(double value, double least, double each, int64_t boxes)
{
    const int64_t box = (int64_t)((value - least) * each);
    return box < boxes ? box : boxes - 1;
}

/* Turn how many each box has into where it begins. */
static void begin_boxes(int64_t *box, int64_t boxes)
{
    int64_t before = 0;
    for (int64_t k = 0; k < boxes; k++) {
        const int64_t number = box[k];
        box[k] = before;
        before += number;
    }
}

/* Sort entries; spare has room for as many, box for the boxes of each time that they are dealt. */
static void deal(Entry *entry, Entry *spare, int64_t *box, int64_t n, int depth)
{
    if (n <= FEW) {
        insert_each(entry, n);
        return;
    }
    double least = entry[0].value, most = least;
    for (int64_t k = 1; k < n; k++) {
        least = entry[k].value < least ? entry[k].value : least;
        most = entry[k].value > most ? entry[k].value : most;
    }
    if (least == most) return;
    const int64_t boxes = n / 4 < MOST_BOXES ? n / 4 : MOST_BOXES;
    const double each = density(least, most, boxes);
    if (each == 0.0 || depth == DEEPEST) {
        merge(entry, spare, n);
        return;
    }
    memset(box, 0, (size_t)boxes * sizeof *box);
    for (int64_t k = 0; k < n; k++) box[box_of(entry[k].value, least, each, boxes)]++;
    begin_boxes(box, boxes);
    for (int64_t k = 0; k < n; k++)
        spare[box[box_of(entry[k].value, least, each, boxes)]++] = entry[k];
    /* Each box now says where it ends. The boxes of what is dealt again are kept behind these. */
    for (int64_t k = 0, begin = 0; k < boxes; begin = box[k++])
        deal(spare + begin, entry + begin, box + boxes, box[k] - begin, depth + 1);
    memcpy(entry, spare, (size_t)n * sizeof *entry);
}

/* Sort n numbers into sorted, and write into order where each of them was. Returns 1; 0 where one is
 * none, or there is no memory. */
int aggcal_sort(int64_t n, const double *value, double *sorted, int64_t *order)
{
    if (n == 0) return 1;
    double least = value[0], most = value[0];
    int none = 0;
    for (int64_t k = 0; k < n; k++) {
        none |= value[k] != value[k];
        least = value[k] < least ? value[k] : least;
        most = value[k] > most ? value[k] : most;
    }
    if (none) return 0;
    const double each = density(least, most, BOXES);
    const int64_t boxes = each == 0.0 ? 1 : BOXES;
    int64_t start[BOXES] = {n}, largest = 0;
    if (boxes > 1) {
        start[0] = 0;
        for (int64_t k = 0; k < n; k++) start[box_of(value[k], least, each, boxes)]++;
    }
    for (int64_t k = 0; k < boxes; k++) largest = start[k] > largest ? start[k] : largest;
    begin_boxes(start, boxes);
    Entry *entry = malloc((size_t)largest * sizeof *entry);
    Entry *spare = malloc((size_t)largest * sizeof *spare);
    int64_t *box = malloc(DEEPEST * MOST_BOXES * sizeof *box);
    const int room = entry && spare && box;
    if (room) {
        for (int64_t k = 0; k < n; k++) {
            const int64_t to = start[boxes > 1 ? box_of(value[k], least, each, boxes) : 0]++;
            sorted[to] = value[k];
            order[to] = k;
        }
        /* Each box now says where it ends. */
        for (int64_t k = 0, begin = 0; k < boxes; begin = start[k++]) {
            const int64_t number = start[k] - begin;
            for (int64_t j = 0; j < number; j++) {
                entry[j].value = sorted[begin + j];
                entry[j].at = order[begin + j];
            }
            deal(entry, spare, box, number, boxes > 1 ? 1 : DEEPEST);
            for (int64_t j = 0; j < number; j++) {
                sorted[begin + j] = entry[j].value;
                order[begin + j] = entry[j].at;
            }
        }
    }
    free(entry);
    free(spare);
    free(box);
    return room;
}
