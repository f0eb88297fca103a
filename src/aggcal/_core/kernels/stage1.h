// Annotators' parameters integrated out of the likelihood of their rows, and sums over what that
// leaves: for processors (stage1.cpp) and for GPUs (stage1.cu). `aggcal.aggregation.annotators` and
// `tape` are the reference, with the formulas.
//
// Rows are sorted by annotator. A team works on one annotator: one thread of a processor, or a block
// of threads of a GPU, each of which takes every so-manieth row and all of which take the same
// decisions. What responses pull rows by is stored in blocks, one for each annotator: nodes by rows.
//
// Loops over rows vectorise where they read local pointers that are __restrict, not members of a
// struct, and call nothing that is not inlined: four times slower otherwise. To look at it:
//     g++ -std=c++17 -O3 -fno-math-errno -fno-trapping-math -fopenmp-simd -march=x86-64-v4
//     -fopt-info-vec-optimized -c stage1.cpp
// names the loop of `law_terms` for every law but those of the error function and of Laplace.
#pragma once
#ifdef __CUDACC_RTC__  // of CuPy: a compiler without headers
using int32_t = int;
using int64_t = long long;
using uint8_t = unsigned char;
#define HUGE_VAL __longlong_as_double(0x7ff0000000000000LL)
namespace std {
using ::copysign, ::erfc, ::exp, ::fabs, ::log, ::log1p, ::memcpy, ::sqrt;
template <class T> T min(T a, T b) { return b < a ? b : a; }
template <class T> T max(T a, T b) { return a < b ? b : a; }
}
#define ALWAYS __forceinline__
#define APART __noinline__
#define TABLE __device__ const
#else
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>
// Inlined whatever its size: a loop that calls a function does not vectorise.
#ifdef _MSC_VER
#define ALWAYS __forceinline
#else
#define ALWAYS inline __attribute__((always_inline))
#endif
#define APART
#define TABLE const
#endif

