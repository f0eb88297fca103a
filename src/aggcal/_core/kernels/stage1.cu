// Stage 1 on a GPU: a block of threads for each annotator. CuPy compiles it when it is first needed.
#include "stage1.h"

namespace {

constexpr int MOST_THREADS = 512;

// All threads of a block: what they add up has the same bits in all of them.
struct Block {
    static int64_t lane() { return threadIdx.x; }
    static int64_t lanes() { return blockDim.x; }
    static void wait() { __syncthreads(); }
    static void sum(double *values, int count) {
        __shared__ double parts[MOST_THREADS / 32][NODES];
        wait();
        for (int i = 0; i < count; i++) {
            double value = values[i];
            for (int off = 16; off; off /= 2) value += __shfl_xor_sync(~0u, value, off);
            if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32][i] = value;
        }
        wait();
        for (int i = 0; i < count; i++) {
            values[i] = 0;
            for (int k = 0; k < blockDim.x / 32; k++) values[i] += parts[k][i];
        }
    }
    static void add(double &to, double value) { atomicAdd(&to, value); }
    static double take(double &from) {
        return __longlong_as_double(atomicExch((unsigned long long *)&from, 0ULL));
    }
    static int64_t next(int64_t &number) {
        return atomicAdd((unsigned long long *)&number, 1ULL);
    }
};

// The rows of an annotator, which threads read whenever they look at them.
template <Law LAW, bool RICH, class Number> struct Lanes : Block {
    static constexpr Law law = LAW;
    static constexpr bool remembers = false;
    using Real = Number;
    static constexpr int STORED = RICH && has_ties(LAW) ? 3 : 1;  // curvatures, by node and row
    struct Row { Real gap, variance, weight, lean, tied, axis, offset; };
    struct Terms { Real score = 0, curvature = 0, tie_score = 0, tie_curvature = 0, cross = 0; };
    const Integral &job;
    int64_t u = 0, first = 0, n = 0;
    double cut = 0, widest = 0, tied_sum = 0, tied_offset = 0;

    explicit Lanes(const Integral &integral) : job(integral) {}

    double variance(int64_t r) const {
        if (!job.covariance) return 0;
        const double own = job.channels[GAP].variance(r, job.covariance, job.covariance_size);
        return std::min(own, job.largest_sd * job.largest_sd);
    }
    double offset(int64_t r) const {
        if (!RICH || !job.channels[TIE].columns) return 0;
        return std::min(job.channels[TIE].gather(r, job.unknowns), LARGEST_OFFSET);
    }
    Row row(int64_t r) const {
        const Channel *of = job.channels;
        const double axis = RICH && of[AXIS].columns ? of[AXIS].gather(r, job.unknowns) : 0.0;
        return {Real(of[GAP].gather(r, job.unknowns)), Real(variance(r)), Real(job.weight[r]),
                Real(job.lean[r]), Real(job.tied[r]), Real(axis),
                RICH ? Real(std::exp(offset(r))) : Real(1)};
    }

    void load(int64_t annotator) {
        __shared__ unsigned long long largest;
        double sums[2] = {0, 0}, own = 0;
        u = annotator, first = job.starts[u], n = job.starts[u + 1] - first;
        wait();
        if (lane() == 0) largest = 0;
        for (int64_t r = first + lane(); r < first + n; r += lanes()) {
            sums[0] += job.tied[r], sums[1] += job.tied[r] * offset(r);
            own = std::max(own, variance(r));
        }
        sum(sums, 2);
        atomicMax(&largest, (unsigned long long)__double_as_longlong(own));  // none is negative
        wait();
        tied_sum = sums[0], tied_offset = sums[1];
        widest = std::sqrt(__longlong_as_double((long long)largest));
    }

    void split(double largest) { cut = largest; }

    // The terms of a row, at its points where its gap is too uncertain.
    template <bool SUMS>
    Terms terms(const Row &whole, const Spot &spot, double *sums) const {
        const double sd = std::sqrt(double(whole.variance));
        const bool wide = sd > (has_cumulants(LAW) ? cut : 0.0);
        Terms all;
        for (int t = 0; t < (wide ? POINTS : 1); t++) {
            Row part = whole;
            Terms own;
            if (wide) {
                const Real share = Real(SHARE[t]);
                part.gap += Real(POINT[t]) * Real(sd), part.variance = 0;
                part.weight *= share, part.lean *= share, part.tied *= share;
            }
            const Sample<Real> sample = {&part.gap, &part.variance, &part.weight, &part.lean,
                                         &part.tied, &part.axis, &part.offset, &own.score,
                                         &own.curvature, &own.tie_score, &own.tie_curvature,
                                         &own.cross};
            law_terms<LAW, RICH, SUMS>(sample, 0, 1, spot, sums);
            all.score += own.score, all.curvature += own.curvature, all.cross += own.cross;
            all.tie_score += own.tie_score, all.tie_curvature += own.tie_curvature;
        }
        return all;
    }

    template <bool SUMS>
    __noinline__ void add_up(const Spot &spot, double *sums, int64_t node) {
        double own[SUMS_OF] = {0};
        const double factor[CHANNELS] = {spot.gamma, spot.stance, 1.0};
        float *curvatures = job.curvatures + (job.blocks[u] + node * n) * STORED;
        for (int64_t r = lane(); r < n; r += lanes()) {
            const Terms all = terms<SUMS>(row(first + r), spot, own);
            if (node < 0) continue;
            for (int c = 0; c < CHANNELS; c++)
                if (job.channels[c].columns)
                    job.pulls[c][job.blocks[u] + node * n + r] =
                        float(-Real(factor[c]) * (c == TIE ? all.tie_score : all.score));
            curvatures[r] = float(all.curvature);
            if (STORED == 1) continue;
            curvatures[n + r] = float(all.tie_curvature), curvatures[2 * n + r] = float(all.cross);
        }
        sum(own, SUMS ? SUMS_OF : 1);
        for (int i = 0; i < (SUMS ? SUMS_OF : 1); i++) sums[i] = own[i];
    }
    void keep(int64_t, const Spot &) {}
    const float *kept(int64_t k, int which) const {
        return job.curvatures + (job.blocks[u] + k * n) * STORED + which * n;
    }

    void keep_mode(const Spot &spot, double rest) {
        double none[SUMS_OF] = {0};
        for (int64_t r = first + lane(); r < first + n; r += lanes()) {
            const Row whole = row(r);
            const Terms all = terms<false>(whole, spot, none);
            const double curvature = spot.gamma * all.curvature;
            const double cross = curvature * whole.gap + all.score;
            job.force[r] = spot.gamma * all.score - rest * cross;
            job.curves[0][r] = float(spot.gamma * curvature), job.pulls[GAP][r] = float(cross);
        }
    }
};

