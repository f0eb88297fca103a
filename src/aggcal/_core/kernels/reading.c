/* Reading judgments: codes for the ids of a table, and rows sorted and merged.
 *
 * A row becomes one number, its key: annotator, left, right and outcome, each in as many bits as
 * its codes need, so that sorting keys sorts rows and equal keys are equal rows. Nothing here
 * decides what a cell means: what is not plain is counted, and the caller has it read elsewhere.
 */
#include "shared.h"
#include <pthread.h>
#include <stdlib.h>

/* --- codes of ids by their hashes --------------------------------------------------------- */

/* A place of a table; code 0 is an empty one, so that zeroed memory is an empty table. */
typedef struct {
    uint64_t hash;
    int64_t code;
} Place;

/* The places of a few rows ahead are fetched while those before are looked at: a large table is not
 * in the cache. */
#define AHEAD 16

/* Fill a table of 2^bits places; return how many hashes stand there twice: they tell nothing. */
int64_t aggcal_hash_table(int64_t n, const uint64_t *hash, const int32_t *code, int bits,
                          Place *table)
{
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    int64_t twice = 0;
    for (int64_t k = 0; k < n; k++) {
        uint64_t at = hash[k] & mask;
        if (k + AHEAD < n) __builtin_prefetch(&table[hash[k + AHEAD] & mask], 1);
        while (table[at].code && table[at].hash != hash[k]) at = (at + 1) & mask;
        twice += table[at].code != 0;
        table[at].hash = hash[k];
        table[at].code = (int64_t)code[k] + 1;
    }
    return twice;
}

/* Look up the codes of hashes; return how many are unknown. */
int64_t aggcal_look_up(int64_t n, const uint64_t *hash, int bits, const Place *table,
                       int32_t *code)
{
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    int64_t unknown = 0;
    for (int64_t k = 0; k < n; k++) {
        uint64_t at = hash[k] & mask;
        if (k + AHEAD < n) __builtin_prefetch(&table[hash[k + AHEAD] & mask]);
        while (table[at].code && table[at].hash != hash[k]) at = (at + 1) & mask;
        unknown += table[at].code == 0;
        code[k] = (int32_t)(table[at].code - 1);
    }
    return unknown;
}

/* The same for hashes of 32 bits. */
int64_t aggcal_look_up_short(int64_t n, const uint32_t *hash, int bits, const Place *table,
                             int32_t *code)
{
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    int64_t unknown = 0;
    for (int64_t k = 0; k < n; k++) {
        uint64_t at = hash[k] & mask;
        while (table[at].code && table[at].hash != hash[k]) at = (at + 1) & mask;
        unknown += table[at].code == 0;
        code[k] = (int32_t)(table[at].code - 1);
    }
    return unknown;
}

/* --- codes of texts, in the order in which they are met ------------------------------------ */

/* Where a text is known: what it is compared by stands here, so that one look at the text does. */
typedef struct {
    uint32_t tag;  /* the upper half of its hash */
    int32_t code;  /* plus 1: 0 is an empty place */
    uint64_t span; /* where it begins, and in the lowest LENGTH bits how long it is */
} Spot;

#define LENGTH 24 /* a line of a table is shorter than 2^24 bytes */
#define LONGEST (((int64_t)1 << LENGTH) - 1)

/* Different texts. Many threads look texts up at a time; those that add some go one by one. */
typedef struct {
    pthread_rwlock_t lock;
    int64_t number, most; /* texts, and how many there may be */
    int bits;
    Spot *spots;
    int64_t *start; /* where each text begins, and at last where the next one will */
    int64_t room;   /* texts that start has room for */
    char *bytes;
    int64_t size; /* bytes that there is room for */
    int failed;   /* no memory */
} Texts;

PART uint64_t word_at(const char *p)
{
    uint64_t word;
    memcpy(&word, p, 8);
    return word;
}