namespace {

#ifdef __CUDACC_RTC__
constexpr int BLOCK = 1;  // rows worked on at once
#else
constexpr int BLOCK = 256;  // what they need stays in the first cache
#endif
constexpr int MOST = 4;     // parameters of an annotator
constexpr int NODES = 4 * (MOST + 1);  // most nodes
constexpr int SUMS_OF = 1 + MOST + MOST * (MOST + 1) / 2;  // a loss, its gradient and curvature
constexpr int POINTS = 5;   // where an uncertain gap is looked at, by Gauss and Hermite
TABLE double POINT[POINTS] = {0.0, 1.3556261799742659, -1.3556261799742659, 2.8569700138728056,
                              -2.8569700138728056};
TABLE double SHARE[POINTS] = {8.0 / 15, 0.22207592200561266, 0.22207592200561266,
                              0.011257411327720689, 0.011257411327720689};
constexpr double SMOOTH = 0.4;  // sd of eta up to which cumulants do: right to 6e-5 of a row
constexpr double SLACK = 1.3;   // how far beyond that a step may lead before more points are used
constexpr int STEPS = 60, HALVINGS = 30;
constexpr double LONGEST = 1.0;  // change of a parameter in a step: losses are straight beyond
constexpr double LEAST_CURVATURE = 0.1;  // of the prior's: mixtures are not log-concave
constexpr double CLEARLY = 3.0;  // sds by which the strength of a reversed annotator is negative
constexpr double LARGEST_READINESS = 600.0, LARGEST_OFFSET = 100.0;

enum Law {
    LOGISTIC, DAVIDSON, TWO_GRADES, THREE_GRADES, NORMAL, LAPLACE, LOGISTIC_MIXTURE, NORMAL_MIXTURE
};
enum Parameter { RELIABILITY, POSITION, READINESS, STANCE };
enum ChannelName { GAP, AXIS, TIE, CHANNELS };
constexpr int PAIRS = 6;  // of channels

// ---------------------------------------------------------------- functions that vectorise
template <class Real> struct Format;
template <> struct Format<double> {
    using Bits = int64_t;
    static constexpr double magic = 6755399441055744.0, most = 708.0;  // 1.5 * 2^52
    static constexpr double high = 0.693147180369123816490, low = 1.90821492927058770002e-10;
    static constexpr Bits bias = 1023, root_half = 0x3fe6a09e667f3bcdLL, fraction = (1LL << 52) - 1;
    static constexpr int shift = 52;
};
template <> struct Format<float> {
    using Bits = int32_t;
    static constexpr float magic = 12582912.0f, most = 87.0f;  // 1.5 * 2^23
    static constexpr float high = 0.693145752f, low = 1.42860677e-06f;
    static constexpr Bits bias = 127, root_half = 0x3f3504f3, fraction = (1 << 23) - 1;
    static constexpr int shift = 23;
};

// e^-a for a >= 0: a power of two times a polynomial, in pairs so that no term waits for the last.
template <class Real> ALWAYS Real exp_minus(Real a) {
    using F = Format<Real>;
    typename F::Bits bits, base;
    const Real magic = F::magic;
    a = a < F::most ? a : F::most;
    const Real shifted = a * Real(1.4426950408889634) + magic, power = shifted - magic;
    const Real r = (power * F::high - a) + power * F::low, r2 = r * r, r4 = r2 * r2;
    Real sum = (Real(1) + r) + r2 * (Real(0.5) + r * Real(1.0 / 6));
    const Real middle = (Real(1.0 / 24) + r * Real(1.0 / 120)) +
                        r2 * (Real(1.0 / 720) + r * Real(1.0 / 5040));
    if constexpr (sizeof(Real) == 8) {
        const Real top = (Real(1.0 / 40320) + r * Real(1.0 / 362880)) +
                         r2 * (Real(1.0 / 3628800) + r * Real(1.0 / 39916800)) +
                         r4 * (Real(1.0 / 479001600) + r * Real(1.0 / 6227020800));
        sum += r4 * (middle + r4 * top);
    } else {
        sum += r4 * middle;
    }
    std::memcpy(&bits, &shifted, sizeof bits);
    std::memcpy(&base, &magic, sizeof base);
    bits = (F::bias - (bits - base)) << F::shift;
    Real scale;
    std::memcpy(&scale, &bits, sizeof scale);
    return sum * scale;
}

// log x of an x that is neither tiny nor infinite, as 2 atanh of a number below 0.172.
template <class Real> ALWAYS Real log_of(Real x) {
    using F = Format<Real>;
    typename F::Bits bits;
    Real mantissa;
    std::memcpy(&bits, &x, sizeof bits);
    bits -= F::root_half;
    const Real power = Real(int32_t(bits >> F::shift));
    bits = (bits & F::fraction) + F::root_half;
    std::memcpy(&mantissa, &bits, sizeof mantissa);
    const Real z = (mantissa - Real(1)) / (mantissa + Real(1)), q = z * z, q2 = q * q;
    Real sum = Real(2) + q * Real(2.0 / 3) + q2 * (Real(2.0 / 5) + q * Real(2.0 / 7));
    if constexpr (sizeof(Real) == 8)
        sum += q2 * q2 * ((Real(2.0 / 9) + q * Real(2.0 / 11)) +
                          q2 * (Real(2.0 / 13) + q * Real(2.0 / 15)));
    else
        sum += q2 * q2 * Real(2.0 / 9);
    return power * Real(0.69314718055994531) + z * sum;
}

// -log F(x) and its first two derivatives.
ALWAYS double normal_link(double x, double &score, double &curvature) {
    const double root_half = 0.70710678118654752440, z = -x * root_half;
    double loss;
    if (x < 0.0) {
        double scaled;  // e^(z^2) erfc(z)
        if (z < 25.0) {
            scaled = std::exp(z * z) * std::erfc(z);
        } else {
            const double t = 1.0 / (2.0 * z * z);
            scaled = 1.0 - t * (1.0 - 3.0 * t * (1.0 - 5.0 * t * (1.0 - 7.0 * t)));
            scaled /= z * 1.7724538509055160273;
        }
        score = -0.79788456080286535588 / scaled;
        loss = 0.5 * x * x - std::log(0.5 * scaled);
    } else {
        const double lack = 0.5 * std::erfc(-z);
        score = -0.39894228040143267794 * std::exp(-0.5 * x * x) / (1.0 - lack);
        loss = -std::log1p(-lack);
    }
    const double inverse = 1.0 / (x * x);
    curvature = x < -1e3 ? 1.0 - inverse + 6.0 * inverse * inverse : score * (score - x);
    return loss;
}

ALWAYS double laplace_link(double x, double &score, double &curvature) {
    const double size = std::fabs(x), tail = 0.25 * exp_minus(size), r = 1.0 / (2.0 + size);
    if (x < 0.0) {
        score = r - 1.0, curvature = r * r;
        return size + std::log(4.0 * r);
    }
    const double lack = (2.0 + size) * tail, p = (1.0 + size) * tail / (1.0 - lack);
    score = -p, curvature = size * tail / (1.0 - lack) + p * p;
    return -std::log1p(-lack);
}

// ---------------------------------------------------------------- the law of answers
// A row as the law reads it; many are read, and written to, by pointers to the first.
template <class Real> struct Sample {
    const Real *gap, *variance, *weight, *lean, *tied, *axis, *offset;
    Real *score, *curvature, *tie_score, *tie_curvature, *cross;
};
// Values of the parameters: eta = gamma (gap) + position + stance (axis); ties weigh tie = e^nu.
struct Spot {
    double gamma = 1, position = 0, stance = 0, nu = 0, tie = 0;
    double grades[2] = {0, 0};  // weights of answers by two and three grades
    double honesty = 0, inverse_width = 1;  // of a mixture
};
// Where a curvature of two parameters is among the sums: after the loss and the gradient, row by row
// of the upper triangle.
ALWAYS constexpr int pair_of(int a, int b) { return 1 + MOST + a * (2 * MOST - 1 - a) / 2 + b; }

constexpr bool has_ties(Law law) { return law >= DAVIDSON && law <= THREE_GRADES; }
constexpr bool is_mixture(Law law) { return law == LOGISTIC_MIXTURE || law == NORMAL_MIXTURE; }
constexpr bool has_cumulants(Law law) { return law == LOGISTIC || law == DAVIDSON; }

// The terms of rows [from, from + n) at a spot. Adds up their loss but for what is linear in the
// readiness and, where SUMS, its derivatives in (reliability, position, readiness, stance). RICH:
// rows have an axis and a readiness of their context.
//
// A gap with a variance is averaged over by the cumulants k of the answer's mean m: the derivatives
// of the loss in eta, which follow from one another as the answer a (+-1/2 or 0) has a^3 = a/4.
// With half the variance v of eta the loss gains v k2 + v^2/2 k4, and so on with its derivatives;
// what multiplies the gap itself follows by Stein's lemma.
template <Law LAW, bool RICH, bool SUMS, class Real>
void law_terms(const Sample<Real> &s, int64_t from, int n, const Spot &spot, double *sums) {
    const Real *__restrict gap = s.gap + from, *__restrict variance = s.variance + from,
        *__restrict weight = s.weight + from;
    const Real *__restrict lean = s.lean + from, *__restrict tied = s.tied + from,
        *__restrict axis = s.axis + from;
    const Real *__restrict offset = s.offset + from;
    Real *__restrict score = s.score + from, *__restrict curvature = s.curvature + from,
        *__restrict tie_score = s.tie_score + from;
    Real *__restrict tie_curvature = s.tie_curvature + from, *__restrict cross = s.cross + from;
    const Real gamma = Real(spot.gamma), position = Real(spot.position),
        stance = Real(spot.stance), ties = Real(spot.tie);
    const Real second_grade = Real(spot.grades[0]), third_grade = Real(spot.grades[1]);
    const Real half = Real(0.5), one = Real(1), two = Real(2), three = Real(3);
    Real losses[BLOCK];
    Real g0 = 0, g1 = 0, g2 = 0, g3 = 0, h00 = 0, h01 = 0, h02 = 0, h03 = 0, h11 = 0, h12 = 0,
        h13 = 0, h22 = 0, h23 = 0, h33 = 0;
#pragma omp simd reduction(+ : g0, g1, g2, g3, h00, h01, h02, h03, h11, h12, h13, h22, h23, h33)
    for (int r = 0; r < n; r++) {
        const Real g = gap[r], w = weight[r], a = RICH ? axis[r] : Real(0);
        const Real eta = RICH ? gamma * g + position + stance * a : gamma * g + position,
            size = std::fabs(eta);
        const Real tie = RICH ? ties * offset[r] : ties;
        // What the answers leave for the side that is behind: exactly 0 where they leave nothing.
        const int top = LAW == TWO_GRADES ? 2 : LAW == THREE_GRADES ? 3 : 1;
        const Real sign = std::copysign(one, eta);
        const Real against = half * Real(top) * w - sign * lean[r];
        Real loss, m, c, t = 0, p, b, push = 0, k3 = 0, k4 = 0;
        Real t_score = 0, t_curvature = 0, t_cross = 0, t_second = 0;
        if constexpr (has_cumulants(LAW)) {
            const Real e = exp_minus(LAW == DAVIDSON ? half * size : size),
                e2 = LAW == DAVIDSON ? e * e : e;
            const Real z = LAW == DAVIDSON ? tie * e : Real(0), total = one + e2 + z,
                inverse = one / total;
            const Real tail = (e2 + half * z) * inverse;
            m = sign * half * (one - e2) * inverse;
            c = (e2 + Real(0.25) * (one + e2) * z) * inverse * inverse;
            t = z * inverse;
            const Real q = Real(0.25) - three * c - m * m, q1 = -three * m * q - two * m * c;
            k3 = m * q, k4 = c * q + m * q1;
            const Real q2 = -three * k4 - two * (c * c + m * k3),
                k5 = k3 * q + two * c * q1 + m * q2;
            const Real q3 = -three * k5 - Real(6) * c * k3 - two * m * k4,
                k6 = k4 * q + three * (k3 * q1 + c * q2) + m * q3;
            push = gamma * variance[r];
            const Real v = half * gamma * push, h = half * v * v;
            const Real averaged = v * (c + h * Real(1.0 / 3) * k6) + h * k4;
            const Real lost = (e2 + z) - (total - one);  // by rounding: log(1 + x) for small x
            loss = against * size + w * (log_of(total) + lost * inverse + averaged);
            p = sign * (against - w * tail) + w * (v * k3 + h * k5);
            b = w * (c + (v * k4 + h * k6));
            if (LAW == DAVIDSON) {
                t_cross = -t * m, t_second = t * (m * m - c);
                const Real third = t * (m * (three * c - m * m) - k3);
                const Real fourth = t * (m * m * (m * m - Real(6) * c) + Real(4) * m * k3
                    + three * c * c - k4);
                t_curvature = t * (one + e2) * inverse;
                t_curvature += v * (t_second - two * (t_cross * t_cross + t * t_second));
                t_score = t + (v * t_second + h * fourth);
                t_cross += v * third, t_second += v * fourth;
            }
            k3 += v * k5, k4 += v * k6;
        } else if constexpr (LAW == TWO_GRADES || LAW == THREE_GRADES) {
            // All is divided by the largest weight, of as many grades as there are.
            const Real e = exp_minus(half * size), e2 = e * e, e3 = e2 * e, e4 = e2 * e2;
            Real total, mean, square;
            if (LAW == TWO_GRADES) {
                t = tie * e2;
                total = t + (e + e3) + second_grade * (one + e4);
                mean = half * (e - e3) + second_grade * (one - e4);
                square = Real(0.25) * (e + e3) + second_grade * (one + e4);
            } else {
                const Real e5 = e4 * e, e6 = e3 * e3;
                t = tie * e3;
                total = t + (e2 + e4) + second_grade * (e + e5) + third_grade * (one + e6);
                mean = half * (e2 - e4) + second_grade * (e - e5)
                    + Real(1.5) * third_grade * (one - e6);
                square = Real(0.25) * (e2 + e4) + second_grade * (e + e5)
                    + Real(2.25) * third_grade * (one + e6);
            }
            const Real inverse = one / total;
            m = std::copysign(mean * inverse, eta), c = square * inverse - m * m, t *= inverse;
            loss = against * size + w * log_of(total);
            p = w * m - lean[r], b = w * c;
            t_score = t, t_curvature = t * (one - t), t_cross = -t * m;
        } else if constexpr (is_mixture(LAW)) {
            // -log P, P = h F + (1 - h) (1 - F), and derivatives in the gap and in the logit of h.
            const double x = g * spot.inverse_width, h = spot.honesty, first = h * (1 - h);
            double ahead, density, steep;
            if constexpr (LAW == LOGISTIC_MIXTURE) {
                const double e = exp_minus(std::fabs(x)), inverse = 1 / (1 + e);
                ahead = x < 0 ? e * inverse : inverse;
                density = e * inverse * inverse, steep = density * (1 - 2 * ahead);
            } else {
                ahead = 0.5 * std::erfc(-0.70710678118654752440 * x);
                density = 0.39894228040143267794 * std::exp(-0.5 * x * x), steep = -x * density;
            }
            const double inverse = 1 / (h * ahead + (1 - h) * (1 - ahead)), lean_to = 2 * h - 1;
            const double by = spot.inverse_width * inverse, in_gap = lean_to * density * by;
            const double in_honesty = (2 * ahead - 1) * inverse * first;
            loss = w * log_of(inverse), p = -w * in_gap;
            b = w * (in_gap * in_gap - lean_to * steep * by * spot.inverse_width);
            g0 -= w * in_honesty, h00 += w * in_honesty * (in_honesty - (1 - 2 * h));
        } else {
            double first, second;
            if constexpr (LAW == NORMAL) loss = w * Real(normal_link(eta, first, second));
            else loss = w * Real(laplace_link(eta, first, second));
            p = w * Real(first), b = w * Real(second);
        }
        losses[r] = loss;
        score[r] = p;
        curvature[r] = b;
        const Real ts = has_ties(LAW) ? w * t_score - tied[r] : Real(0), tb = w * t_curvature,
            tc = w * t_cross;
        if (RICH && has_ties(LAW)) tie_score[r] = ts, tie_curvature[r] = tb, cross[r] = tc;
        if (SUMS && !is_mixture(LAW)) {
            const Real once = g * b + push * w * k3, ready = g * tc + push * w * t_second;
            g0 += g * p + push * b, g1 += p, g2 += ts, g3 += a * p;
            h00 += g * g * b + variance[r] * b + push * w * (two * g * k3 + push * k4);
            h01 += once, h02 += ready, h03 += a * once;
            h11 += b, h12 += tc, h13 += a * b, h22 += tb, h23 += a * tc, h33 += a * a * b;
        }
    }
    const Real all[SUMS_OF - 1] = {g0,  g1,  g2,  g3,  h00, h01, h02,
                                   h03, h11, h12, h13, h22, h23, h33};
    for (int i = 0; SUMS && i < SUMS_OF - 1; i++) sums[1 + i] += double(all[i]);
    double total = 0;
#pragma omp simd reduction(+ : total)
    for (int r = 0; r < n; r++) total += double(losses[r]);
    sums[0] += total;
}

// ---------------------------------------------------------------- rows
// A linear map from unknowns to rows. As `Channel` in Python, but for what it points to.
struct Channel {
    const int32_t *columns;
    const double *factors;  // null: 1 and -1
    int64_t width, stride;  // stride: from one row's factors to the next, or 0

