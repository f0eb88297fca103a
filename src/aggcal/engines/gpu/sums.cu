/* The sums at given scores, which depend on the link: loss, forces, slopes, curvature, information. */
enum { LOGISTIC, NORMAL, LAPLACE };

struct Terms { double loss, pull, curve; };

template <int LINK> __device__ __forceinline__ Terms terms(double x)
{
    Terms t;
    if (LINK == LOGISTIC) {
        const double e = exp(-fabs(x)), r = 1.0 / (1.0 + e);
        t.loss = log1p(e) + (x < 0.0 ? -x : 0.0);
        t.pull = x >= 0.0 ? e * r : r;
        t.curve = e * r * r;
    } else if (LINK == LAPLACE) {
        const double size = fabs(x), tail = 0.25 * exp(-size);
        if (x < 0.0) {
            const double r = 1.0 / (2.0 + size);
            t.loss = size + log(4.0 * r);
            t.pull = 1.0 - r;
            t.curve = r * r;
        } else {
            const double lack = (2.0 + size) * tail, f = 1.0 - lack;
            t.pull = (1.0 + size) * tail / f;
            t.loss = -log1p(-lack);
            t.curve = size * tail / f + t.pull * t.pull;
        }
    } else {
        const double root_half = 0.70710678118654752440;
        if (x < 0.0) {
            const double scaled = erfcx(-x * root_half);
            t.pull = 0.79788456080286535588 / scaled;
            t.loss = 0.5 * x * x - log(0.5 * scaled);
        } else {
            const double lack = 0.5 * erfc(x * root_half);
            t.pull = 0.39894228040143267794 * exp(-0.5 * x * x) / (1.0 - lack);
            t.loss = -log1p(-lack);
        }
        if (x < -1e3) {
            const double inverse = 1.0 / (x * x);
            t.curve = 1.0 - inverse + 6.0 * inverse * inverse;
        } else {
            t.curve = t.pull * (t.pull + x);
        }
    }
    return t;
}

/* Slope sums only: the annotators' gradients and curvatures at given slopes. */
template <int LINK, bool WEIGHTED>
__global__ void __launch_bounds__(THREADS, 2)
slopes(const Unit *units, const u32 *pair, const u32 *annotator, const double *weight, int span, int n,
       const double *score, const double *slope, double gradient_scale, double curvature_scale,
       i64 *gradient, i64 *curvature)
{
    double *winners = (double *)room, *losers = winners + span;
    const Unit unit = units[blockIdx.x];
    fetch(score, unit.winners, span, n, winners);
    fetch(score, unit.losers, span, n, losers);
    __syncthreads();
    ByAnnotator<double, 2> sums;
    sums.total[0] = gradient, sums.total[1] = curvature;
    sums.scale[0] = gradient_scale, sums.scale[1] = curvature_scale;
    for (i64 base = (unit.begin & ~(i64)(ROWS - 1)); base < unit.end; base += (i64)THREADS * ROWS) {
        const i64 first = base + (i64)threadIdx.x * ROWS;
        sums.begin();
        if (first < unit.end) {
            const uint4 pairs = *(const uint4 *)(pair + first);
            const uint4 who = *(const uint4 *)(annotator + first);
            const u32 p[ROWS] = {pairs.x, pairs.y, pairs.z, pairs.w};
            const u32 u[ROWS] = {who.x, who.y, who.z, who.w};
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                const i64 k = first + r;
                if (k < unit.begin || k >= unit.end) continue;
                const double gap = winners[p[r] >> LOCAL] - losers[p[r] & MASK];
                const Terms t = terms<LINK>(slope[u[r]] * gap);
                const double w = WEIGHTED ? weight[k] : 1.0;
                const double value[2] = {w * gap * t.pull, w * gap * gap * t.curve};
                sums.row(u[r], value);
            }
        }
        sums.finish();
    }
}