PART uint64_t half_at(const char *p)
{
    uint32_t half;
    memcpy(&half, p, 4);
    return half;
}

PART uint64_t stirred(uint64_t h)
{
    h ^= h >> 32;
    h *= 0x9fb21c651e98df25u;
    h ^= h >> 29;
    h *= 0xd6e8feb86659fd93u;
    return h ^ (h >> 32);
}

/* Texts are compared as well, so that a hash need only be quick and spread well. */
PART uint64_t hash_of(const char *text, int64_t length)
{
    uint64_t h = 0x9e3779b97f4a7c15u ^ (uint64_t)length;
    int64_t k = 0;
    for (; k + 8 <= length; k += 8) {
        h = (h ^ word_at(text + k)) * 0xd6e8feb86659fd93u;
        h ^= h >> 32;
    }
    if (k < length) {
        uint64_t rest; /* what is left, and some of what is not: the length tells them apart */
        if (length >= 8)
            rest = word_at(text + length - 8);
        else if (length >= 4)
            rest = half_at(text) << 32 | half_at(text + length - 4);
        else
            rest = (uint64_t)(unsigned char)text[0] << 16 |
                   (uint64_t)(unsigned char)text[length >> 1] << 8 |
                   (unsigned char)text[length - 1];
        h = (h ^ rest) * 0x9fb21c651e98df25u;
    }
    return stirred(h);
}

void aggcal_texts_free(Texts *texts)
{
    if (!texts) return;
    pthread_rwlock_destroy(&texts->lock);
    free(texts->spots);
    free(texts->start);
    free(texts->bytes);
    free(texts);
}

Texts *aggcal_texts_new(int64_t most)
{
    Texts *texts = calloc(1, sizeof *texts);
    if (!texts) return NULL;
    pthread_rwlock_init(&texts->lock, NULL);
    texts->most = most;
    texts->bits = 10;
    texts->room = 512;
    texts->size = 1 << 14;
    texts->spots = calloc((size_t)1 << texts->bits, sizeof(Spot));
    texts->start = calloc((size_t)texts->room + 1, sizeof(int64_t));
    texts->bytes = malloc((size_t)texts->size);
    if (texts->spots && texts->start && texts->bytes) return texts;
    aggcal_texts_free(texts);
    return NULL;
}

int64_t aggcal_texts_number(const Texts *texts) { return texts->number; }
int64_t aggcal_texts_bytes(const Texts *texts) { return texts->start[texts->number]; }

/* Copy the texts, one after the other, and where each begins and the last one ends. */
void aggcal_texts_copy(const Texts *texts, char *bytes, int64_t *start)
{
    memcpy(bytes, texts->bytes, (size_t)texts->start[texts->number]);
    memcpy(start, texts->start, (size_t)(texts->number + 1) * sizeof *start);
}

/* The place where a text is, or would be. */
PART Spot *spot_of(const Texts *texts, uint64_t hash, const char *text, int64_t length)
{
    const uint64_t mask = ((uint64_t)1 << texts->bits) - 1;
    const uint32_t tag = (uint32_t)(hash >> 32);
    for (uint64_t at = hash & mask;; at = (at + 1) & mask) {
        Spot *spot = &texts->spots[at];
        if (!spot->code) return spot;
        if (spot->tag == tag && (int64_t)(spot->span & LONGEST) == length &&
            !memcmp(texts->bytes + (spot->span >> LENGTH), text, (size_t)length))
            return spot;
    }
}