    ALWAYS double gather(int64_t row, const double *x) const {
        const int32_t *column = columns + width * row;
        if (!factors) return x[column[0]] - x[column[1]];
        const double *factor = factors + stride * row;
        double sum = 0;
        for (int64_t k = 0; k < width; k++) sum += factor[k] * x[column[k]];
        return sum;
    }
    // Call with each unknown of a row and its factor.
    template <class Work> ALWAYS void each(int64_t row, Work work) const {
        const int32_t *column = columns + width * row;
        if (!factors) {
            work(column[0], 1.0), work(column[1], -1.0);
            return;
        }
        const double *factor = factors + stride * row;
        for (int64_t k = 0; k < width; k++) work(column[k], factor[k]);
    }
    // The variance of a row; `size` is 0 where the covariance is a diagonal.
    ALWAYS double variance(int64_t row, const double *covariance, int64_t size) const {
        double sum = 0;
        each(row, [&](int32_t i, double f) {
            if (!size) sum += f * f * covariance[i];
            else each(row, [&](int32_t j, double g) { sum += f * g * covariance[i * size + j]; });
        });
        return sum > 0 ? sum : 0.0;
    }
};


// ---------------------------------------------------------------- annotators integrated out
// What is integrated, and where results go; all members are of 8 bytes, and in the order of
// `aggcal._core.kernels.stage1.MEMBERS`. A channel that is not there has no columns, a parameter that is not there the
// role -1.
struct Integral {
    int64_t m;
    const int64_t *starts, *blocks;
    const Channel *channels;
    const double *unknowns, *covariance;
    int64_t covariance_size;  // 0 where it is a diagonal
    double largest_sd;
    const double *weight, *lean, *tied, *grades;
    const int64_t *role;
    int64_t parameters, halves;
    const double *points, *log_weights;  // of the nodes of a half, about the mode
    int64_t each;
    const double *means, *sds;  // of normal priors; of a mixture: of the Beta prior, and bounds
    const double *log_shares;
    const uint8_t *upright;  // null: nobody is
    double close;
    double *modes, *nodes, *weights;  // annotators by halves or nodes by parameters
    double *values;                   // of each annotator: log evidence, or minus the log density
    float *const *pulls;              // of each channel
    float *const *curves;             // gap-gap, gap-axis, axis-axis, gap-tie, axis-tie, tie-tie
    float *curvatures;                // of a GPU: those of the nodes, as the pulls
    double *theta, *inverse, *force;  // where parameters are maximised
};

// Lower Cholesky factor; false where the matrix is not definite.
inline bool cholesky(int64_t p, const double (*matrix)[MOST], double (*factor)[MOST]) {
    for (int i = 0; i < p; i++)
        for (int j = 0; j <= i; j++) {
            double sum = matrix[i][j];
            for (int k = 0; k < j; k++) sum -= factor[i][k] * factor[j][k];
            if (i == j && !(sum > 0)) return false;
            factor[i][j] = i == j ? std::sqrt(sum) : sum / factor[j][j];
        }
    return true;
}

// Solve L' x = b in place.
inline void solve_upper(int64_t p, const double (*factor)[MOST], double *x) {
    for (int64_t i = p - 1; i >= 0; i--) {
        for (int64_t k = i + 1; k < p; k++) x[i] -= factor[k][i] * x[k];
        x[i] /= factor[i][i];
    }
}

// An annotator whose rows are at hand (`Team`): it says what the rows add up to at a spot.
template <class Team> class Annotator {
    static constexpr Law LAW = Team::law;
    const Integral &job;
    Team &rows;
    const int64_t u;
    double sign = 1;

    Spot spot_at(const double *theta) const {
        Spot s;
        const int64_t *role = job.role;
        if (is_mixture(LAW)) {
            s.honesty = 1 / (1 + std::exp(-theta[0])), s.inverse_width = job.grades[0];
            return s;
        }
        s.gamma = role[RELIABILITY] < 0 ? 1.0 : sign * theta[role[RELIABILITY]];
        if (role[POSITION] >= 0) s.position = theta[role[POSITION]];
        if (role[STANCE] >= 0) s.stance = theta[role[STANCE]];
        if (role[READINESS] >= 0) s.nu = theta[role[READINESS]];
        if (has_ties(LAW)) s.tie = job.grades[0] * std::exp(std::min(s.nu, LARGEST_READINESS));
        s.grades[0] = job.grades[1], s.grades[1] = job.grades[2];
        return s;
    }

    // Minus the log of the joint density; its derivatives, too, where SUMS. Rows keep what they say
    // as that of a node, if it is one.
    template <bool SUMS>
    APART double look(const double *theta, double *gradient, double (*curvature)[MOST],
                       int64_t node = -1) {
        const Spot spot = spot_at(theta);
        const double size = std::fabs(spot.gamma);
        if (std::min(rows.cut, rows.widest) * size > SLACK * SMOOTH) rows.split(SMOOTH / size);
        double sums[SUMS_OF] = {0};
        rows.template add_up<SUMS>(spot, sums, node);
        double loss = sums[0];
        if (has_ties(LAW)) loss -= spot.nu * rows.tied_sum + rows.tied_offset;
        if (is_mixture(LAW)) {  // by the prior h^a (1 - h)^b
            const double h = spot.honesty, a = job.means[0], b = job.means[1],
                curve = (a + b) * h * (1 - h);
            if (SUMS) {
                gradient[0] = sums[1] - a * (1 - h) + b * h;
                curvature[0][0] = std::max(sums[pair_of(0, 0)] + curve, LEAST_CURVATURE * curve);
            }
            return loss - a * std::log(h) - b * std::log1p(-h);
        }
        const double *mean = job.means + u * job.parameters;
        for (int a = 0; a < MOST; a++) {
            const int64_t i = job.role[a];
            if (i < 0) continue;
            const double precision = 1 / (job.sds[i] * job.sds[i]), off = theta[i] - mean[i];
            loss += 0.5 * precision * off * off;
            if (!SUMS) continue;
            const double turn = a == RELIABILITY ? sign : 1.0;
            gradient[i] = turn * sums[1 + a] + precision * off;
            for (int b = a; b < MOST; b++) {
                const int64_t j = job.role[b];
                if (j < 0) continue;
                const double both = (a == b ? 1.0 : turn) * sums[pair_of(a, b)];
                curvature[i][j] = curvature[j][i] = a == b ? both + precision : both;
            }
        }
        return loss;
    }

    double bounded(double theta) const {
        return is_mixture(LAW) ? std::min(std::max(theta, job.sds[0]), job.sds[1]) : theta;
    }

    // Find the mode by damped Newton steps from theta; `ahead` is where another step would lead.
    APART double find_mode(double *theta, double *ahead, double *gradient,
                            double (*factor)[MOST], double (*curvature)[MOST]) {
        const int64_t p = job.parameters;
        double step[MOST], trial[MOST], value = look<true>(theta, gradient, curvature);
        for (int count = 0;; count++) {
            for (int tries = 0; !cholesky(p, curvature, factor) && tries < STEPS; tries++) {
                if (rows.cut > 0) {  // far from where they were taken, cumulants may be wrong
                    rows.split(0);
                    value = look<true>(theta, gradient, curvature);
                } else {
                    for (int i = 0; i < p; i++) curvature[i][i] += 1 / (job.sds[i] * job.sds[i]);
                }
            }
            double fall = 0, longest = 0;
            for (int i = 0; i < p; i++) {
                step[i] = gradient[i];
                for (int k = 0; k < i; k++) step[i] -= factor[i][k] * step[k];
                step[i] /= factor[i][i];
                fall += step[i] * step[i];
            }
            solve_upper(p, factor, step);
            for (int i = 0; i < p; i++) longest = std::max(longest, std::fabs(step[i]));
            double length = longest > LONGEST ? LONGEST / longest : 1.0;
            for (int i = 0; i < p; i++) ahead[i] = bounded(theta[i] - length * step[i]);
            const bool stuck = is_mixture(LAW) && ahead[0] == theta[0];
            if (!(fall >= job.close) || count == STEPS || stuck) return value;
            const double rounding = sizeof(typename Team::Real) == 8 ? 1e-9 : 1e-6;
            const double limit = value + rounding * (1 + std::fabs(value)), before = rows.cut;
            for (int halvings = 0; halvings < HALVINGS; halvings++, length *= 0.5) {
                for (int i = 0; i < p; i++) trial[i] = bounded(theta[i] - length * step[i]);
                value = look<true>(trial, gradient, curvature);
                if (!(value > limit) || rows.cut != before) break;
            }
            for (int i = 0; i < p; i++) theta[i] = trial[i];
        }
    }

    // Look at the nodes of a half: log weights, but for a constant.
    void look_at_half(int64_t half, double log_precision, double *log_weights) {
        const int64_t p = job.parameters, each = job.each, strength = job.role[RELIABILITY];
        double *mode = job.modes + (job.halves * u + half) * p, theta[MOST], gradient[MOST],
            factor[MOST][MOST], curvature[MOST][MOST];
        sign = half ? -1.0 : 1.0;
        for (int i = 0; i < p; i++) theta[i] = mode[i];
        const double gamma = strength < 0 ? 1.0 : std::fabs(theta[strength]);
        rows.split(gamma > 0 ? SMOOTH / gamma : HUGE_VAL);
        double value = find_mode(theta, mode, gradient, factor, curvature), width = log_precision;
        // Were they reversed, their strength would clearly be negative: they are not.
        if (half && theta[strength] < -CLEARLY / std::sqrt(curvature[strength][strength])) return;
        for (int i = 0; i < p; i++) width -= std::log(factor[i][i]);
        for (int64_t t = 0; t < each; t++) {
            const int64_t k = half * each + t;
            double spot[MOST], off[MOST], loss = value, far = 0;
            for (int i = 0; i < p; i++) off[i] = job.points[t * p + i], far += off[i] * off[i];
            solve_upper(p, factor, off);
            for (int i = 0; i < p; i++) spot[i] = bounded(theta[i] + off[i]);
            if (far > 0 || !Team::remembers) loss = look<false>(spot, nullptr, nullptr, k);
            else rows.keep(k, spot_at(spot));
            log_weights[k] = job.log_shares[half] - loss + job.log_weights[t] + 0.5 * far + width;
            double *node = job.nodes + (u * job.halves * each + k) * p;
            for (int i = 0; i < p; i++) node[i] = i == strength ? sign * spot[i] : spot[i];
        }
    }

public:
    Annotator(const Integral &integral, Team &team, int64_t annotator)
        : job(integral), rows(team), u(annotator) { rows.load(u); }

    void integrate() {
        const int64_t p = job.parameters, count = job.halves * job.each;
        double log_weights[NODES], most = -HUGE_VAL, total = 0, log_precision = 0;
        for (int i = 0; i < p && !is_mixture(LAW); i++) log_precision -= std::log(job.sds[i]);
        for (int64_t k = 0; k < count; k++) log_weights[k] = -HUGE_VAL;
        for (int64_t half = 0; half < job.halves; half++)
            if (!half || !job.upright || !job.upright[u])
                look_at_half(half, log_precision, log_weights);
        double weights[NODES];  // all threads write what others read: only what it will stay
        for (int64_t k = 0; k < count; k++) most = std::max(most, log_weights[k]);
        for (int64_t k = 0; k < count; k++) {
            weights[k] = log_weights[k] > most - 700 ? std::exp(log_weights[k] - most) : 0.0;
            total += weights[k];
        }
        for (int64_t k = 0; k < count; k++) job.weights[u * count + k] = weights[k] /= total;
        job.values[u] = most + std::log(total);
        sign = 1;  // nodes have their sign
        for (int pair = 0; pair < PAIRS; pair++) {
            if (!job.curves[pair]) continue;
            float *__restrict curve = job.curves[pair] + job.starts[u];
            for (int64_t r = rows.lane(); r < rows.n; r += rows.lanes()) curve[r] = 0;
            for (int64_t k = 0; k < count; k++) {
                if (weights[k] == 0) continue;
                const Spot spot = spot_at(job.nodes + (u * count + k) * p);
                const double g = spot.gamma, f = spot.stance;
                const double factor[PAIRS] = {g * g, g * f, f * f, g, f, 1.0};
                const float by = float(weights[k] * factor[pair]);
                const float *__restrict kept = rows.kept(k, pair < 3 ? 0 : pair < 5 ? 2 : 1);
                for (int64_t r = rows.lane(); r < rows.n; r += rows.lanes())
                    curve[r] += by * kept[r];
            }
        }
    }

    // Maximises over the reliability, the only parameter. What is left of the gradient there enters
    // the force to first order.
    void maximise() {
        double gradient[MOST], factor[MOST][MOST], curvature[MOST][MOST], next[MOST];
        double theta[MOST] = {job.modes[u]};
        rows.split(0);
        job.values[u] = find_mode(theta, next, gradient, factor, curvature);
        job.theta[u] = theta[0], job.modes[u] = next[0], job.inverse[u] = 1 / curvature[0][0];
        rows.keep_mode(spot_at(theta), gradient[0] / curvature[0][0]);
    }
};

// ---------------------------------------------------------------- sums over what is left of rows
// Responses of annotators through channels; M, which mixes those of one annotator, is diag p - p p'
// for nodes of weights p, and diag p where `centred` is 0. Of an annotator as many nodes are stored
// as fit into the block: those of a second half that was not looked at have no weight. All members
// are of 8 bytes, and in the order of `MEMBERS`.
struct Sums {
    int64_t m, nodes;
    const int64_t *starts, *blocks;
    int64_t channels;
    const Channel *channel;
    const float *const *pulls;
    const double *weights;
    int64_t centred, size, means;     // unknowns, and how many of them, the last, are means
    const double *force;              // null where it is minus the mean of the pulls
    const float *const *curves;       // of each pair of channels
    const double *values, *vector;
    const double *covariance;
    int64_t covariance_size;          // 0 where it is a diagonal
    const double *extra;              // what means have
    double *scratch;                  // of a GPU
    double *out, *more;

