// Annotators' parameters integrated out of the likelihood of their rows, and sums over what that
// leaves. `aggcal.aggregation.annotators` and `tape` are the reference, with the formulas.
//
// Rows are sorted by annotator. Work is cut into ranges of annotators by the data alone, and ranges
// are added up in their order: the same data give the same bits on any number of threads. What
// responses pull rows by is stored in blocks, one for each annotator: nodes by rows.
//
// Loops over rows vectorise where they read local pointers that are __restrict, not members of a
// struct, and call nothing that is not inlined: four times slower otherwise. To look at it:
//     g++ -std=c++17 -O3 -fno-math-errno -fno-trapping-math -fopenmp-simd -march=x86-64-v4
//     -fopt-info-vec-optimized -c stage1.cpp
// names the loop of `law_terms` for every law but those of the error function and of Laplace.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

// Inlined whatever its size: a loop that calls a function does not vectorise.
#ifdef _MSC_VER
#define ALWAYS __forceinline
#else
#define ALWAYS inline __attribute__((always_inline))
#endif

namespace {

constexpr int BLOCK = 256;   // rows worked on at once: what they need stays in the first cache
constexpr int PADDING = 16;  // rows are filled up with rows without weight to whole vectors
constexpr int MOST = 4;      // parameters of an annotator
constexpr int POINTS = 5;    // where an uncertain gap is looked at, by Gauss and Hermite
const double POINT[POINTS] = {0.0, 1.3556261799742659, -1.3556261799742659, 2.8569700138728056,
                              -2.8569700138728056};
const double SHARE[POINTS] = {8.0 / 15, 0.22207592200561266, 0.22207592200561266,
                              0.011257411327720689, 0.011257411327720689};
constexpr double SMOOTH = 0.4;  // sd of eta up to which cumulants do: right to 6e-5 of a row
constexpr double SLACK = 1.3;   // how far beyond that a step may lead before more points are used
constexpr int64_t FEW_ROWS = 10000;  // that no second thread is worth waking for
constexpr int STEPS = 60, HALVINGS = 30;
constexpr double LONGEST = 1.0;  // change of a parameter in a step: losses are straight beyond
constexpr double LEAST_CURVATURE = 0.1;  // of the prior's: mixtures are not log-concave
constexpr double CLEARLY = 3.0;  // sds by which the strength of a reversed annotator is negative
constexpr double LARGEST_READINESS = 600.0, LARGEST_OFFSET = 100.0;
constexpr double READY = 20.0;  // readiness up to which floats do not overflow

enum Law {
    LOGISTIC, DAVIDSON, TWO_GRADES, THREE_GRADES, NORMAL, LAPLACE, LOGISTIC_MIXTURE, NORMAL_MIXTURE
};
enum Parameter { RELIABILITY, POSITION, READINESS, STANCE };
enum ChannelName { GAP, AXIS, TIE, CHANNELS };

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
inline double normal_link(double x, double &slope, double &bend) {
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
        slope = -0.79788456080286535588 / scaled;
        loss = 0.5 * x * x - std::log(0.5 * scaled);
    } else {
        const double lack = 0.5 * std::erfc(-z);
        slope = -0.39894228040143267794 * std::exp(-0.5 * x * x) / (1.0 - lack);
        loss = -std::log1p(-lack);
    }
    const double inverse = 1.0 / (x * x);
    bend = x < -1e3 ? 1.0 - inverse + 6.0 * inverse * inverse : slope * (slope - x);
    return loss;
}

inline double laplace_link(double x, double &slope, double &bend) {
    const double size = std::fabs(x), tail = 0.25 * exp_minus(size), r = 1.0 / (2.0 + size);
    if (x < 0.0) {
        slope = r - 1.0, bend = r * r;
        return size + std::log(4.0 * r);
    }
    const double lack = (2.0 + size) * tail, p = (1.0 + size) * tail / (1.0 - lack);
    slope = -p, bend = size * tail / (1.0 - lack) + p * p;
    return -std::log1p(-lack);
}

// ---------------------------------------------------------------- the law of answers
// Rows as the law reads them, and where its terms of each row go.
template <class Real> struct Sample {
    const Real *gap, *variance, *weight, *lean, *tied, *axis, *offset;
    Real *slope, *bend, *tie_slope, *tie_bend, *cross;
    int64_t n;
};
// A place in the parameters: eta = gamma (gap) + position + stance (axis); ties weigh tie = e^nu.
struct Spot {
    double gamma = 1, position = 0, stance = 0, nu = 0, tie = 0;
    double grades[2] = {0, 0};  // weights of answers by two and three grades
    double honesty = 0, inverse_width = 1;  // of a mixture
};
// Gradient and upper triangle of the curvature in (reliability, position, readiness, stance).
struct Slopes { double gradient[MOST], bend[MOST][MOST]; };

constexpr bool has_ties(Law law) { return law >= DAVIDSON && law <= THREE_GRADES; }
constexpr bool is_mixture(Law law) { return law == LOGISTIC_MIXTURE || law == NORMAL_MIXTURE; }
constexpr bool has_cumulants(Law law) { return law == LOGISTIC || law == DAVIDSON; }

