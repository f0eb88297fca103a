/* The layout of rows, and sums that are linear in a vector: products with the curvature, random draws. */
/* Split sort keys into the two columns that rows are read from. */
extern "C" __global__ void split(i64 rows, const u64 *key, u64 annotators, u32 *pair, u32 *annotator)
{
    const i64 k = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    if (k >= rows) return;
    pair[k] = (u32)(key[k] & ((1u << 2 * LOCAL) - 1));
    annotator[k] = (u32)((key[k] >> 2 * LOCAL) & annotators);
}

/* The key that sorts rows by tile, then annotator; the row's two items are in its lowest bits. */
extern "C" __global__ void sort_key(i64 rows, const int *winner, const int *loser, const i64 *starts,
                                    int n_annotators, int span, u64 side, int annotator_bits, u64 *key)
{
    const i64 k = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    if (k >= rows) return;
    int low = 0, high = n_annotators; /* starts[low] <= k < starts[high] */
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (starts[middle] <= k) low = middle; else high = middle;
    }
    const u32 i = winner[k], j = loser[k], across = i / span, down = j / span;
    const u64 tile = across * side + down;
    key[k] = (((tile << annotator_bits) | (u64)low) << 2 * LOCAL)
             | ((u64)(i - across * span) << LOCAL) | (u64)(j - down * span);
}

/* For each unit, how often its most frequent item occurs on one side. */
extern "C" __global__ void __launch_bounds__(THREADS) crowding(Unit *units, const u32 *pair, int span)
{
    u32 *count = (u32 *)room;
    __shared__ u32 most;
    Unit unit = units[blockIdx.x];
    if (threadIdx.x == 0) most = 1;
    for (int k = threadIdx.x; k < 2 * span; k += THREADS) count[k] = 0;
    __syncthreads();
    for (i64 k = unit.begin + threadIdx.x; k < unit.end; k += THREADS) {
        atomicAdd(count + (pair[k] >> LOCAL), 1u);
        atomicAdd(count + span + (pair[k] & MASK), 1u);
    }
    __syncthreads();
    u32 mine = 0;
    for (int k = threadIdx.x; k < 2 * span; k += THREADS) mine = max(mine, count[k]);
    atomicMax(&most, mine);
    __syncthreads();
    if (threadIdx.x == 0) units[blockIdx.x].most = most;
}

/* Degrees: total weight of each item's rows, times a scale. */
template <bool WEIGHTED>
__global__ void __launch_bounds__(THREADS)
degrees(const Unit *units, const u32 *pair, const double *weight, int span, double scale, i64 *total)
{
    u32 *count = (u32 *)room;
    const Unit unit = units[blockIdx.x];
    for (int k = threadIdx.x; k < 2 * span; k += THREADS) count[k] = 0;
    __syncthreads();
    for (i64 k = unit.begin + threadIdx.x; k < unit.end; k += THREADS) {
        if (WEIGHTED) {
            add(total + unit.winners + (pair[k] >> LOCAL), weight[k] * scale);
            add(total + unit.losers + (pair[k] & MASK), weight[k] * scale);
        } else {
            atomicAdd(count + (pair[k] >> LOCAL), 1u);
            atomicAdd(count + span + (pair[k] & MASK), 1u);
        }
    }
    __syncthreads();
    if (WEIGHTED) return;
    for (int k = threadIdx.x; k < span; k += THREADS) {
        if (count[k]) add(total + unit.winners + k, count[k] * scale);
        if (count[span + k]) add(total + unit.losers + k, count[span + k] * scale);
    }
}

/* For each item, the weighted sum of a vector over the items it is paired with, times a scale. */
extern "C" __global__ void neighbours(i64 pairs, const int *left, const int *right, const float *weight,
                                      const double *vector, double scale, i64 *total)
{
    const i64 k = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    if (k >= pairs) return;
    const int i = left[k], j = right[k];
    add(total + i, weight[k] * vector[j] * scale);
    add(total + j, weight[k] * vector[i] * scale);
}

/* The numbers of each row's items in the whole study. */
extern "C" __global__ void items_of(const Unit *units, const u32 *pair, u32 *winner, u32 *loser)
{
    const Unit unit = units[blockIdx.x];
    for (i64 k = unit.begin + threadIdx.x; k < unit.end; k += blockDim.x) {
        winner[k] = unit.winners + (pair[k] >> LOCAL);
        loser[k] = unit.losers + (pair[k] & MASK);
    }
}

/* What rows add to the entries of B, two each: in a word, from the top, which entry, and how much, as
 * a whole number above the middle of its bits. Sorted, the words of an entry are next to each other. */
#define AMOUNT 30
#define MIDDLE (1ll << (AMOUNT - 1))
extern "C" __global__ void border_keys(i64 rows, const u32 *annotator, const u32 *winner, const u32 *loser,
                                       const float *cross, u32 first, u64 n, double step, u64 *key)
{
    const i64 k = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    if (k >= rows) return;
    const u64 owner = (annotator[k] - first) * n;
    const i64 amount = __double2ll_rn(cross[k] * step);
    key[2 * k] = (owner + winner[k]) << AMOUNT | (u64)(MIDDLE + amount);
    key[2 * k + 1] = (owner + loser[k]) << AMOUNT | (u64)(MIDDLE - amount);
}