/* Everything at given slopes: loss, forces by item, slope sums by annotator, curvature by row. */
template <int LINK, bool WEIGHTED, bool SLOPES>
__global__ void __launch_bounds__(THREADS)
evaluate(const Unit *units, const u32 *pair, const u32 *annotator, const double *weight, int span,
         int n, const double *score, const double *slope, double force_scale, double gradient_scale,
         double curvature_scale, double most_force, double *loss, i64 *force,
         i64 *gradient, i64 *curvature, float *near, float *cross, u32 *largest)
{
    double *winners = (double *)room, *losers = winners + span;
    int *coarse = (int *)(losers + span), *fine = coarse + 2 * span;
    __shared__ double losses[THREADS / 32];
    const Unit unit = units[blockIdx.x];
    fetch(score, unit.winners, span, n, winners);
    fetch(score, unit.losers, span, n, losers);
    for (int k = threadIdx.x; k < 4 * span; k += THREADS) coarse[k] = 0;
    /* The largest total a coarse sum can reach is 2^30, and so for the fine one. */
    const double step = 1073741824.0 / ((double)unit.most * most_force);
    const double finer = exp2(floor(log2(2147483648.0 / (double)unit.most)));
    __syncthreads();
    ByAnnotator<double, 2> sums;
    sums.total[0] = gradient, sums.total[1] = curvature;
    sums.scale[0] = gradient_scale, sums.scale[1] = curvature_scale;
    double total = 0.0;
    float most_near = 0.0f, most_cross = 0.0f;
    for (i64 base = (unit.begin & ~(i64)(ROWS - 1)); base < unit.end; base += (i64)THREADS * ROWS) {
        const i64 first = base + (i64)threadIdx.x * ROWS;
        if (SLOPES) sums.begin();
        if (first < unit.end) {
            const uint4 pairs = *(const uint4 *)(pair + first);
            const u32 p[ROWS] = {pairs.x, pairs.y, pairs.z, pairs.w};
            u32 u[ROWS] = {0, 0, 0, 0};
            if (SLOPES) {
                const uint4 who = *(const uint4 *)(annotator + first);
                u[0] = who.x, u[1] = who.y, u[2] = who.z, u[3] = who.w;
            }
            float nears[ROWS], crosses[ROWS];
            const bool whole = first >= unit.begin && first + ROWS <= unit.end;
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                const i64 k = first + r;
                if (k < unit.begin || k >= unit.end) continue;
                const u32 i = p[r] >> LOCAL, j = p[r] & MASK;
                const double gap = winners[i] - losers[j], g = SLOPES ? slope[u[r]] : 1.0;
                const double w = WEIGHTED ? weight[k] : 1.0;
                Terms t = terms<LINK>(g * gap);
                t.pull *= w, t.curve *= w;
                total += w * t.loss;
                const double f = g * t.pull * step, c = rint(f);
                const int big = (int)c, small = (int)rint((f - c) * finer);
                atomicAdd(coarse + i, -big);
                atomicAdd(coarse + span + j, big);
                atomicAdd(fine + i, -small);
                atomicAdd(fine + span + j, small);
                nears[r] = (float)(g * g * t.curve);
                most_near = fmaxf(most_near, nears[r]);
                if (SLOPES) {
                    crosses[r] = (float)(g * t.curve * gap - t.pull);
                    most_cross = fmaxf(most_cross, fabsf(crosses[r]));
                    const double value[2] = {gap * t.pull, gap * gap * t.curve};
                    sums.row(u[r], value);
                }
                if (!whole) {
                    near[k] = nears[r];
                    if (SLOPES) cross[k] = crosses[r];
                }
            }
            if (whole) {
                *(float4 *)(near + first) = make_float4(nears[0], nears[1], nears[2], nears[3]);
                if (SLOPES)
                    *(float4 *)(cross + first) =
                        make_float4(crosses[0], crosses[1], crosses[2], crosses[3]);
            }
        }
        if (SLOPES) sums.finish();
    }
    for (int step_ = 16; step_; step_ /= 2) {
        total += __shfl_xor_sync(EVERYONE, total, step_);
        most_near = fmaxf(most_near, __shfl_xor_sync(EVERYONE, most_near, step_));
        most_cross = fmaxf(most_cross, __shfl_xor_sync(EVERYONE, most_cross, step_));
    }
    if ((threadIdx.x & 31) == 0) {
        losses[threadIdx.x / 32] = total;
        /* Positive floats are ordered as their bits are. */
        atomicMax(largest, __float_as_uint(most_near));
        atomicMax(largest + 1, __float_as_uint(most_cross));
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        double sum = 0.0;
        for (int k = 0; k < THREADS / 32; k++) sum += losses[k];
        loss[blockIdx.x] = sum;
    }
    const double back = force_scale / step;
    for (int k = threadIdx.x; k < span; k += THREADS) {
        if (coarse[k] | fine[k]) add(force + unit.winners + k, (coarse[k] + fine[k] / finer) * back);
        if (coarse[span + k] | fine[span + k])
            add(force + unit.losers + k, (coarse[span + k] + fine[span + k] / finer) * back);
    }
}