/* Make room for one more text; whether there is. */
static int make_room(Texts *texts, int64_t length)
{
    const int64_t end = texts->start[texts->number] + length;
    if (texts->number == texts->room) {
        int64_t *start = realloc(texts->start, (size_t)(2 * texts->room + 1) * sizeof *start);
        if (!start) return 0;
        texts->start = start;
        texts->room *= 2;
    }
    if (end > texts->size) {
        const int64_t size = end > 2 * texts->size ? end : 2 * texts->size;
        char *bytes = realloc(texts->bytes, (size_t)size);
        if (!bytes) return 0;
        texts->bytes = bytes;
        texts->size = size;
    }
    if (2 * (texts->number + 1) > (int64_t)1 << texts->bits) {
        Spot *spots = calloc((size_t)2 << texts->bits, sizeof *spots), *old = texts->spots;
        if (!spots) return 0;
        texts->spots = spots;
        texts->bits++;
        for (int64_t k = 0; k < texts->number; k++) {
            const int64_t length = texts->start[k + 1] - texts->start[k];
            const uint64_t hash = hash_of(texts->bytes + texts->start[k], length);
            const uint64_t mask = ((uint64_t)1 << texts->bits) - 1;
            uint64_t at = hash & mask;
            while (spots[at].code) at = (at + 1) & mask;
            spots[at].tag = (uint32_t)(hash >> 32);
            spots[at].code = (int32_t)k + 1;
            spots[at].span = (uint64_t)texts->start[k] << LENGTH | (uint64_t)length;
        }
        free(old);
    }
    return 1;
}

/* Return the code of a text, a new one if it has none; below 0 if there is no room. */
static int32_t code_of(Texts *texts, const char *text, int64_t length)
{
    const uint64_t hash = hash_of(text, length);
    Spot *spot = spot_of(texts, hash, text, length);
    if (spot->code) return spot->code - 1;
    if (texts->number >= texts->most || length > LONGEST || !make_room(texts, length)) {
        texts->failed = 1;
        return -1;
    }
    spot = spot_of(texts, hash, text, length); /* room may have moved it */
    const int64_t begin = texts->start[texts->number];
    memcpy(texts->bytes + begin, text, (size_t)length);
    texts->start[texts->number + 1] = begin + length;
    spot->tag = (uint32_t)(hash >> 32);
    spot->code = (int32_t)++texts->number;
    spot->span = (uint64_t)begin << LENGTH | (uint64_t)length;
    return spot->code - 1;
}

#define BLOCK 64
#define MISSING (-1)
#define UNSEEN (-2)

/* Give texts their codes. Text k is bytes[offset[k]] to bytes[offset[k + 1]]; valid has a bit for
 * each, from bit first on (NULL: all are there), and one that is not gets the code -1. Where
 * nothing may be added, and where there is no room, 0 is returned, else 1. */
int aggcal_texts_codes(Texts *texts, int64_t n, const int32_t *offset, const char *bytes,
                       const uint8_t *valid, int64_t first, int adding, int32_t *code)
{
    uint64_t hash[BLOCK];
    int64_t unseen = 0;
    pthread_rwlock_rdlock(&texts->lock);
    const uint64_t mask = ((uint64_t)1 << texts->bits) - 1;
    for (int64_t from = 0; from < n; from += BLOCK) {
        const int count = (int)(n - from < BLOCK ? n - from : BLOCK);
        for (int k = 0; k < count; k++) {
            const int32_t begin = offset[from + k];
            hash[k] = hash_of(bytes + begin, offset[from + k + 1] - begin);
            __builtin_prefetch(&texts->spots[hash[k] & mask]);
        }
        for (int k = 0; k < count; k++) {
            const Spot *spot = &texts->spots[hash[k] & mask];
            __builtin_prefetch(texts->bytes + (spot->span >> LENGTH));
        }
        for (int k = 0; k < count; k++) {
            const int64_t row = from + k, bit = first + row;
            if (valid && !(valid[bit >> 3] >> (bit & 7) & 1)) {
                code[row] = MISSING;
                continue;
            }
            const int32_t begin = offset[row];
            const Spot *spot = spot_of(texts, hash[k], bytes + begin, offset[row + 1] - begin);
            code[row] = spot->code ? spot->code - 1 : UNSEEN;
            unseen += !spot->code;
        }
    }
    int whole = !texts->failed;
    pthread_rwlock_unlock(&texts->lock);
    if (!unseen || !adding) return whole && !unseen;
    pthread_rwlock_wrlock(&texts->lock);
    for (int64_t k = 0; k < n && !texts->failed; k++)
        if (code[k] == UNSEEN)
            code[k] = code_of(texts, bytes + offset[k], offset[k + 1] - offset[k]);
    whole = !texts->failed;
    pthread_rwlock_unlock(&texts->lock);
    return whole;
}