// The terms of rows [from, from + n) at a spot; returns their loss but for what is linear in the
// readiness. RICH: rows have an axis and a readiness of their context; SUMS: adds to slopes.
//
// A gap with a variance is averaged over by the cumulants k of the answer's mean m: the derivatives
// of the loss in eta, which follow from one another as the answer a (+-1/2 or 0) has a^3 = a/4.
// With half the variance v of eta the loss gains v k2 + v^2/2 k4, and so on with its derivatives;
// what multiplies the gap itself follows by Stein's lemma.
template <Law LAW, bool RICH, bool SUMS, class Real>
double law_terms(const Sample<Real> &s, int64_t from, int n, const Spot &spot, Slopes &slopes) {
    const Real *__restrict gap = s.gap + from, *__restrict variance = s.variance + from,
        *__restrict weight = s.weight + from;
    const Real *__restrict lean = s.lean + from, *__restrict tied = s.tied + from,
        *__restrict axis = s.axis + from;
    const Real *__restrict offset = s.offset + from;
    Real *__restrict slope = s.slope + from, *__restrict bend = s.bend + from,
        *__restrict tie_slope = s.tie_slope + from;
    Real *__restrict tie_bend = s.tie_bend + from, *__restrict cross = s.cross + from;
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
        Real t_slope = 0, t_bend = 0, t_cross = 0, t_second = 0;
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
                t_bend = t * (one + e2) * inverse;
                t_bend += v * (t_second - two * (t_cross * t_cross + t * t_second));
                t_slope = t + (v * t_second + h * fourth);
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
            t_slope = t, t_bend = t * (one - t), t_cross = -t * m;
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
            const auto link = LAW == NORMAL ? normal_link : laplace_link;
            loss = w * Real(link(eta, first, second));
            p = w * Real(first), b = w * Real(second);
        }
        losses[r] = loss;
        slope[r] = p;
        bend[r] = b;
        const Real ts = has_ties(LAW) ? w * t_slope - tied[r] : Real(0), tb = w * t_bend,
            tc = w * t_cross;
        if (RICH && has_ties(LAW)) tie_slope[r] = ts, tie_bend[r] = tb, cross[r] = tc;
        if (SUMS && !is_mixture(LAW)) {
            const Real once = g * b + push * w * k3, ready = g * tc + push * w * t_second;
            g0 += g * p + push * b, g1 += p, g2 += ts, g3 += a * p;
            h00 += g * g * b + variance[r] * b + push * w * (two * g * k3 + push * k4);
            h01 += once, h02 += ready, h03 += a * once;
            h11 += b, h12 += tc, h13 += a * b, h22 += tb, h23 += a * tc, h33 += a * a * b;
        }
    }
    if (SUMS) {
        const Real gradient[MOST] = {g0, g1, g2, g3};
        const Real upper[MOST][MOST] = {{h00, h01, h02, h03}, {0, h11, h12, h13}, {0, 0, h22, h23},
            {0, 0, 0, h33}};
        for (int i = 0; i < MOST; i++) {
            slopes.gradient[i] += double(gradient[i]);
            for (int j = i; j < MOST; j++) slopes.bend[i][j] += double(upper[i][j]);
        }
    }
    double total = 0;
#pragma omp simd reduction(+ : total)
    for (int r = 0; r < n; r++) total += double(losses[r]);
    return total;
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
    double variance(int64_t row, const double *covariance, int64_t size) const {
        double sum = 0;
        each(row, [&](int32_t i, double f) {
            if (!size) sum += f * f * covariance[i];
            else each(row, [&](int32_t j, double g) { sum += f * g * covariance[i * size + j]; });
        });
        return sum > 0 ? sum : 0;
    }
};

// Cut annotators into ranges of about as many rows, `fewest` or more, `most` at most.
std::vector<int64_t> cuts(int64_t m, const int64_t *starts, int64_t fewest, int64_t most) {
    const int64_t rows = starts[m], ranges = std::max<int64_t>(1, std::min(rows / fewest, most));
    std::vector<int64_t> edges = {0};
    for (int64_t k = 1; k < ranges; k++) {
        const int64_t edge = std::lower_bound(starts, starts + m, rows * k / ranges) - starts;
        if (edge > edges.back() && edge < m) edges.push_back(edge);
    }
    edges.push_back(m);
    return edges;
}

// Call work(next) in threads, where next() is the number of the next range.
template <class Work> void in_threads(int64_t threads, int64_t ranges, Work work) {
    std::atomic<int64_t> taken{0};
    const auto next = [&] { return taken++; };
    std::vector<std::thread> others;
    try {
        for (int64_t t = 1; t < std::min(threads, ranges); t++)
            others.emplace_back([&] { work(next); });
    } catch (...) {  // no more threads are to be had: this one does what is left
    }
    work(next);
    for (auto &other : others) other.join();
}

// Add up what work(begin, end, sums) makes of the ranges, in their order.
template <class Work>
void add_up(int64_t threads, const std::vector<int64_t> &edges, int64_t size, double *out,
    Work work) {
    const int64_t ranges = int64_t(edges.size()) - 1;
    if (ranges == 1) return work(edges[0], edges[1], out);
    std::mutex mutex;
    std::condition_variable added;
    int64_t turn = 0;
    in_threads(threads, ranges, [&](auto next) {
        std::vector<double> sums(size);
        for (int64_t k; (k = next()) < ranges;) {
            std::fill(sums.begin(), sums.end(), 0.0);
            work(edges[k], edges[k + 1], sums.data());
            std::unique_lock<std::mutex> lock(mutex);
            added.wait(lock, [&] { return turn == k; });
            for (int64_t i = 0; i < size; i++) out[i] += sums[i];
            turn++;
            added.notify_all();
        }
    });
}

// ---------------------------------------------------------------- annotators integrated out
// What is integrated, and where results go. A channel that is not there has no columns, a parameter
// that is not there the role -1.
struct Integral {
    const int64_t *starts, *blocks;
    const Channel *channels;
    const double *unknowns, *covariance;
    int64_t covariance_size;
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
    float *const *pulls;              // of each channel
    float *const *curves;             // gap-gap, gap-axis, axis-axis, gap-tie, axis-tie, tie-tie
};
constexpr int PAIRS = 6;

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

