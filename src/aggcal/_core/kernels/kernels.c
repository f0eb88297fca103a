/* The version, the processor, connected components, and isotonic regression. */
#include <stdint.h>

/* Raised with every change of a signature: a library of another version is not loaded. */
int aggcal_version(void) { return 36; }

/* The highest level of x86-64 that this processor runs and there are kernels for; else 1. */
int aggcal_level(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__builtin_cpu_supports("bmi2"))
        return 1;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512vl")
               ? 4
               : 3;
#else
    return 1;
#endif
}

static int32_t root_of(int32_t *parent, int32_t i)
{
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

/* Connected pieces by union-find: parent[i] ends as the smallest item of i's piece. Most studies are
 * one piece after a small part of their rows, and the rest need not be looked at. */
void aggcal_components(int64_t n_rows, const int32_t *left, const int32_t *right, int32_t n_items,
                       int32_t *parent)
{
    int32_t pieces = n_items;
    for (int32_t i = 0; i < n_items; i++) parent[i] = i;
    for (int64_t k = 0; k < n_rows && pieces > 1; k++) {
        int32_t a = root_of(parent, left[k]), b = root_of(parent, right[k]);
        if (a == b) continue;
        if (a < b) parent[b] = a;
        if (b < a) parent[a] = b;
        pieces--;
    }
    for (int32_t i = 0; i < n_items; i++) parent[i] = root_of(parent, i);
}

/* Isotonic regression by pooling adjacent violators: values and their weights become those of the
 * blocks, first[b] where block b begins. Returns how many blocks there are. */
int64_t aggcal_isotonic(int64_t n, double *value, double *weight, int64_t *first)
{
    int64_t blocks = 0;
    for (int64_t i = 0; i < n; i++) {
        double v = value[i], w = weight[i];
        int64_t begin = i;
        while (blocks > 0 && value[blocks - 1] >= v) {
            blocks--;
            double both = weight[blocks] + w;
            v = (weight[blocks] * value[blocks] + w * v) / both;
            w = both;
            begin = first[blocks];
        }
        value[blocks] = v, weight[blocks] = w, first[blocks] = begin;
        blocks++;
    }
    return blocks;
}
