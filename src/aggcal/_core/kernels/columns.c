/* Columns as codes: the cells of lines of text, and cells of which hashes are known.
 *
 * Nothing here decides what a cell means. A text gets a number when it is met for the first time, and
 * each of its cells gets that number.
 */
#include "shared.h"
#include <stdlib.h>

/* Where a text is: what it is compared by stands together, so that one look at the text does. */
typedef struct {
    uint32_t tag;  /* the upper half of its hash */
    int32_t code;  /* plus 1: 0 is an empty place */
    int64_t begin; /* in bytes */
} Place;

/* The distinct texts of a column. */
typedef struct {
    int64_t number, room; /* texts, and how many there is room for */
    int64_t size;         /* bytes that there is room for */
    int64_t *start;       /* where each begins, and the next one will */
    char *bytes;
    Place *places; /* 2 * room, found by the hash */
} Texts;

static uint64_t hash_of(const char *text, int64_t length)
{
    uint64_t hash = 0x9e3779b97f4a7c15u ^ (uint64_t)length, word;
    int64_t at = 0;
    for (; at + 8 <= length; at += 8) {
        memcpy(&word, text + at, 8);
        hash = (hash ^ word) * 0xd6e8feb86659fd93u;
        hash ^= hash >> 32;
    }
    word = 0;
    memcpy(&word, text + at, (size_t)(length - at));
    hash = (hash ^ word) * 0x9fb21c651e98df25u;
    hash ^= hash >> 29;
    hash *= 0xd6e8feb86659fd93u;
    return hash ^ (hash >> 32);
}

/* Find the place where a text is, or would be. */
static Place *place_of(const Texts *texts, uint64_t hash, const char *text, int64_t length)
{
    const uint64_t mask = (uint64_t)(2 * texts->room - 1);
    for (uint64_t at = hash & mask;; at = (at + 1) & mask) {
        Place *place = &texts->places[at];
        if (!place->code) return place;
        if (place->tag == hash >> 32 && texts->start[place->code] - place->begin == length &&
            !memcmp(texts->bytes + place->begin, text, (size_t)length))
            return place;
    }
}

/* Make room for twice as many texts; whether there is. */
static int grow(Texts *texts)
{
    const int64_t room = texts->room ? 2 * texts->room : 512;
    int64_t *start = realloc(texts->start, (size_t)(room + 1) * sizeof *start);
    if (start) texts->start = start;
    Place *places = calloc((size_t)(2 * room), sizeof *places), *old = texts->places;
    if (!start || !places) {
        free(places);
        return 0;
    }
    start[0] = 0;
    texts->room = room;
    texts->places = places;
    for (int64_t k = 0; k < texts->number; k++) {
        const char *text = texts->bytes + start[k];
        const uint64_t hash = hash_of(text, start[k + 1] - start[k]);
        Place *place = place_of(texts, hash, text, start[k + 1] - start[k]);
        *place = (Place){(uint32_t)(hash >> 32), (int32_t)k + 1, start[k]};
    }
    free(old);
    return 1;
}

/* Return the number of a text, a new one if it has none; below 0 if there is no memory. */
static int32_t number_of(Texts *texts, uint64_t hash, const char *text, int64_t length)
{
    if (texts->number == texts->room && !grow(texts)) return -1;
    Place *place = place_of(texts, hash, text, length);
    if (place->code) return place->code - 1;
    const int64_t begin = texts->start[texts->number];
    if (begin + length > texts->size) {
        char *bytes = realloc(texts->bytes, (size_t)(2 * (begin + length)));
        if (!bytes) return -1;
        texts->bytes = bytes;
        texts->size = 2 * (begin + length);
    }
    memcpy(texts->bytes + begin, text, (size_t)length);
    texts->start[++texts->number] = begin + length;
    *place = (Place){(uint32_t)(hash >> 32), (int32_t)texts->number, begin};
    return place->code - 1;
}

void aggcal_columns_free(Texts *texts, int64_t columns)
{
    for (int64_t k = 0; texts && k < columns; k++) {
        free(texts[k].start);
        free(texts[k].bytes);
        free(texts[k].places);
    }
    free(texts);
}

Texts *aggcal_columns_new(int64_t columns) { return calloc((size_t)columns, sizeof(Texts)); }

/* Return how many texts a column has; with room for them, copy them one after the other, and where
 * each begins and the last one ends. */
int64_t aggcal_column_texts(const Texts *texts, int64_t column, int64_t *start, char *bytes)
{
    const Texts *one = texts + column;
    if (start && one->number) memcpy(start, one->start, (size_t)(one->number + 1) * sizeof *start);
    if (bytes && one->number) memcpy(bytes, one->bytes, (size_t)one->start[one->number]);
    return one->number;
}

#define IS_END(c) ((c) == '\n' || (c) == '\r')
#define IS_SPACE(c) ((c) == ' ' || (c) == '\t')

