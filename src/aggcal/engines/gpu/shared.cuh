/* The sums over judgments on a GPU.
 *
 * Random access is the whole cost, so rows are sorted by tile: SPAN winners by SPAN losers whose
 * numbers fit into the fast memory of one processor. A block of threads takes one unit (a stretch
 * of rows of one tile): it fetches the tile's scores, works through the rows, adds up by item in
 * fast memory, and hands its sums on once. Within a tile rows are sorted by annotator, so that the
 * sums by annotator are mostly made in registers.
 *
 * All sums that several threads add to are integers: numbers times a scale that keeps the largest
 * possible total in range. Integers add up to the same bits in any order, so results do not change
 * from run to run. A row's two items are two numbers of 13 bits in one word.
 */
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#ifndef THREADS
#define THREADS 1024
#endif
#define ROWS 4
#define LOCAL 13
#define MASK 8191u
#define EVERYONE 0xffffffffu

extern __shared__ __align__(16) char room[];

__device__ __forceinline__ void add(i64 *total, double value)
{
    atomicAdd((u64 *)total, (u64)__double2ll_rn(value));
}

/* What a block works on: rows begin to end, of a tile whose winners and losers start there. */
struct Unit { i64 begin, end; int winners, losers, most, unused; };

/* Sum by annotator: inside a thread, then over the threads of a warp, then in memory. */
template <typename Real, int HOW_MANY> struct ByAnnotator {
    u32 who;
    Real sum[HOW_MANY];
    bool any;
    i64 *total[HOW_MANY];
    double scale[HOW_MANY];

    __device__ __forceinline__ void emit()
    {
#pragma unroll
        for (int a = 0; a < HOW_MANY; a++) add(total[a] + who, (double)sum[a] * scale[a]);
    }
    __device__ __forceinline__ void begin() { any = false; who = EVERYONE; }
    __device__ __forceinline__ void row(u32 annotator, const Real *value)
    {
        if (any && annotator == who) {
#pragma unroll
            for (int a = 0; a < HOW_MANY; a++) sum[a] += value[a];
            return;
        }
        if (any) emit();
        any = true;
        who = annotator;
#pragma unroll
        for (int a = 0; a < HOW_MANY; a++) sum[a] = value[a];
    }
    /* All threads of a warp take part; those of one annotator are next to each other. */
    __device__ __forceinline__ void finish()
    {
        const int lane = threadIdx.x & 31;
        if (!any)
#pragma unroll
            for (int a = 0; a < HOW_MANY; a++) sum[a] = (Real)0;
        for (int step = 1; step < 32; step *= 2) {
            const u32 other = __shfl_down_sync(EVERYONE, who, step);
            const bool same = lane + step < 32 && other == who;
#pragma unroll
            for (int a = 0; a < HOW_MANY; a++) {
                const Real more = __shfl_down_sync(EVERYONE, sum[a], step);
                if (same) sum[a] += more;
            }
        }
        const u32 before = __shfl_up_sync(EVERYONE, who, 1);
        if (any && (lane == 0 || before != who)) emit();
    }
};

template <typename Real>
__device__ __forceinline__ void fetch(const Real *from, int first, int span, int n, Real *to)
{
    for (int k = threadIdx.x; k < span; k += THREADS) to[k] = first + k < n ? from[first + k] : (Real)0;
}
