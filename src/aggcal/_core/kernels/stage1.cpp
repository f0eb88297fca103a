// Stage 1 on processors: rows of an annotator in the cache, and annotators in threads.
//
// Work is cut into ranges of annotators by the data alone, and ranges are added up in their order:
// the same data give the same bits on any number of threads.
#include "stage1.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace {

constexpr int PADDING = 16;  // rows are filled up with rows without weight to whole vectors
constexpr int64_t FEW_ROWS = 10000;  // that no second thread is worth waking for

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

// Call work(u, room) for every annotator, each thread with room of its own.
template <class Room, class Work>
void for_all(int64_t threads, const std::vector<int64_t> &edges, Room room, Work work) {
    const int64_t ranges = int64_t(edges.size()) - 1;
    in_threads(threads, ranges, [&](auto next) {
        auto own = room();
        for (int64_t k; (k = next()) < ranges;)
            for (int64_t u = edges[k]; u < edges[k + 1]; u++) work(u, own);
    });
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

// A team of one.
struct Single {
    static constexpr int64_t lane() { return 0; }
    static constexpr int64_t lanes() { return 1; }
    static void wait() {}
    static void sum(double *, int) {}
    static void add(double &to, double value) { to += value; }
    static int64_t next(int64_t &number) { return number++; }
    static double take(double &from) {
        const double value = from;
        from = 0;
        return value;
    }
};

// The rows of an annotator, which a thread has copied to columns.
template <Law LAW, bool RICH, class Number> struct Columns : Single {
    static constexpr Law law = LAW;
    static constexpr bool remembers = true;  // what was last looked at
    using Real = Number;
    enum Column { GAPS, VARIANCE, WEIGHT, LEAN, TIED, AXES, OFFSET, COLUMNS };
    enum Term { SCORE, CURVATURE, TIE_SCORE, TIE_CURVATURE, CROSS, TERMS };
    static constexpr int STORED = RICH && has_ties(LAW) ? 3 : 1;  // curvatures, by node and row
    const Integral &job;
    int64_t u = 0, n = 0, room = 0, used = 0;
    double cut = 0, widest = 0, tied_sum = 0, tied_offset = 0;
    std::vector<Real> columns[COLUMNS], expanded[COLUMNS], terms[TERMS];
    std::vector<float> curvatures;
    std::vector<int64_t> wide;
    Sample<Real> sample;

    explicit Columns(const Integral &integral) : job(integral) {}

    // Read the annotator's rows.
    void load(int64_t annotator) {
        u = annotator;
        const int64_t first = job.starts[u];
        const Channel &gaps = job.channels[GAP];
        n = job.starts[u + 1] - first;
        room = padded(n);
        for (auto &column : columns) {
            column.resize(std::max<size_t>(column.size(), room));
            std::fill(column.begin() + n, column.begin() + room, Real(0));
        }
        const size_t kept = size_t(job.halves * job.each * STORED * n);
        curvatures.resize(std::max(curvatures.size(), kept));
        const double *weight = job.weight + first, *lean = job.lean + first,
                     *tied = job.tied + first, *x = job.unknowns, *covariance = job.covariance;
        const Real largest = Real(job.largest_sd * job.largest_sd);
        Real *__restrict gap = columns[GAPS].data(),
            *__restrict variance = columns[VARIANCE].data();
        for (int64_t r = 0; r < n; r++) gap[r] = Real(gaps.gather(first + r, x));
        if (!covariance) {
            std::fill(variance, variance + n, Real(0));
        } else if (gaps.factors || job.covariance_size) {
            for (int64_t r = 0; r < n; r++)
                variance[r] = Real(gaps.variance(first + r, covariance, job.covariance_size));
        } else {
            const int32_t *column = gaps.columns + 2 * first;
            for (int64_t r = 0; r < n; r++)
                variance[r] = Real(covariance[column[2 * r]] + covariance[column[2 * r + 1]]);
        }
        for (int64_t r = 0; r < n; r++) variance[r] = std::min(variance[r], largest);
        copy(weight, WEIGHT), copy(lean, LEAN), copy(tied, TIED);
        widest = std::sqrt(double(*std::max_element(variance, variance + n)));
        Real *offset = columns[OFFSET].data();
        if (RICH) {
            Real *axis = columns[AXES].data();
            std::fill(axis, axis + n, Real(0)), std::fill(offset, offset + n, Real(0));
            for (int64_t r = 0; job.channels[AXIS].columns && r < n; r++)
                axis[r] = Real(job.channels[AXIS].gather(first + r, x));
            for (int64_t r = 0; job.channels[TIE].columns && r < n; r++)
                offset[r] = Real(std::min(job.channels[TIE].gather(first + r, x), LARGEST_OFFSET));
        }
        double sum = 0, offsets = 0;
#pragma omp simd reduction(+ : sum, offsets)
        for (int64_t r = 0; r < n; r++)
            sum += tied[r], offsets += RICH ? tied[r] * double(offset[r]) : 0.0;
        tied_sum = sum, tied_offset = offsets;
        for (int64_t r = 0; RICH && r < n; r++) offset[r] = std::exp(offset[r]);
    }
    static int64_t padded(int64_t rows) { return (rows + PADDING - 1) / PADDING * PADDING; }
    void copy(const double *from, Column to) {
        Real *__restrict out = columns[to].data();
        for (int64_t r = 0; r < n; r++) out[r] = Real(from[r]);
    }

    // Split rows whose gap has an sd above the cut: each has its points as rows of their own, the
    // central one where it was and the others behind all rows.
    void split(double largest) {
        cut = largest;
        const double limit = has_cumulants(LAW) ? cut : 0.0;
        wide.clear();
        for (int64_t r = 0; widest > limit && r < n; r++)
            if (double(columns[VARIANCE][r]) > limit * limit) wide.push_back(r);
        const int64_t rows = n + (POINTS - 1) * int64_t(wide.size());
        std::vector<Real> *from = columns;
        used = room;
        if (!wide.empty()) {
            from = expanded;
            used = padded(rows);
            for (int c = 0; c < COLUMNS; c++) {
                expanded[c].resize(std::max<size_t>(expanded[c].size(), used));
                std::fill(expanded[c].begin() + rows, expanded[c].begin() + used, Real(0));
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
        for (auto &term : terms) term.resize(std::max<size_t>(term.size(), used));
        sample = {from[GAPS].data(),        from[VARIANCE].data(),       from[WEIGHT].data(),
                  from[LEAN].data(),        from[TIED].data(),           from[AXES].data(),
                  from[OFFSET].data(),      terms[SCORE].data(),         terms[CURVATURE].data(),
                  terms[TIE_SCORE].data(),  terms[TIE_CURVATURE].data(), terms[CROSS].data()};
    }

    template <bool SUMS> void add_up(const Spot &spot, double *sums, int64_t node) {
        for (int64_t from = 0; from < used; from += BLOCK) {
            const int rows = int(std::min<int64_t>(BLOCK, used - from));
            law_terms<LAW, RICH, SUMS>(sample, from, rows, spot, sums);
        }
        if (node >= 0) keep(node, spot);
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
            const Real *__restrict score = terms[c == TIE ? TIE_SCORE : SCORE].data(),
                by = -Real(factor[c]);
            for (int64_t r = 0; r < n; r++) pull[r] = float(by * score[r]);
        }
        const int stored[] = {CURVATURE, TIE_CURVATURE, CROSS};
        for (int s = 0; s < STORED; s++)
            std::copy_n(terms[stored[s]].begin(), n, curvatures.begin() + (k * STORED + s) * n);
    }
    const float *kept(int64_t k, int which) const {
        return curvatures.data() + (k * STORED + which) * n;
    }

    void keep_mode(const Spot &spot, double rest) {
        const int64_t first = job.starts[u];
        float *pull = job.pulls[GAP] + first, *curve = job.curves[0] + first;
        for (int64_t r = 0; r < n; r++) {
            const double score = terms[SCORE][r], curvature = spot.gamma * terms[CURVATURE][r];
            const double cross = curvature * columns[GAPS][r] + score;
            job.force[first + r] = spot.gamma * score - rest * cross;
            curve[r] = float(spot.gamma * curvature), pull[r] = float(cross);
        }
    }
};

template <Law LAW, bool RICH, class Real> void integrate(int64_t threads, const Integral &job) {
    using Team = Columns<LAW, RICH, Real>;
    if (job.starts[job.m] < FEW_ROWS) threads = 1;
    for_all(threads, cuts(job.m, job.starts, 2500, 64), [&] { return Team(job); },
            [&](int64_t u, Team &team) {
                Annotator<Team> one(job, team, u);
                if (job.theta) one.maximise();
                else one.integrate();
            });
}

std::vector<int64_t> cuts_of(const Sums &of) { return cuts(of.m, of.starts, 1 << 16, 16); }

template <class Work> void add_up_all(int64_t threads, const Sums &of, int64_t size, Work work) {
    add_up(threads, cuts_of(of), size, of.out, [&](int64_t begin, int64_t end, double *sums) {
        for (int64_t u = begin; u < end; u++) work(of, u, sums);
    });
}

}  // namespace

// Integrates the annotators' parameters out, or maximises over them where there is room for theta.
extern "C" void stage1_annotators(int64_t threads, const Integral *given, int64_t law, int64_t rich,
                                  int64_t floats) {
    const Integral &job = *given;
    switch (law) {
    case LOGISTIC:
        if (rich) return integrate<LOGISTIC, true, double>(threads, job);
        if (floats) return integrate<LOGISTIC, false, float>(threads, job);
        return integrate<LOGISTIC, false, double>(threads, job);
    case DAVIDSON:
        if (rich && floats) return integrate<DAVIDSON, true, float>(threads, job);
        if (rich) return integrate<DAVIDSON, true, double>(threads, job);
        if (floats) return integrate<DAVIDSON, false, float>(threads, job);
        return integrate<DAVIDSON, false, double>(threads, job);
    case TWO_GRADES: return integrate<TWO_GRADES, true, double>(threads, job);
    case THREE_GRADES: return integrate<THREE_GRADES, true, double>(threads, job);
    case NORMAL: return integrate<NORMAL, false, double>(threads, job);
    case LOGISTIC_MIXTURE: return integrate<LOGISTIC_MIXTURE, false, double>(threads, job);
    case NORMAL_MIXTURE: return integrate<NORMAL_MIXTURE, false, double>(threads, job);
    default: return integrate<LAPLACE, false, double>(threads, job);
    }
}

extern "C" void stage1_flow(int64_t threads, const Sums *of) {
    for_all(threads, cuts_of(*of), [] { return 0; },
            [&](int64_t u, int) { flow_of<Single>(*of, u, of->out); });
}

extern "C" void stage1_sums(int64_t threads, const Sums *of) {
    add_up_all(threads, *of, 4 * of->size, sums_of<Single>);
}

extern "C" void stage1_product(int64_t threads, const Sums *of) {
    add_up_all(threads, *of, of->size, product_of<Single>);
}

extern "C" void stage1_forms(int64_t threads, const Sums *of) {
    struct Room {
        std::vector<double> b, values;
        std::vector<int32_t> entries;
    };
    const size_t size = size_t(of->size);
    for_all(threads, cuts_of(*of),
            [&] { return Room{std::vector<double>(size), std::vector<double>(size),
                              std::vector<int32_t>(size)}; },
            [&](int64_t u, Room &room) {
                int64_t met = 0;
                forms_of<Single>(*of, u, room.b.data(), room.values.data(), room.entries.data(),
                                 met);
            });
}

// Adds to out, unknowns by unknowns, the complete information, and after it the missing one: of the
// latter each pair of unknowns on one side of the diagonal only. extra: what means have of the
// responses, annotators by nodes by means.
extern "C" void stage1_dense(int64_t threads, const Sums *given) {
    const Sums &of = *given;
    const int64_t size = of.size;
    const auto edges = cuts(of.m, of.starts, std::max<int64_t>(1 << 16, size * size), 16);
    add_up(threads, edges, 2 * size * size, of.out, [&](int64_t begin, int64_t end,
        double *complete) {
        double *missing = complete + size * size;
        std::vector<double> table, products(size);
        std::vector<int32_t> entries, slot(size, -1);
        for (int64_t u = begin; u < end; u++) {
            const int64_t n = of.rows(u), first = of.starts[u];
            complete_of<Single>(of, u, complete);
            // The responses as a table of nodes by the unknowns that the annotator met, or by all
            // where these are most: then what follows goes through memory as it comes.
            entries.clear();
            const auto meet = [&](int32_t i, double) {
                if (slot[i] < 0) slot[i] = int32_t(entries.size()), entries.push_back(i);
            };
            for (int64_t c = 0; c < of.channels; c++)
                for (int64_t r = first; r < first + n; r++) of.channel[c].each(r, meet);
            for (int64_t j = size - of.means; j < size; j++) meet(int32_t(j), 1.0);
            const bool all = 2 * int64_t(entries.size()) > size;
            if (all) entries.resize(size);
            for (int64_t i = 0; all && i < size; i++) slot[i] = entries[i] = int32_t(i);
            const int64_t width = int64_t(entries.size()), stored = of.stored(u);
            table.assign((stored + 1) * width, 0.0);
            double *mean = table.data() + stored * width;
            for (int64_t k = 0; k < stored; k++) {
                const double p = of.weights[u * of.nodes + k];
                double *response = table.data() + k * width;
                if (p == 0) continue;
                for (int64_t c = 0; c < of.channels; c++) {
                    const float *pull = of.pull(c, u, k);
                    for (int64_t r = 0; r < n; r++)
                        of.channel[c].each(first + r, [&](int32_t i, double f) {
                            response[slot[i]] += f * double(pull[r]);
                        });
                }
                const double *own = of.extra + (u * of.nodes + k) * of.means;
                for (int64_t j = 0; j < of.means; j++) response[slot[size - of.means + j]] = own[j];
                for (int64_t s = 0; of.centred && s < width; s++) mean[s] += p * response[s];
            }
            for (int64_t k = 0; k < stored; k++) {
                const double root = std::sqrt(of.weights[u * of.nodes + k]);
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