template <Law LAW, bool RICH, class Real> class Annotator {
    enum Column { GAPS, VARIANCE, WEIGHT, LEAN, TIED, AXES, OFFSET, COLUMNS };
    enum Term { SLOPE, BEND, TIE_SLOPE, TIE_BEND, CROSS, TERMS };
    static constexpr int STORED = RICH && has_ties(LAW) ? 3 : 1;  // bends, by node and row
    const Integral &job;
    int64_t u = 0, n = 0, room = 0;
    double sign = 1, cut = 0, widest = 0;
    double tied_sum = 0, tied_offset = 0;
    std::vector<Real> columns[COLUMNS], expanded[COLUMNS];
    std::vector<Real> terms[TERMS];
    std::vector<float> bends;
    std::vector<int64_t> wide;
    Sample<Real> sample;

    // Read the annotator's rows.
    void load() {
        const int64_t first = job.starts[u];
        const Channel &gaps = job.channels[GAP];
        n = job.starts[u + 1] - first;
        room = padded(n);
        for (auto &column : columns) {
            column.resize(std::max<size_t>(column.size(), room));
            std::fill(column.begin() + n, column.begin() + room, Real(0));
        }
        const double *weight = job.weight + first, *lean = job.lean + first,
                     *tied = job.tied + first, *x = job.unknowns, *covariance = job.covariance;
        const double largest = job.largest_sd * job.largest_sd;
        Real *__restrict gap = columns[GAPS].data(),
            *__restrict variance = columns[VARIANCE].data();
        if (!covariance) {
            for (int64_t r = 0; r < n; r++) gap[r] = Real(gaps.gather(first + r, x));
            std::fill(variance, variance + n, Real(0));
        } else if (gaps.factors || job.covariance_size) {
            for (int64_t r = 0; r < n; r++) gap[r] = Real(gaps.gather(first + r, x));
            for (int64_t r = 0; r < n; r++)
                variance[r] = Real(gaps.variance(first + r, covariance, job.covariance_size));
        } else {
            const int32_t *column = gaps.columns + 2 * first;
            for (int64_t r = 0; r < n; r++) gap[r] = Real(x[column[2 * r]] - x[column[2 * r + 1]]);
            for (int64_t r = 0; r < n; r++)
                variance[r] = Real(covariance[column[2 * r]] + covariance[column[2 * r + 1]]);
        }
        for (int64_t r = 0; r < n; r++) variance[r] = std::min(variance[r], Real(largest));
        copy(weight, WEIGHT), copy(lean, LEAN), copy(tied, TIED);
        widest = std::sqrt(double(*std::max_element(variance, variance + n)));
        tied_sum = sum(tied);
        if (!RICH) return;
        Real *axis = columns[AXES].data(), *offset = columns[OFFSET].data();
        std::fill(axis, axis + n, Real(0)), std::fill(offset, offset + n, Real(0));
        for (int64_t r = 0; job.channels[AXIS].columns && r < n; r++)
            axis[r] = Real(job.channels[AXIS].gather(first + r, x));
        for (int64_t r = 0; job.channels[TIE].columns && r < n; r++)
            offset[r] = Real(std::min(job.channels[TIE].gather(first + r, x), LARGEST_OFFSET));
        tied_offset = dot(tied, offset);
        for (int64_t r = 0; r < n; r++) offset[r] = std::exp(offset[r]);
    }
    static int64_t padded(int64_t rows) { return (rows + PADDING - 1) / PADDING * PADDING; }
    void copy(const double *from, Column to) {
        Real *__restrict out = columns[to].data();
        for (int64_t r = 0; r < n; r++) out[r] = Real(from[r]);
    }
    double sum(const double *x) const {
        double total = 0;
#pragma omp simd reduction(+ : total)
        for (int64_t r = 0; r < n; r++) total += x[r];
        return total;
    }
    double dot(const double *x, const Real *y) const {
        double total = 0;
#pragma omp simd reduction(+ : total)
        for (int64_t r = 0; r < n; r++) total += x[r] * double(y[r]);
        return total;
    }

    // Split rows whose gap has an sd above the cut: each has its points as rows of their own, the
    // central one where it was and the others behind all rows.
    void expand() {
        const double limit = has_cumulants(LAW) ? cut * cut : 0.0;
        wide.clear();
        if (widest > (has_cumulants(LAW) ? cut : 0.0))
            for (int64_t r = 0; r < n; r++)
                if (double(columns[VARIANCE][r]) > limit) wide.push_back(r);
        const int64_t rows = n + (POINTS - 1) * int64_t(wide.size());
        std::vector<Real> *from = columns;
        sample.n = room;
        if (!wide.empty()) {
            from = expanded;
            sample.n = padded(rows);
            for (int c = 0; c < COLUMNS; c++) {
                expanded[c].resize(std::max<size_t>(expanded[c].size(), sample.n));
                std::fill(expanded[c].begin() + rows, expanded[c].begin() + sample.n, Real(0));
                std::copy(columns[c].begin(), columns[c].begin() + n, expanded[c].begin());
                int64_t to = n;
                for (int t = 0; t < POINTS; t++)
                    for (const int64_t r : wide) {
                        Real value = columns[c][r];
                        if (c == WEIGHT || c == LEAN || c == TIED) value *= Real(SHARE[t]);
                        if (c == GAPS) value += Real(POINT[t]) * std::sqrt(columns[VARIANCE][r]);
                        if (c == VARIANCE) value = Real(0);
                        expanded[c][t ? to++ : r] = value;
                    }
            }
        }
        for (auto &term : terms) term.resize(std::max<size_t>(term.size(), sample.n));
        sample = {from[GAPS].data(),       from[VARIANCE].data(),   from[WEIGHT].data(),
                  from[LEAN].data(),       from[TIED].data(),       from[AXES].data(),
                  from[OFFSET].data(),     terms[SLOPE].data(),     terms[BEND].data(),
                  terms[TIE_SLOPE].data(), terms[TIE_BEND].data(),  terms[CROSS].data(),
                  sample.n};
    }

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

    // Minus the log of the joint density; adds up its derivatives where SUMS.
    template <bool SUMS> double look(const double *theta, double *gradient, double (*bend)[MOST]) {
        const Spot spot = spot_at(theta);
        const double size = std::fabs(spot.gamma);
        if (std::min(cut, widest) * size > SLACK * SMOOTH) {
            cut = SMOOTH / size;
            expand();
        }
        Slopes slopes;
        std::memset(&slopes, 0, sizeof slopes);
        double loss = has_ties(LAW) ? -spot.nu * tied_sum - tied_offset : 0.0;
        for (int64_t from = 0; from < sample.n; from += BLOCK) {
            const int rows = int(std::min<int64_t>(BLOCK, sample.n - from));
            loss += law_terms<LAW, RICH, SUMS>(sample, from, rows, spot, slopes);
        }
        if (is_mixture(LAW)) {  // by the prior h^a (1 - h)^b
            const double h = spot.honesty, a = job.means[0], b = job.means[1],
                curve = (a + b) * h * (1 - h);
            if (SUMS) {
                gradient[0] = slopes.gradient[0] - a * (1 - h) + b * h;
                bend[0][0] = std::max(slopes.bend[0][0] + curve, LEAST_CURVATURE * curve);
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
            gradient[i] = turn * slopes.gradient[a] + precision * off;
            for (int b = a; b < MOST; b++) {
                const int64_t j = job.role[b];
                if (j < 0) continue;
                bend[i][j] = bend[j][i] = (a == b ? 1.0 : turn) * slopes.bend[a][b];
                if (a == b) bend[i][i] += precision;
            }
        }
        return loss;
    }

    double bounded(double theta) const {
        return is_mixture(LAW) ? std::min(std::max(theta, job.sds[0]), job.sds[1]) : theta;
    }

    // Find the mode by damped Newton steps from theta; `ahead` is where another step would lead.
    double find_mode(double *theta, double *ahead, double *gradient, double (*factor)[MOST],
        double (*bend)[MOST]) {
        const int64_t p = job.parameters;
        double step[MOST], trial[MOST], value = look<true>(theta, gradient, bend);
        for (int count = 0;; count++) {
            for (int tries = 0; !cholesky(p, bend, factor) && tries < STEPS; tries++) {
                if (cut > 0) {  // far from where they were taken, cumulants may curve the wrong way
                    cut = 0;
                    expand();
                    value = look<true>(theta, gradient, bend);
                } else {
                    for (int i = 0; i < p; i++) bend[i][i] += 1 / (job.sds[i] * job.sds[i]);
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
            const double rounding = sizeof(Real) == 8 ? 1e-9 : 1e-6, before = cut;
            const double limit = value + rounding * (1 + std::fabs(value));
            for (int halvings = 0; halvings < HALVINGS; halvings++, length *= 0.5) {
                for (int i = 0; i < p; i++) trial[i] = bounded(theta[i] - length * step[i]);
                value = look<true>(trial, gradient, bend);
                if (!(value > limit) || cut != before) break;
            }
            std::copy(trial, trial + p, theta);
        }
    }

    // Keep what the last look says of node k.
    void keep(int64_t k, const Spot &spot) {
        const int64_t behind = int64_t(wide.size());
        for (int term = 0; term < (STORED > 1 ? int(TERMS) : 2); term++) {
            Real *of = terms[term].data();
            for (int64_t t = 0; t < POINTS - 1; t++)
                for (int64_t w = 0; w < behind; w++) of[wide[w]] += of[n + t * behind + w];
        }
        const double factor[CHANNELS] = {spot.gamma, spot.stance, 1.0};
        for (int c = 0; c < CHANNELS; c++) {
            if (!job.channels[c].columns) continue;
            float *__restrict pull = job.pulls[c] + job.blocks[u] + k * n;
            const Real *__restrict slope = terms[c == TIE ? TIE_SLOPE : SLOPE].data(),
                by = -Real(factor[c]);
            for (int64_t r = 0; r < n; r++) pull[r] = float(by * slope[r]);
        }
        const int stored[] = {BEND, TIE_BEND, CROSS};
        for (int s = 0; s < STORED; s++)
            std::copy_n(terms[stored[s]].begin(), n, bends.begin() + (k * STORED + s) * n);
    }

    // Look at the nodes of a half: log weights, but for a constant.
    void look_at_half(int64_t half, double log_precision, double *log_weights) {
        const int64_t p = job.parameters, each = job.each, strength = job.role[RELIABILITY];
        double *mode = job.modes + (job.halves * u + half) * p, theta[MOST], gradient[MOST],
            factor[MOST][MOST], bend[MOST][MOST];
        sign = half ? -1.0 : 1.0;
        std::copy(mode, mode + p, theta);
        const double gamma = strength < 0 ? 1.0 : std::fabs(theta[strength]);
        cut = gamma > 0 ? SMOOTH / gamma : HUGE_VAL;
        expand();
        double value = find_mode(theta, mode, gradient, factor, bend), width = log_precision;
        // Were they reversed, their strength would clearly be negative: they are not.
        if (half && theta[strength] < -CLEARLY / std::sqrt(bend[strength][strength])) return;
        for (int i = 0; i < p; i++) width -= std::log(factor[i][i]);
        for (int64_t t = 0; t < each; t++) {
            const int64_t k = half * each + t;
            double spot[MOST], off[MOST], loss = value, far = 0;
            std::copy(job.points + t * p, job.points + (t + 1) * p, off);
            for (int i = 0; i < p; i++) far += off[i] * off[i];
            solve_upper(p, factor, off);
            for (int i = 0; i < p; i++) spot[i] = bounded(theta[i] + off[i]);
            if (far > 0) loss = look<false>(spot, nullptr, nullptr);
            keep(k, spot_at(spot));
            log_weights[k] = job.log_shares[half] - loss + job.log_weights[t] + 0.5 * far + width;
            double *node = job.nodes + (u * job.halves * each + k) * p;
            std::copy(spot, spot + p, node);
            if (strength >= 0) node[strength] *= sign;
        }
    }

public:
    explicit Annotator(const Integral &integral) : job(integral) {}

    // Returns the log evidence.
    double integrate(int64_t annotator) {
        u = annotator;
        const int64_t p = job.parameters, count = job.halves * job.each;
        double log_weights[4 * (MOST + 1)], most = -HUGE_VAL, total = 0, log_precision = 0;
        load();
        bends.resize(std::max<size_t>(bends.size(), size_t(count * STORED * n)));
        for (int i = 0; i < p && !is_mixture(LAW); i++) log_precision -= std::log(job.sds[i]);
        std::fill(log_weights, log_weights + count, -HUGE_VAL);
        for (int64_t half = 0; half < job.halves; half++)
            if (!half || !job.upright || !job.upright[u])
                look_at_half(half, log_precision, log_weights);
        double *weights = job.weights + u * count;
        for (int64_t k = 0; k < count; k++) most = std::max(most, log_weights[k]);
        for (int64_t k = 0; k < count; k++) {
            weights[k] = log_weights[k] > most - 700 ? std::exp(log_weights[k] - most) : 0.0;
            total += weights[k];
        }
        for (int64_t k = 0; k < count; k++) weights[k] /= total;
        for (int pair = 0; pair < PAIRS; pair++) {
            if (!job.curves[pair]) continue;
            float *__restrict curve = job.curves[pair] + job.starts[u];
            for (int64_t r = 0; r < n; r++) curve[r] = 0;
            for (int64_t k = 0; k < count; k++) {
                if (weights[k] == 0) continue;
                sign = 1;  // nodes have their sign
                const Spot spot = spot_at(job.nodes + (u * count + k) * p);
                const double g = spot.gamma, f = spot.stance;
                const double factor[PAIRS] = {g * g, g * f, f * f, g, f, 1.0};
                const int what = pair < 3 ? 0 : pair < 5 ? 2 : 1;
                const float by = float(weights[k] * factor[pair]);
                const float *__restrict bend = bends.data() + (k * STORED + what) * n;
                for (int64_t r = 0; r < n; r++) curve[r] += by * bend[r];
            }
        }
        return most + std::log(total);
    }

    // Maximises over the reliability, the only parameter; returns minus the log density. What is
    // left of the gradient there enters the force to first order.
    double maximise(int64_t annotator, double *ahead, double *theta, double *inverse,
        double *force) {
        double gradient[MOST], factor[MOST][MOST], bend[MOST][MOST], next[MOST];
        u = annotator;
        load();
        expand();
        theta[u] = ahead[u];
        const double value = find_mode(theta + u, next, gradient, factor, bend), gamma = theta[u];
        const double rest = gradient[0] / bend[0][0];
        ahead[u] = next[0], inverse[u] = 1 / bend[0][0];
        float *pull = job.pulls[GAP] + job.starts[u], *curve = job.curves[0] + job.starts[u];
        for (int64_t r = 0; r < n; r++) {
            const double slope = terms[SLOPE][r], curvature = gamma * terms[BEND][r];
            const double cross = curvature * columns[GAPS][r] + slope;
            force[job.starts[u] + r] = gamma * slope - rest * cross;
            curve[r] = float(gamma * curvature), pull[r] = float(cross);
        }
        return value;
    }
};

// The sum of what work(annotator, u) returns for all of them.
template <class One, class Work>
double of_all(int64_t threads, int64_t m, const Integral &job, Work work) {
    const auto edges = cuts(m, job.starts, 2500, 64);
    double total = 0;
    if (job.starts[m] < FEW_ROWS) threads = 1;
    add_up(threads, edges, 1, &total, [&](int64_t begin, int64_t end, double *sum) {
        One one(job);
        for (int64_t u = begin; u < end; u++) *sum += work(one, u);
    });
    return total;
}

template <Law LAW, bool RICH, class Real>
double integrate(int64_t threads, int64_t m, const Integral &job) {
    using One = Annotator<LAW, RICH, Real>;
    return of_all<One>(threads, m, job, [](One &one, int64_t u) { return one.integrate(u); });
}

template <Law LAW>
double maximise(int64_t threads, int64_t m, const Integral &job, double *theta, double *inverse,
                double *force) {
    using One = Annotator<LAW, false, double>;
    return of_all<One>(threads, m, job, [&](One &one, int64_t u) {
        return one.maximise(u, job.modes, theta, inverse, force);
    });
}

// ---------------------------------------------------------------- sums over what is left of rows
// Responses of annotators through channels; M, which mixes those of one annotator, is diag p - p p'
// for nodes of weights p, and diag p where `centred` is 0. Of an annotator as many nodes are stored
// as fit into the block: those of a second half that was not looked at have no weight.
struct Responses {
    int64_t m, nodes;
    const int64_t *starts, *blocks;
    int64_t channels;
    const Channel *channel;
    const float *const *pulls;
    const double *weights;
    int64_t centred;

    int64_t rows(int64_t u) const { return starts[u + 1] - starts[u]; }
    int64_t stored(int64_t u) const {
        return (blocks[u + 1] - blocks[u]) / std::max<int64_t>(rows(u), 1);
    }

    // flow += the sum over nodes of values times pulls, of n rows from the annotator's `from` on.
    template <class Real>
    void add_flow(int64_t c, int64_t u, const double *values, int64_t from, int64_t n,
        Real *__restrict flow) const {
        for (int64_t k = 0; k < stored(u); k++) {
            const Real value = Real(values[k]);
            if (value == 0) continue;
            const float *__restrict pull = pulls[c] + blocks[u] + k * rows(u) + from;
            for (int64_t r = 0; r < n; r++) flow[r] += value * Real(pull[r]);
        }
    }
};

std::vector<int64_t> cuts_of_sums(const Responses &of) {
    return cuts(of.m, of.starts, 1 << 16, 16);
}

}  // namespace

extern "C" double stage1_integrate(
    int64_t threads, int64_t m, const int64_t *starts, const int64_t *blocks, const void *channels,
    const double *unknowns, const double *covariance, int64_t covariance_size, double largest_sd,
    const double *weight, const double *lean, const double *tied, int64_t law,
    const double *grades, const int64_t *role, int64_t parameters, int64_t halves,
    const double *points, const double *point_weights, int64_t each, const double *means,
    const double *sds, const double *log_shares, const uint8_t *upright, double close,
    int64_t floats, double *modes, double *nodes, double *weights, float *const *pulls,
    float *const *curves) {
    const Channel *of = static_cast<const Channel *>(channels);
    const Integral job = {
        starts,  blocks,     of,         unknowns, covariance,    covariance_size, largest_sd,
        weight,  lean,       tied,       grades,   role,          parameters,      halves,
        points,  point_weights, each,    means,    sds,           log_shares,      upright,
        close,   modes,      nodes,      weights,  pulls,         curves};
    const bool rich = of[AXIS].columns || of[TIE].columns;
    switch (law) {
    case LOGISTIC:
        if (rich) return integrate<LOGISTIC, true, double>(threads, m, job);
        if (floats) return integrate<LOGISTIC, false, float>(threads, m, job);
        return integrate<LOGISTIC, false, double>(threads, m, job);
    case DAVIDSON:
        if (rich && floats) return integrate<DAVIDSON, true, float>(threads, m, job);
        if (rich) return integrate<DAVIDSON, true, double>(threads, m, job);
        if (floats) return integrate<DAVIDSON, false, float>(threads, m, job);
        return integrate<DAVIDSON, false, double>(threads, m, job);
    case TWO_GRADES: return integrate<TWO_GRADES, true, double>(threads, m, job);
    case THREE_GRADES: return integrate<THREE_GRADES, true, double>(threads, m, job);
    case NORMAL: return integrate<NORMAL, false, double>(threads, m, job);
    case LOGISTIC_MIXTURE: return integrate<LOGISTIC_MIXTURE, false, double>(threads, m, job);
    case NORMAL_MIXTURE: return integrate<NORMAL_MIXTURE, false, double>(threads, m, job);
    default: return integrate<LAPLACE, false, double>(threads, m, job);
    }
}

// The reliability of every annotator at its mode, and what a tape of that has.
extern "C" double stage1_maximise(
    int64_t threads, int64_t m, const int64_t *starts, const void *channels,
    const double *unknowns, const double *weight, const double *lean, const double *tied,
    int64_t law, const double *means, const double *sds, double close, double *modes,
    double *theta, double *inverse, double *force, float *pull, float *curve) {
    const int64_t role[MOST] = {0, -1, -1, -1};
    const double grades[3] = {0, 0, 0};
    float *const pulls[CHANNELS] = {pull}, *const curves[PAIRS] = {curve};
    Integral job = {};
    job.starts = job.blocks = starts, job.channels = static_cast<const Channel *>(channels);
    job.unknowns = unknowns, job.largest_sd = HUGE_VAL;
    job.weight = weight, job.lean = lean, job.tied = tied, job.grades = grades, job.role = role;
    job.parameters = job.halves = 1, job.means = means, job.sds = sds, job.close = close;
    job.modes = modes, job.pulls = pulls, job.curves = curves;
    switch (law) {
    case LOGISTIC: return maximise<LOGISTIC>(threads, m, job, theta, inverse, force);
    case NORMAL: return maximise<NORMAL>(threads, m, job, theta, inverse, force);
    default: return maximise<LAPLACE>(threads, m, job, theta, inverse, force);
    }
}

#define RESPONSES                                                                               \
    int64_t threads, int64_t m, int64_t nodes, const int64_t *starts, const int64_t *blocks,    \
        int64_t channels, const void *channel, const float *const *pulls,                       \
        const double *weights, int64_t centred
#define AS_RESPONSES                                                                             \
    {m, nodes, starts, blocks, channels, static_cast<const Channel *>(channel), pulls, weights,  \
     centred}

// out[r] = the sum over nodes of values times pulls, through the first channel.
extern "C" void stage1_flow(RESPONSES, const double *values, double *out) {
    const Responses of = AS_RESPONSES;
    const auto edges = cuts_of_sums(of);
    in_threads(threads, int64_t(edges.size()) - 1, [&](auto next) {
        for (int64_t k; (k = next()) < int64_t(edges.size()) - 1;)
            for (int64_t u = edges[k]; u < edges[k + 1]; u++)
                of.add_flow(0, u, values + u * nodes, 0, of.rows(u), out + starts[u]);
    });
}

// Adds to out, unknowns by four, through the first channel: the gradient, the sum of values times
// responses (null: none), and the diagonals of the complete and the missing information. force is
// null where it is minus the mean of the pulls.
extern "C" void stage1_sums(RESPONSES, const double *force, const float *curve,
    const double *values, int64_t size, double *out) {
    const Responses of = AS_RESPONSES;
    add_up(threads, cuts_of_sums(of), 4 * size, out, [&](int64_t begin, int64_t end, double *sums) {
        for (int64_t u = begin; u < end; u++)
            for (int64_t from = 0, n; from < of.rows(u); from += n) {
                double mean[BLOCK] = {0}, square[BLOCK] = {0}, toward[BLOCK] = {0}, flow[BLOCK][4];
                n = std::min<int64_t>(BLOCK, of.rows(u) - from);
                for (int64_t k = 0; k < of.stored(u); k++) {
                    const double p = weights[u * nodes + k];
                    if (p == 0) continue;
                    const float *__restrict pull = pulls[0] + blocks[u] + k * of.rows(u) + from;
                    for (int64_t r = 0; r < n; r++) {
                        const double q = double(pull[r]), once = p * q;
                        mean[r] += once, square[r] += once * q;
                    }
                }
                if (values) of.add_flow(0, u, values + u * nodes, from, n, toward);
                const int64_t first = starts[u] + from;
                for (int64_t r = 0; r < n; r++) {
                    flow[r][0] = force ? force[first + r] : -mean[r], flow[r][1] = toward[r];
                    flow[r][2] = double(curve[first + r]);
                    flow[r][3] = square[r] - double(centred) * mean[r] * mean[r];
                }
                for (int64_t r = 0; r < n; r++)
                    of.channel->each(first + r, [&](int32_t i, double f) {
                        double *sum = sums + 4 * int64_t(i);
                        sum[0] += f * flow[r][0], sum[1] += f * flow[r][1];
                        sum[2] += f * f * flow[r][2], sum[3] += f * f * flow[r][3];
                    });
            }
    });
}

// out += observed information times v. responses (annotators by nodes): what else moves them, and
// afterwards M times what does. curves: of each pair of channels.
extern "C" void stage1_product(RESPONSES, const float *const *curves, const double *v,
    double *responses,
                               int64_t size, double *out) {
    const Responses of = AS_RESPONSES;
    add_up(threads, cuts_of_sums(of), size, out, [&](int64_t begin, int64_t end, double *sums) {
        std::vector<float> moved, flow;
        for (int64_t u = begin; u < end; u++) {
            const int64_t n = of.rows(u), first = starts[u];
            moved.resize(channels * n), flow.resize(n);
            double *response = responses + u * nodes, mean = 0;
            for (int64_t c = 0; c < channels; c++) {
                float *__restrict change = moved.data() + c * n;
                for (int64_t r = 0; r < n; r++)
                    change[r] = float(of.channel[c].gather(first + r, v));
                for (int64_t k = 0; k < of.stored(u); k++) {
                    if (weights[u * nodes + k] == 0) continue;
                    const float *__restrict pull = pulls[c] + blocks[u] + k * n;
                    for (int64_t from = 0; from < n; from += BLOCK) {
                        const int64_t to = std::min(from + BLOCK, n);
                        float sum = 0;
#pragma omp simd reduction(+ : sum)
                        for (int64_t r = from; r < to; r++) sum += pull[r] * change[r];
                        response[k] += double(sum);
                    }
                }
            }
            const double *p = weights + u * nodes;
            for (int64_t k = 0; centred && k < nodes; k++) mean += p[k] * response[k];
            for (int64_t k = 0; k < nodes; k++) response[k] = p[k] * (mean - response[k]);
            for (int64_t c = 0; c < channels; c++) {
                std::fill(flow.begin(), flow.end(), 0.0f);
                float *__restrict out_flow = flow.data();
                for (int64_t d = 0; d < channels; d++) {
                    const float *__restrict curve = curves[c * channels + d] + first,
                        *__restrict change = moved.data() + d * n;
                    for (int64_t r = 0; r < n; r++) out_flow[r] += curve[r] * change[r];
                }
                of.add_flow(c, u, response, 0, n, out_flow);
                for (int64_t r = 0; r < n; r++)
                    of.channel[c].each(first + r, [&](int32_t i, double f) {
                        sums[i] += f * out_flow[r];
                    });
            }
        }
    });
}

// square[u] = b'Cb and along[u] = b'x of the sums b of values times responses; covariance_size is 0
// where C is a diagonal. extra, annotators by `means`: what b has at the last unknowns.
extern "C" void stage1_forms(RESPONSES, const double *values, const double *covariance,
                             int64_t covariance_size, const double *x, int64_t size,
                             int64_t means, const double *extra, double *square, double *along) {
    const Responses of = AS_RESPONSES;
    const auto edges = cuts_of_sums(of);
    in_threads(threads, int64_t(edges.size()) - 1, [&](auto next) {
        std::vector<double> b(size), flow, values_of;
        std::vector<int32_t> entries;
        for (int64_t range; (range = next()) < int64_t(edges.size()) - 1;)
            for (int64_t u = edges[range]; u < edges[range + 1]; u++) {
                entries.clear(), values_of.clear();
                const auto keep = [&](int32_t i, double) {  // what is met again is 0
                    if (b[i] == 0) return;
                    entries.push_back(i), values_of.push_back(b[i]);
                    b[i] = 0;
                };
                for (int64_t c = 0; c < channels; c++) {
                    flow.assign(of.rows(u), 0.0);
                    of.add_flow(c, u, values + u * nodes, 0, of.rows(u), flow.data());
                    for (int64_t r = 0; r < of.rows(u); r++)
                        of.channel[c].each(starts[u] + r, [&](int32_t i, double f) {
                            b[i] += f * flow[r];
                        });
                }
                for (int64_t j = 0; j < means; j++) b[size - means + j] = extra[u * means + j];
                for (int64_t c = 0; c < channels; c++)
                    for (int64_t r = starts[u]; r < starts[u + 1]; r++)
                        of.channel[c].each(r, keep);
                for (int64_t j = 0; j < means; j++) keep(int32_t(size - means + j), 1.0);
                // Where most unknowns were met, a row of the matrix is read as it comes.
                const bool all = covariance_size && 2 * int64_t(entries.size()) > size;
                for (size_t s = 0; all && s < entries.size(); s++) b[entries[s]] = values_of[s];
                double form = 0, product = 0;
                for (size_t s = 0; s < entries.size(); s++) {
                    const double value = values_of[s];
                    const double *__restrict row = covariance + entries[s] * covariance_size;
                    double sum = 0;
                    if (all) {
                        const double *__restrict every = b.data();
#pragma omp simd reduction(+ : sum)
                        for (int64_t t = 0; t < size; t++) sum += row[t] * every[t];
                    } else if (covariance_size) {
                        for (size_t t = 0; t < entries.size(); t++)
                            sum += row[entries[t]] * values_of[t];
                    } else {
                        sum = covariance[entries[s]] * value;
                    }
                    form += value * sum, product += value * x[entries[s]];
                }
                if (all) std::fill(b.begin(), b.end(), 0.0);
                square[u] = form, along[u] = product;
            }
    });
}

// Adds to complete, unknowns by unknowns, the complete information, and to missing the missing one:
// each pair of unknowns on one side of the diagonal only. extra: what means of parameters, the last
// unknowns, have of the responses, annotators by nodes by means.
extern "C" void stage1_dense(RESPONSES, const float *const *curves, int64_t size, int64_t means,
                             const double *extra, double *complete_and_missing) {
    const Responses of = AS_RESPONSES;
    const auto edges = cuts(m, starts, std::max<int64_t>(1 << 16, size * size), 16);
    add_up(threads, edges, 2 * size * size, complete_and_missing, [&](int64_t begin, int64_t end,
        double *complete) {
        double *missing = complete + size * size;
        std::vector<double> table, products(size);
        std::vector<int32_t> entries, slot(size, -1);
        for (int64_t u = begin; u < end; u++) {
            const int64_t n = of.rows(u), first = starts[u];
            for (int64_t c = 0; c < channels; c++)
                for (int64_t d = 0; d < channels; d++)
                    for (int64_t r = first; r < first + n; r++)
                        of.channel[c].each(r, [&](int32_t i, double f) {
                            double *row = complete + i * size;
                            const double curve = f * double(curves[c * channels + d][r]);
                            of.channel[d].each(
                                r, [&](int32_t j, double g) { row[j] += g * curve; });
                        });
            // The responses as a table of nodes by the unknowns that the annotator met, or by all
            // where these are most: then what follows goes through memory as it comes.
            entries.clear();
            const auto meet = [&](int32_t i, double) {
                if (slot[i] < 0) slot[i] = int32_t(entries.size()), entries.push_back(i);
            };
            for (int64_t c = 0; c < channels; c++)
                for (int64_t r = first; r < first + n; r++) of.channel[c].each(r, meet);
            for (int64_t j = size - means; j < size; j++) meet(int32_t(j), 1.0);
            const bool all = 2 * int64_t(entries.size()) > size;
            if (all) entries.resize(size);
            for (int64_t i = 0; all && i < size; i++) slot[i] = entries[i] = int32_t(i);
            const int64_t width = int64_t(entries.size()), stored = of.stored(u);
            table.assign((stored + 1) * width, 0.0);
            double *mean = table.data() + stored * width;
            for (int64_t k = 0; k < stored; k++) {
                const double p = weights[u * nodes + k];
                double *response = table.data() + k * width;
                if (p == 0) continue;
                for (int64_t c = 0; c < channels; c++) {
                    const float *pull = pulls[c] + blocks[u] + k * n;
                    for (int64_t r = 0; r < n; r++)
                        of.channel[c].each(first + r, [&](int32_t i, double f) {
                            response[slot[i]] += f * double(pull[r]);
                        });
                }
                const double *own = extra + (u * nodes + k) * means;
                for (int64_t j = 0; j < means; j++) response[slot[size - means + j]] = own[j];
                for (int64_t s = 0; centred && s < width; s++) mean[s] += p * response[s];
            }
            for (int64_t k = 0; k < stored; k++) {
                const double root = std::sqrt(weights[u * nodes + k]);
                double *response = table.data() + k * width;
                for (int64_t s = 0; s < width; s++) response[s] = root * (response[s] - mean[s]);
            }
            for (int64_t s = 0; s < width; s++) {
                double *__restrict product = products.data(), *row = missing + entries[s] * size;
                std::fill(product, product + s + 1, 0.0);
                for (int64_t k = 0; k < stored; k++) {
                    const double *__restrict response = table.data() + k * width,
                        value = response[s];
                    if (value == 0) continue;
                    for (int64_t t = 0; t <= s; t++) product[t] += value * response[t];
                }
                if (all)
                    for (int64_t t = 0; t <= s; t++) row[t] += product[t];
                else
                    for (int64_t t = 0; t <= s; t++) row[entries[t]] += product[t];
            }
            for (const int32_t i : entries) slot[i] = -1;
        }
    });
}