/* The information of each row in its gap and in its annotator's slope: near = a^2, cross = a b. */
template <int LINK, bool WEIGHTED, bool SLOPES, bool OBSERVED>
__global__ void __launch_bounds__(THREADS)
information(const Unit *units, const u32 *pair, const u32 *annotator, const double *weight, int span,
            int n, const double *score, const double *slope, double scale, i64 *inner, float *near,
            float *cross, u32 *largest)
{
    double *winners = (double *)room, *losers = winners + span;
    const Unit unit = units[blockIdx.x];
    fetch(score, unit.winners, span, n, winners);
    fetch(score, unit.losers, span, n, losers);
    __syncthreads();
    ByAnnotator<double, 1> sums;
    sums.total[0] = inner, sums.scale[0] = scale;
    float most_near = 0.0f, most_cross = 0.0f, most_ratio = 0.0f;
    for (i64 base = (unit.begin & ~(i64)(ROWS - 1)); base < unit.end; base += (i64)THREADS * ROWS) {
        const i64 first = base + (i64)threadIdx.x * ROWS;
        sums.begin();
        for (int r = 0; r < ROWS; r++) {
            const i64 k = first + r;
            if (k < unit.begin || k >= unit.end) continue;
            const u32 p = pair[k];
            const double gap = winners[p >> LOCAL] - losers[p & MASK];
            const double g = SLOPES ? slope[annotator[k]] : 1.0, w = WEIGHTED ? weight[k] : 1.0;
            /* f/F times f/(1 - F), each exact in its tail. */
            const double held = w * (OBSERVED ? terms<LINK>(g * gap).curve
                                              : terms<LINK>(g * gap).pull * terms<LINK>(-g * gap).pull);
            near[k] = (float)(g * g * held);
            most_near = fmaxf(most_near, near[k]);
            if (SLOPES) {
                cross[k] = (float)(g * gap * held);
                most_cross = fmaxf(most_cross, fabsf(cross[k]));
                most_ratio = fmaxf(most_ratio, (float)(fabs(gap) * sqrt(held)));
                const double value[1] = {gap * gap * held};
                sums.row(annotator[k], value);
            }
        }
        if (SLOPES) sums.finish();
    }
    for (int step = 16; step; step /= 2) {
        most_near = fmaxf(most_near, __shfl_xor_sync(EVERYONE, most_near, step));
        most_cross = fmaxf(most_cross, __shfl_xor_sync(EVERYONE, most_cross, step));
        most_ratio = fmaxf(most_ratio, __shfl_xor_sync(EVERYONE, most_ratio, step));
    }
    if ((threadIdx.x & 31) == 0) {
        atomicMax(largest, __float_as_uint(most_near));
        atomicMax(largest + 1, __float_as_uint(most_cross));
        atomicMax(largest + 2, __float_as_uint(most_ratio));
    }
}