/* A cell that waits for its number. */
typedef struct {
    const char *text;
    int64_t length;
    uint64_t hash;
    Texts *column;
    int32_t *code; /* where the number goes */
} Cell;

/* Number cells that wait, fetching what is not in the cache beforehand; whether there is memory. */
static int number_cells(const Cell *cell, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        if (cell[k].column->room)
            __builtin_prefetch(
                &cell[k].column->places[cell[k].hash & (uint64_t)(2 * cell[k].column->room - 1)]);
    for (int64_t k = 0; k < n; k++) {
        *cell[k].code = number_of(cell[k].column, cell[k].hash, cell[k].text, cell[k].length);
        if (*cell[k].code < 0) return 0;
    }
    return 1;
}

#define BLOCK 256 /* cells that wait before they are numbered */

/* Number the cells of lines, at most so many rows; return how many there are, below 0 if there is no
 * memory.
 *
 * A cell may stand in quotation marks, and one in it is doubled. place says for each of the width
 * columns of the header which row of code (stride apart) its numbers go to, below 0 if to none; a
 * blank cell is -1.
 * Lines of blank cells are passed over; one with fewer or more cells is the last that is looked at.
 * Without last, the text may end within a line, which is then left. row (or NULL) takes a hash of
 * each line. spare has room for the text. Reported: the bytes of whole rows, whether the line after
 * them is faulty, and how many rows there are up to the last one that has more than a first cell. */
int64_t aggcal_lines(const char *text, int64_t length, int last, char delimiter, int64_t width,
                     const int32_t *place, Texts *texts, int64_t room, int32_t *code,
                     int64_t stride, uint64_t *row, char *spare, int64_t *report)
{
    Cell *cell = malloc((size_t)(BLOCK + width) * sizeof *cell);
    int64_t at = 0, rows = 0, waiting = 0, whole = 0;
    if (!cell) return -1;
    report[0] = report[1] = report[2] = 0;
    while (!last && length && !IS_END(text[length - 1])) length--;
    while (at < length && rows < room) {
        const int64_t line = at;
        int64_t cells = 0, filled = 0, beyond = 0; /* the first */
        int open = 0;
        for (int more = 1; more; cells++) {
            const char *begin = text + at, *end;
            if (at < length && text[at] == '"') {
                begin = spare;
                for (at++; at < length; at++) {
                    if (text[at] == '"' && !(at + 1 < length && text[at + 1] == '"')) break;
                    at += text[at] == '"';
                    *spare++ = text[at];
                }
                open = at == length;
                for (at += !open; at < length && text[at] != delimiter && !IS_END(text[at]); at++)
                    *spare++ = text[at];
                end = spare;
            } else {
                while (at < length && text[at] != delimiter && !IS_END(text[at])) at++;
                end = text + at;
            }
            while (begin < end && IS_SPACE(*begin)) begin++;
            while (begin < end && IS_SPACE(end[-1])) end--;
            filled += begin < end;
            beyond += cells && begin < end;
            if (cells < width && place[cells] >= 0) {
                int32_t *to = &code[place[cells] * stride + rows];
                *to = -1;
                if (begin < end)
                    cell[waiting++] = (Cell){begin, end - begin, hash_of(begin, end - begin),
                                             &texts[place[cells]], to};
            }
            more = at < length && text[at] == delimiter;
            at += more;
        }
        if (at == length && !last) break;
        report[1] = open || (filled && cells != width);
        if (report[1]) break;
        if (row) row[rows] = hash_of(text + line, at - line);
        if (at < length && text[at] == '\r') at++;
        if (at < length && text[at] == '\n') at++;
        report[0] = at;
        rows += filled > 0;
        if (beyond) report[2] = rows;
        whole = waiting;
        if (waiting >= BLOCK) {
            if (!number_cells(cell, waiting)) rows = room = -1;
            waiting = whole = 0;
        }
    }
    if (rows >= 0 && !number_cells(cell, whole)) rows = -1; /* without those of a line that is left */
    free(cell);
    return rows;
}

/* Look hashes up among others; return how many are not there. */
int64_t aggcal_look_among(int64_t n, const uint64_t *hash, int64_t number, const uint64_t *others,
                      int32_t *code)
{
    int bits = 1;
    while (((int64_t)1 << bits) < 4 * number) bits++;
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    int32_t *spots = calloc((size_t)mask + 1, sizeof *spots);
    int64_t missing = 0;
    if (!spots) return n;
    for (int64_t k = 0; k < number; k++) {
        uint64_t at = others[k] & mask;
        while (spots[at]) at = (at + 1) & mask;
        spots[at] = (int32_t)k + 1;
    }
    for (int64_t k = 0; k < n; k++) {
        uint64_t at = hash[k] & mask;
        while (spots[at] && others[spots[at] - 1] != hash[k]) at = (at + 1) & mask;
        code[k] = spots[at] - 1;
        missing += !spots[at];
    }
    free(spots);
    return missing;
}