/* --- keys of rows --------------------------------------------------------------------------- */

/* How a key is made up, and what the codes of outcomes are: those below fitted are values, the
 * others reasons not to fit a row. Where there are few different weights, their codes, from the
 * lightest on, are the lowest bits, and all else stands above them. */
typedef struct {
    int32_t right, left, annotator; /* the lowest bit of each, above the weight */
    int32_t fitted;
    int32_t weight; /* bits of the code of a weight */
} Layout;

/* A row that is not fitted: where it stands, its codes, and why. */
typedef struct {
    int32_t row, annotator, left, right, reason;
} Aside;

enum { SELF_PAIR = -1, ZERO_WEIGHT = -2 };

/* What is seen of weights: the lightest above 0 and the heaviest. */
typedef struct {
    double lightest, heaviest;
} Weights;

/* Write the keys of rows. A code may be translated by a list, and outcome, weight and lists may be
 * NULL. Weights are numbers, or codes (weigh) of numbers (measure) that are known to be fit. Rows that are not fitted get the key nothing and are listed. Returns how many those are;
 * -1 where an id is missing or a weight is none. */
int64_t aggcal_keys(int64_t n, const int32_t *annotator, const int32_t *left,
                    const int32_t *right, const int32_t *outcome, const int32_t *weigh,
                    const double *weight, const int32_t *annotators, const int32_t *lefts,
                    const int32_t *rights, const int32_t *outcomes, const int32_t *weighs,
                    const double *measure, const Layout *layout, uint64_t nothing, uint64_t *key,
                    Aside *aside, Weights *seen)
{
    int64_t number = 0;
    int bad = 0;
    for (int64_t k = 0; k < n; k++) {
        int32_t a = annotator[k], l = left[k], r = right[k], o = outcome ? outcome[k] : 0;
        if (a < 0 || l < 0 || r < 0) return -1;
        if (annotators) a = annotators[a];
        if (lefts) l = lefts[l];
        if (rights) r = rights[r];
        if (outcomes) o = outcomes[o + 1]; /* one that is missing is the first of the list */
        double w = weight ? weight[k] : 1.0;
        key[k] = (uint64_t)a << layout->annotator | (uint64_t)l << layout->left |
                 (uint64_t)r << layout->right | (uint64_t)o;
        if (weigh) {
            if (weigh[k] < 0) return -1;
            const int32_t code = weighs ? weighs[weigh[k]] : weigh[k];
            w = measure[code];
            key[k] = key[k] << layout->weight | (uint64_t)code;
        }
        if (weight) {
            bad |= !(w >= 0.0 && w <= 1e9) || (w > 0.0 && w < 1e-9);
            if (w > seen->heaviest) seen->heaviest = w;
            if (w > 0.0 && w < seen->lightest) seen->lightest = w;
        }
        if (o >= layout->fitted || l == r || w == 0.0) {
            const int32_t why = o >= layout->fitted ? o : l == r ? SELF_PAIR : ZERO_WEIGHT;
            const Aside found = {(int32_t)k, a, l, r, why};
            aside[number++] = found;
            key[k] = nothing;
        }
    }
    return bad ? -1 : number;
}

/* Mix the bits of keys: different ones stay different. */
void aggcal_stir(int64_t n, uint64_t *key)
{
    for (int64_t k = 0; k < n; k++) key[k] = stirred(key[k]);
}

/* --- sorting -------------------------------------------------------------------------------- */