// Call work(u) with the block's annotators of at least so many rows, and of fewer than the other.
template <class Work>
void in_turn(int64_t m, const int64_t *starts, int64_t least, int64_t more, Work work) {
    for (int64_t u = blockIdx.x; u < m; u += gridDim.x) {
        const int64_t rows = starts[u + 1] - starts[u];
        if (rows >= least && rows < more) work(u);
    }
}

}  // namespace

template <int LAW, bool RICH, class Real>
__global__ void __launch_bounds__(MOST_THREADS)
annotators(const Integral *given, int64_t least, int64_t more) {
    using Team = Lanes<Law(LAW), RICH, Real>;
    const Integral job = *given;
    Team team(job);
    in_turn(job.m, job.starts, least, more, [&](int64_t u) {
        Annotator<Team> one(job, team, u);
        if (job.theta) one.maximise();
        else one.integrate();
    });
}

template <void (*WORK)(const Sums &, int64_t, double *)>
__global__ void __launch_bounds__(MOST_THREADS)
sums(const Sums *given, int64_t least, int64_t more) {
    const Sums of = *given;
    in_turn(of.m, of.starts, least, more, [&](int64_t u) {
        Block::wait();
        WORK(of, u, of.out);
    });
}

// Each block has room in the scratch: zeros by unknowns, and where the covariance is a matrix, twice
// as much for what is met.
__global__ void __launch_bounds__(MOST_THREADS)
forms(const Sums *given, int64_t least, int64_t more) {
    __shared__ int64_t met;
    const Sums of = *given;
    double *b = of.scratch + (of.covariance_size ? 3 : 1) * of.size * blockIdx.x, *values = b + of.size;
    in_turn(of.m, of.starts, least, more, [&](int64_t u) {
        Block::wait();
        met = 0;
        Block::wait();
        forms_of<Block>(of, u, b, values, (int32_t *)(values + of.size), met);
    });
}

// out, annotators by nodes by unknowns, from annotator `from` on: responses.
__global__ void __launch_bounds__(MOST_THREADS)
responses(const Sums *given, int64_t least, int64_t more) {
    const Sums of = *given;
    in_turn(of.m, of.starts, least, more, [&](int64_t u) {
        for (int64_t c = 0; c < of.channels; c++)
            for (int64_t k = 0; k < of.stored(u); k++)
                for (int64_t r = Block::lane(); r < of.rows(u); r += Block::lanes())
                    of.channel[c].each(of.starts[u] + r, [&](int32_t i, double f) {
                        const float pull = of.pull(c, u, k)[r];
                        Block::add(of.out[(u * of.nodes + k) * of.size + i], f * double(pull));
                    });
    });
}