    int64_t rows(int64_t u) const { return starts[u + 1] - starts[u]; }
    int64_t stored(int64_t u) const {
        return (blocks[u + 1] - blocks[u]) / std::max(rows(u), int64_t(1));
    }
    const float *pull(int64_t c, int64_t u, int64_t k) const {
        return pulls[c] + blocks[u] + k * rows(u);
    }

    // flow += the sum over nodes of coefficients times pulls, of n rows from the annotator's `from`.
    template <class Real>
    void add_flow(int64_t c, int64_t u, const double *coefficients, int64_t from, int64_t n,
                         Real *__restrict flow) const {
        for (int64_t k = 0; k < stored(u); k++) {
            const Real value = Real(coefficients[k]);
            if (value == 0) continue;
            const float *__restrict of = pull(c, u, k) + from;
            for (int64_t r = 0; r < n; r++) flow[r] += value * Real(of[r]);
        }
    }
};

// Call work(from, n) with a team's blocks of n rows.
template <class Team, class Work> void in_blocks(int64_t rows, Work work) {
    for (int64_t from = Team::lane() * BLOCK; from < rows; from += Team::lanes() * BLOCK)
        work(from, std::min(int64_t(BLOCK), rows - from));
}

// out[r] = the sum over nodes of values times pulls, through the first channel.
template <class Team> void flow_of(const Sums &of, int64_t u, double *out) {
    in_blocks<Team>(of.rows(u), [&](int64_t from, int64_t n) {
        double flow[BLOCK] = {0};
        of.add_flow(0, u, of.values + u * of.nodes, from, n, flow);
        for (int64_t r = 0; r < n; r++) out[of.starts[u] + from + r] = flow[r];
    });
}

// Adds to out, unknowns by four, through the first channel: the gradient, the sum of values times
// responses (null: none), and the diagonals of the complete and the missing information.
template <class Team> void sums_of(const Sums &of, int64_t u, double *out) {
    in_blocks<Team>(of.rows(u), [&](int64_t from, int64_t n) {
        double mean[BLOCK] = {0}, square[BLOCK] = {0}, toward[BLOCK] = {0}, flow[BLOCK][4];
        for (int64_t k = 0; k < of.stored(u); k++) {
            const double p = of.weights[u * of.nodes + k];
            if (p == 0) continue;
            const float *__restrict pull = of.pull(0, u, k) + from;
            for (int64_t r = 0; r < n; r++) {
                const double q = double(pull[r]), once = p * q;
                mean[r] += once, square[r] += once * q;
            }
        }
        if (of.values) of.add_flow(0, u, of.values + u * of.nodes, from, n, toward);
        const int64_t first = of.starts[u] + from;
        for (int64_t r = 0; r < n; r++) {
            flow[r][0] = of.force ? of.force[first + r] : -mean[r], flow[r][1] = toward[r];
            flow[r][2] = double(of.curves[0][first + r]);
            flow[r][3] = square[r] - double(of.centred) * mean[r] * mean[r];
        }
        for (int64_t r = 0; r < n; r++)
            of.channel->each(first + r, [&](int32_t i, double f) {
                double *sum = out + 4 * int64_t(i);
                Team::add(sum[0], f * flow[r][0]), Team::add(sum[1], f * flow[r][1]);
                Team::add(sum[2], f * f * flow[r][2]), Team::add(sum[3], f * f * flow[r][3]);
            });
    });
}

// out += observed information times vector. more (annotators by nodes): what means move responses
// by, and afterwards M times responses.
template <class Team> void product_of(const Sums &of, int64_t u, double *out) {
    const int64_t rows = of.rows(u), first = of.starts[u], stored = of.stored(u);
    const double *p = of.weights + u * of.nodes;
    double response[NODES] = {0}, mean = 0;
    const auto moved = [&](int64_t c, int64_t from, int64_t n, float *change) {
        for (int64_t r = 0; r < n; r++)
            change[r] = float(of.channel[c].gather(first + from + r, of.vector));
    };
    in_blocks<Team>(rows, [&](int64_t from, int64_t n) {
        for (int64_t c = 0; c < of.channels; c++) {
            float change[BLOCK];
            moved(c, from, n, change);
            for (int64_t k = 0; k < stored; k++) {
                if (p[k] == 0) continue;
                const float *__restrict pull = of.pull(c, u, k) + from;
                float sum = 0;
#pragma omp simd reduction(+ : sum)
                for (int64_t r = 0; r < n; r++) sum += pull[r] * change[r];
                response[k] += double(sum);
            }
        }
    });
    Team::sum(response, int(of.nodes));
    double *mixed = of.more + u * of.nodes;
    for (int64_t k = 0; k < of.nodes; k++) response[k] += mixed[k];
    for (int64_t k = 0; of.centred && k < of.nodes; k++) mean += p[k] * response[k];
    Team::wait();
    for (int64_t k = 0; k < of.nodes; k++) mixed[k] = response[k] = p[k] * (mean - response[k]);
    in_blocks<Team>(rows, [&](int64_t from, int64_t n) {
        float change[CHANNELS][BLOCK];
        for (int64_t c = 0; c < of.channels; c++) moved(c, from, n, change[c]);
        for (int64_t c = 0; c < of.channels; c++) {
            float flow[BLOCK] = {0};
            for (int64_t d = 0; d < of.channels; d++) {
                const float *__restrict curve = of.curves[c * of.channels + d] + first + from;
                for (int64_t r = 0; r < n; r++) flow[r] += curve[r] * change[d][r];
            }
            of.add_flow(c, u, response, from, n, flow);
            for (int64_t r = 0; r < n; r++)
                of.channel[c].each(first + from + r,
                                   [&](int32_t i, double f) { Team::add(out[i], f * flow[r]); });
        }
    });
}

// out[u] = b'Cb and more[u] = b'x of the sums b of values times responses; x is the vector. extra,
// annotators by means: what b has at the last unknowns. b is 0; the rest is room for what is met.
template <class Team>
void forms_of(const Sums &of, int64_t u, double *b, double *values, int32_t *entries,
                     int64_t &met) {
    const int64_t size = of.size, first = of.starts[u];
    double sums[2] = {0, 0};  // the form and the product
    for (int64_t c = 0; c < of.channels; c++)
        in_blocks<Team>(of.rows(u), [&](int64_t from, int64_t n) {
            double flow[BLOCK] = {0};
            of.add_flow(c, u, of.values + u * of.nodes, from, n, flow);
            for (int64_t r = 0; r < n; r++)
                of.channel[c].each(first + from + r,
                                   [&](int32_t i, double f) { Team::add(b[i], f * flow[r]); });
        });
    for (int64_t j = Team::lane(); j < of.means; j += Team::lanes())
        b[size - of.means + j] = of.extra[u * of.means + j];
    Team::wait();
    const auto keep = [&](int32_t i, double) {  // what is met again is 0
        const double value = Team::take(b[i]);
        if (value == 0) return;
        sums[1] += value * of.vector[i];
        if (!of.covariance_size) {
            sums[0] += value * value * of.covariance[i];
            return;
        }
        const int64_t slot = Team::next(met);
        entries[slot] = i, values[slot] = value;
    };
    for (int64_t c = 0; c < of.channels; c++)
        in_blocks<Team>(of.rows(u), [&](int64_t from, int64_t n) {
            for (int64_t r = 0; r < n; r++) of.channel[c].each(first + from + r, keep);
        });
    for (int64_t j = Team::lane(); j < of.means; j += Team::lanes())
        keep(int32_t(size - of.means + j), 1.0);
    Team::wait();
    // Where most unknowns were met, a row of the matrix is read as it comes.
    const int64_t count = met;
    const bool all = 2 * count > size;
    if (all)
        for (int64_t s = Team::lane(); s < count; s += Team::lanes()) b[entries[s]] = values[s];
    Team::wait();
    for (int64_t s = Team::lane(); s < count; s += Team::lanes()) {
        const double *__restrict row = of.covariance + entries[s] * of.covariance_size;
        double sum = 0;
        if (all) {
            const double *__restrict every = b;
#pragma omp simd reduction(+ : sum)
            for (int64_t t = 0; t < size; t++) sum += row[t] * every[t];
        } else {
            for (int64_t t = 0; t < count; t++) sum += row[entries[t]] * values[t];
        }
        sums[0] += values[s] * sum;
    }
    Team::wait();
    if (all)
        for (int64_t i = Team::lane(); i < size; i += Team::lanes()) b[i] = 0;
    Team::sum(sums, 2);
    of.out[u] = sums[0], of.more[u] = sums[1];
}

// Adds to out, unknowns by unknowns, the complete information.
template <class Team> void complete_of(const Sums &of, int64_t u, double *out) {
    for (int64_t c = 0; c < of.channels; c++)
        for (int64_t d = 0; d < of.channels; d++)
            for (int64_t r = of.starts[u] + Team::lane(); r < of.starts[u + 1]; r += Team::lanes())
                of.channel[c].each(r, [&](int32_t i, double f) {
                    double *row = out + i * of.size;
                    const double curve = f * double(of.curves[c * of.channels + d][r]);
                    of.channel[d].each(
                        r, [&](int32_t j, double g) { Team::add(row[j], g * curve); });
                });
}

}  // namespace