/* Count the digits of keys that begin at a bit, for a sort by digits, the lowest first. */
void aggcal_digits(int64_t n, const uint64_t *key, int bit, uint64_t mask, int64_t *number)
{
    for (int64_t k = 0; k < n; k++) number[key[k] >> bit & mask]++;
}

/* Put each key (and its weight, unless NULL) where the next one of its digit goes. */
void aggcal_deal(int64_t n, const uint64_t *key, const double *weight, int bit, uint64_t mask,
                 int64_t *place, uint64_t *keys, double *weights)
{
    if (!weight) {
        for (int64_t k = 0; k < n; k++) keys[place[key[k] >> bit & mask]++] = key[k];
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        const int64_t to = place[key[k] >> bit & mask]++;
        keys[to] = key[k];
        weights[to] = weight[k];
    }
}

/* --- merging -------------------------------------------------------------------------------- */

/* Count the different keys of a sorted list, but for their lowest bits. */
int64_t aggcal_runs(int64_t n, const uint64_t *key, int lowest)
{
    int64_t runs = n > 0;
    for (int64_t k = 1; k < n; k++) runs += key[k] >> lowest != key[k - 1] >> lowest;
    return runs;
}

static int by_size(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static void sort_weights(double *weight, int64_t n)
{
    if (n > 32) {
        qsort(weight, (size_t)n, sizeof *weight, by_size);
        return;
    }
    for (int64_t k = 1; k < n; k++) {
        const double w = weight[k];
        int64_t to = k;
        for (; to > 0 && weight[to - 1] > w; to--) weight[to] = weight[to - 1];
        weight[to] = w;
    }
}

/* Take the rows of a sorted list of keys apart into columns, equal ones as one, and mark the ids
 * that occur. Weights are summed from the smallest on, in place. Outcome and total may be NULL, and
 * so may weight and measure, without which each row counts 1. Returns how many rows are equal to one before
 * them in key and weight. */
int64_t aggcal_merge(int64_t n, const uint64_t *key, double *weight, const double *measure,
                     const Layout *layout, const double *values, int32_t *annotator, int32_t *left, int32_t *right,
                     double *outcome, double *total, int64_t *count, uint8_t *judged,
                     uint8_t *judging)
{
    const uint64_t one = 1;
    const uint64_t items = (one << (layout->left - layout->right)) - 1;
    const uint64_t outcomes = (one << layout->right) - 1;
    const int lowest = layout->weight;
    const uint64_t weights = (one << lowest) - 1;
    int64_t again = 0, row = 0;
    for (int64_t k = 0; k < n; row++) {
        const uint64_t here = key[k] >> lowest;
        int64_t end = k + 1;
        while (end < n && key[end] >> lowest == here) end++;
        annotator[row] = (int32_t)(here >> layout->annotator);
        left[row] = (int32_t)(here >> layout->left & items);
        right[row] = (int32_t)(here >> layout->right & items);
        __atomic_store_n(&judging[annotator[row]], 1, __ATOMIC_RELAXED);
        __atomic_store_n(&judged[left[row]], 1, __ATOMIC_RELAXED);
        __atomic_store_n(&judged[right[row]], 1, __ATOMIC_RELAXED);
        if (outcome) outcome[row] = values[here & outcomes];
        if (count) count[row] = end - k;
        if (weight) {
            sort_weights(weight + k, end - k);
            double sum = 0.0;
            for (int64_t j = k; j < end; j++) {
                sum += weight[j];
                again += j > k && weight[j] == weight[j - 1];
            }
            if (total) total[row] = sum;
        } else if (measure) {
            double sum = 0.0;
            for (int64_t j = k; j < end; j++) {
                sum += measure[key[j] & weights];
                again += j > k && key[j] == key[j - 1];
            }
            if (total) total[row] = sum;
        } else {
            again += end - k - 1;
        }
        k = end;
    }
    return again;
}