/* How much each word adds. */
extern "C" __global__ void border_values(i64 words, const u64 *key, i64 *amount)
{
    const i64 k = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    if (k < words) amount[k] = (i64)(key[k] & ((1ull << AMOUNT) - 1)) - MIDDLE;
}

/* By item: the sum of the squares of its entries, each over its annotator's D; `running` has the sums
 * of the amounts so far. An entry may have very many words: its end is searched for. */
extern "C" __global__ void border_squares(i64 words, const u64 *key, const i64 *running, u64 n,
                                          const double *inner, double unit, double scale, i64 *total)
{
    const i64 k = blockIdx.x * (i64)blockDim.x + threadIdx.x;
    if (k >= words) return;
    const u64 mine = key[k] >> AMOUNT;
    if (k > 0 && key[k - 1] >> AMOUNT == mine) return;
    i64 reach = 1;
    while (k + reach < words && key[k + reach] >> AMOUNT == mine) reach *= 2;
    i64 last = k + reach / 2, beyond = min(k + reach, words);
    while (beyond - last > 1) {
        const i64 middle = (last + beyond) / 2;
        if (key[middle] >> AMOUNT == mine) last = middle; else beyond = middle;
    }
    const double entry = (double)(running[last] - (k > 0 ? running[k - 1] : 0)) * unit;
    add(total + mine % n, entry * entry / inner[mine / n] * scale);
}

/* What a product must know of its vector: sizes that bound its sums; on the device, never fetched. */
struct Bounds { float vector, shared, near, cross; };

/* By annotator: the sum of cross times the difference of the vector. */
__global__ void __launch_bounds__(THREADS, 2)
border(const Unit *units, const u32 *pair, const u32 *annotator, int span, int n, const float *vector,
       const float *cross, double scale, const Bounds *bounds, i64 *total)
{
    float *winners = (float *)room, *losers = winners + span;
    const Unit unit = units[blockIdx.x];
    fetch(vector, unit.winners, span, n, winners);
    fetch(vector, unit.losers, span, n, losers);
    __syncthreads();
    ByAnnotator<float, 1> sums;
    sums.total[0] = total;
    sums.scale[0] = scale / (2.0 * (double)bounds->vector * bounds->cross);
    for (i64 base = (unit.begin & ~(i64)(ROWS - 1)); base < unit.end; base += (i64)THREADS * ROWS) {
        const i64 first = base + (i64)threadIdx.x * ROWS;
        sums.begin();
        if (first < unit.end) {
            const uint4 pairs = *(const uint4 *)(pair + first);
            const uint4 who = *(const uint4 *)(annotator + first);
            const float4 crosses = *(const float4 *)(cross + first);
            const u32 p[ROWS] = {pairs.x, pairs.y, pairs.z, pairs.w};
            const u32 u[ROWS] = {who.x, who.y, who.z, who.w};
            const float b[ROWS] = {crosses.x, crosses.y, crosses.z, crosses.w};
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                const i64 k = first + r;
                if (k < unit.begin || k >= unit.end) continue;
                const float value[1] = {b[r] * (winners[p[r] >> LOCAL] - losers[p[r] & MASK])};
                sums.row(u[r], value);
            }
        }
        sums.finish();
    }
}

/* By item: (near times the difference of the vector) minus (cross times the annotator's share). */
template <bool SLOPES>
__global__ void __launch_bounds__(THREADS, 2)
product(const Unit *units, const u32 *pair, const u32 *annotator, int span, int n, const float *vector,
        const float *near, const float *cross, const float *shared, double scale,
        const Bounds *bounds, i64 *total)
{
    float *winners = (float *)room, *losers = winners + span;
    int *sum = (int *)(losers + span);
    const Unit unit = units[blockIdx.x];
    fetch(vector, unit.winners, span, n, winners);
    fetch(vector, unit.losers, span, n, losers);
    for (int k = threadIdx.x; k < 2 * span; k += THREADS) sum[k] = 0;
    double most = 2.0 * (double)bounds->vector * bounds->near;
    if (SLOPES) most += (double)bounds->shared * bounds->cross;
    most = most > 0.0 ? most : 1.0;
    const double step = 1073741824.0 / ((double)unit.most * most);
    const float scaled = (float)step;
    __syncthreads();
    for (i64 base = (unit.begin & ~(i64)(ROWS - 1)); base < unit.end; base += (i64)THREADS * ROWS) {
        const i64 first = base + (i64)threadIdx.x * ROWS;
        if (first >= unit.end) continue;
        const uint4 pairs = *(const uint4 *)(pair + first);
        const float4 nears = *(const float4 *)(near + first);
        const u32 p[ROWS] = {pairs.x, pairs.y, pairs.z, pairs.w};
        const float a[ROWS] = {nears.x, nears.y, nears.z, nears.w};
        float b[ROWS] = {0.0f, 0.0f, 0.0f, 0.0f}, t[ROWS] = {0.0f, 0.0f, 0.0f, 0.0f};
        if (SLOPES) {
            const uint4 who = *(const uint4 *)(annotator + first);
            const float4 crosses = *(const float4 *)(cross + first);
            b[0] = crosses.x, b[1] = crosses.y, b[2] = crosses.z, b[3] = crosses.w;
            t[0] = shared[who.x], t[1] = shared[who.y], t[2] = shared[who.z], t[3] = shared[who.w];
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const i64 k = first + r;
            if (k < unit.begin || k >= unit.end) continue;
            const u32 i = p[r] >> LOCAL, j = p[r] & MASK;
            const float flow = a[r] * (winners[i] - losers[j]) - t[r] * b[r];
            const int whole = __float2int_rn(flow * scaled);
            atomicAdd(sum + i, whole);
            atomicAdd(sum + span + j, -whole);
        }
    }
    __syncthreads();
    const double back = scale / most / step;
    for (int k = threadIdx.x; k < span; k += THREADS) {
        if (sum[k]) add(total + unit.winners + k, sum[k] * back);
        if (sum[span + k]) add(total + unit.losers + k, sum[span + k] * back);
    }
}

