/* Entries that are sorted by a number, each with the place where it was. */
#ifndef AGGCAL_SORTING_H
#define AGGCAL_SORTING_H
#include <stdint.h>

typedef struct {
    double value;
    int64_t at;
} Entry;

/* Room to sort up to so many entries in. */
typedef struct {
    Entry *entry, *spare;
    int64_t *box;
} Desk;

/* Make room for so many entries; whether there is. */
int aggcal_desk(Desk *desk, int64_t most);
void aggcal_free_desk(Desk *desk);

/* Sort the first n entries of a desk, equal ones as they were. */
void aggcal_sort_desk(Desk *desk, int64_t n);
#endif