/* By item: the sum of a column of non-negative numbers, none above bounds->near. */
__global__ void __launch_bounds__(THREADS, 2)
column_sums(const Unit *units, const u32 *pair, int span, const float *column, double scale,
            const Bounds *bounds, i64 *total)
{
    u32 *sum = (u32 *)room;
    const Unit unit = units[blockIdx.x];
    for (int k = threadIdx.x; k < 2 * span; k += THREADS) sum[k] = 0;
    const double step = 2147483648.0 / ((double)unit.most * bounds->near);
    __syncthreads();
    for (i64 k = unit.begin + threadIdx.x; k < unit.end; k += THREADS) {
        const u32 whole = __double2uint_rn(column[k] * step);
        atomicAdd(sum + (pair[k] >> LOCAL), whole);
        atomicAdd(sum + span + (pair[k] & MASK), whole);
    }
    __syncthreads();
    const double back = scale / bounds->near / step;
    for (int k = threadIdx.x; k < span; k += THREADS) {
        if (sum[k]) add(total + unit.winners + k, sum[k] * back);
        if (sum[span + k]) add(total + unit.losers + k, sum[span + k] * back);
    }
}

/* A coin for row k: +1 or -1 (the last step of SplitMix64). */
__device__ __forceinline__ float coin(u64 key, i64 k)
{
    u64 z = key + (u64)k * 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return (z >> 63) ? -1.0f : 1.0f;
}

/* By annotator: the sum of coin times b, for rows whose information is (a, b)(a, b)'. */
__global__ void __launch_bounds__(THREADS, 2)
tossed_slopes(const Unit *units, const u32 *annotator, const float *near, const float *cross, u64 key,
              double scale, i64 *total)
{
    const Unit unit = units[blockIdx.x];
    ByAnnotator<float, 1> sums;
    sums.total[0] = total, sums.scale[0] = scale;
    for (i64 base = (unit.begin & ~(i64)(ROWS - 1)); base < unit.end; base += (i64)THREADS * ROWS) {
        const i64 first = base + (i64)threadIdx.x * ROWS;
        sums.begin();
        for (int r = 0; r < ROWS; r++) {
            const i64 k = first + r;
            if (k < unit.begin || k >= unit.end) continue;
            /* A row that tells nothing adds 0: threads of one annotator must stay side by side. */
            const float value[1] = {
                near[k] > 0.0f ? coin(key, k) * cross[k] / sqrtf(near[k]) : 0.0f};
            sums.row(annotator[k], value);
        }
        sums.finish();
    }
}

/* By item: the sum of coin times a, minus cross times the annotator's share. */
template <bool SLOPES>
__global__ void __launch_bounds__(THREADS, 2)
tossed_items(const Unit *units, const u32 *pair, const u32 *annotator, int span, const float *near,
             const float *cross, const float *shared, u64 key, double most, double scale, i64 *total)
{
    int *sum = (int *)room;
    const Unit unit = units[blockIdx.x];
    for (int k = threadIdx.x; k < 2 * span; k += THREADS) sum[k] = 0;
    const double step = 1073741824.0 / ((double)unit.most * most);
    const float scaled = (float)step;
    __syncthreads();
    for (i64 k = unit.begin + threadIdx.x; k < unit.end; k += THREADS) {
        float force = coin(key, k) * sqrtf(near[k]);
        if (SLOPES) force -= cross[k] * shared[annotator[k]];
        const int whole = __float2int_rn(force * scaled);
        atomicAdd(sum + (pair[k] >> LOCAL), whole);
        atomicAdd(sum + span + (pair[k] & MASK), -whole);
    }
    __syncthreads();
    const double back = scale / step;
    for (int k = threadIdx.x; k < span; k += THREADS) {
        if (sum[k]) add(total + unit.winners + k, sum[k] * back);
        if (sum[span + k]) add(total + unit.losers + k, sum[span + k] * back);
    }
}
