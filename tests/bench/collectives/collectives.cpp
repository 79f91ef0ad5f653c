// Cost of collectives: real processes over one shared segment, each operation for 1 KiB to 64 MiB and 2,
// 4, 8 ranks. CSV on stdout.
//
//   collectives [--max-bytes N] [--repeats N]
//
// bytes is the buffer's length, including all ranks' parts. A repeat begins with a barrier and lasts as long as its slowest
// rank, including wake-up; the first three are not counted. bytes_per_s is of the best repeat. memcpy is one process copying as
// many bytes between two of the buffers. After the last repeat each rank verifies its whole result; the
// program fails if one is wrong.
#include "tests/support/ranks.h"

#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

using namespace fedhive;
using clients::AllReduce;
using clients::Communicator;
using testing::Ranks;

namespace {

constexpr std::size_t kWarmUp = 3;
constexpr std::size_t kSmall = std::size_t{1} << 20;  // below it, ten times as many repeats

/// Small integers, so that sums are exact.
float value(std::size_t rank, std::size_t i) { return static_cast<float>((i + 3 * rank) % 251); }

float sum(const Communicator& own, std::size_t i) {
    float total = 0.0F;
    for (std::size_t r = 0; r < own.size(); ++r) total += value(r, i);
    return total;
}

/// A collective: `count` is the floats in the buffer; the result at this rank is [first, end), with the values `expected`.
struct Operation {
    const char* name;
    const char* algorithm;
    void (*call)(Communicator& own, std::size_t count);
    std::size_t (*first)(const Communicator& own, std::size_t count);
    std::size_t (*end)(const Communicator& own, std::size_t count);
    float (*expected)(const Communicator& own, std::size_t count, std::size_t i);
};

std::size_t none(const Communicator&, std::size_t) { return 0; }
std::size_t all(const Communicator&, std::size_t count) { return count; }
std::size_t at_root(const Communicator& own, std::size_t count) { return own.rank() == 0 ? count : 0; }
std::size_t part_begin(const Communicator& own, std::size_t count) { return count * own.rank() / own.size(); }
std::size_t part_end(const Communicator& own, std::size_t count) { return count * (own.rank() + 1) / own.size(); }
std::size_t one_part(const Communicator& own, std::size_t count) { return count / own.size(); }

float of_sum(const Communicator& own, std::size_t, std::size_t i) { return sum(own, i); }
float of_root(const Communicator&, std::size_t, std::size_t i) { return value(0, i); }
float of_owner(const Communicator& own, std::size_t count, std::size_t i) { return value(i / one_part(own, count), i); }
float of_first_part(const Communicator& own, std::size_t count, std::size_t i) {
    return value(i / one_part(own, count), i % one_part(own, count));
}
float of_roots_part(const Communicator& own, std::size_t count, std::size_t i) {
    return value(0, own.rank() * one_part(own, count) + i);
}

constexpr Operation kOperations[] = {
    {"all_reduce", "star", [](Communicator& own, std::size_t count) { own.all_reduce(count, AllReduce::Star); }, none, all,
     of_sum},
    {"all_reduce", "ring", [](Communicator& own, std::size_t count) { own.all_reduce(count, AllReduce::Ring); }, none, all,
     of_sum},
    {"all_reduce", "tree", [](Communicator& own, std::size_t count) { own.all_reduce(count, AllReduce::Tree); }, none, all,
     of_sum},
    {"broadcast", "tree", [](Communicator& own, std::size_t count) { own.broadcast(count, 0); }, none, all, of_root},
    {"reduce", "tree", [](Communicator& own, std::size_t count) { own.reduce(count, 0); }, none, at_root, of_sum},
    {"reduce_scatter", "ring", [](Communicator& own, std::size_t count) { own.reduce_scatter(count); }, part_begin, part_end,
     of_sum},
    {"all_gather", "ring", [](Communicator& own, std::size_t count) { own.all_gather(one_part(own, count)); }, none, all,
     of_owner},
    {"gather", "direct", [](Communicator& own, std::size_t count) { own.gather(one_part(own, count), 0); }, none, at_root,
     of_first_part},
    {"scatter", "direct", [](Communicator& own, std::size_t count) { own.scatter(one_part(own, count), 0); }, none, one_part,
     of_roots_part},
};
constexpr Operation kBarrier{"barrier", "dissemination", [](Communicator& own, std::size_t) { own.barrier(); }, none,
                             none,      of_root};

/// Seconds of one call at one rank; in shared memory [repeat][rank].
using Seconds = double;

void run_rank(Communicator& own, const Operation& operation, std::size_t count, std::span<Seconds> times) {
    const auto floats = own.buffer().host();
    for (std::size_t repeat = 0; repeat < times.size() / own.size(); ++repeat) {
        for (std::size_t i = 0; i < count; ++i) floats[i] = value(own.rank(), i);
        own.barrier();
        const std::int64_t start = now_ns();
        operation.call(own, count);
        times[repeat * own.size() + own.rank()] = seconds_between(start, now_ns());
    }
    for (std::size_t i = operation.first(own, count); i < operation.end(own, count); ++i)
        if (floats[i] != operation.expected(own, count, i)) throw std::runtime_error(fmt::format("{} at {}", floats[i], i));
}

/// Seconds of the counted repeats, ascending.
std::vector<Seconds> measure(Ranks& ranks, const Operation& operation, std::size_t bytes, std::size_t repeats) {
    repeats = (bytes < kSmall ? 10 * repeats : repeats) + kWarmUp;
    const aggregation::SharedSegment segment("fedhive-times", repeats * ranks.size() * sizeof(Seconds));
    const std::span times(reinterpret_cast<Seconds*>(segment.data()), repeats * ranks.size());
    ranks.run(Ranks::As::Processes, [&](Communicator& own) { run_rank(own, operation, bytes / sizeof(float), times); });
    for (const Ranks::End end : {Ranks::End::Threw, Ranks::End::Missing, Ranks::End::Nothing})  // the cause first
        for (std::size_t r = 0; r < ranks.size(); ++r)
            if (ranks.outcome(r).end == end)
                throw std::runtime_error(fmt::format("{} ({}), {} ranks, {} bytes: rank {}: {}", operation.name,
                                                     operation.algorithm, ranks.size(), bytes, r,
                                                     ranks.outcome(r).message.get()));
    for (clients::RankCell& cell : ranks.group()) cell.reset();
    std::vector<Seconds> slowest;
    for (std::size_t repeat = kWarmUp; repeat < repeats; ++repeat)
        slowest.push_back(*std::max_element(&times[repeat * ranks.size()], &times[repeat * ranks.size()] + ranks.size()));
    std::sort(slowest.begin(), slowest.end());
    return slowest;
}

/// Bytes per second of the best of as many repeats.
double measure_memcpy(const Ranks& ranks, std::size_t bytes, std::size_t repeats) {
    repeats = (bytes < kSmall ? 10 * repeats : repeats) + kWarmUp;
    Seconds best = 1e9;
    for (std::size_t i = 0; i < repeats; ++i) {
        const std::int64_t start = now_ns();
        std::memcpy(ranks.buffer(0).data, ranks.buffer(1).data, bytes);
        best = std::min(best, seconds_between(start, now_ns()));
    }
    return static_cast<double>(bytes) / best;
}

void print_row(const Operation& operation, std::size_t ranks, std::size_t bytes, const std::vector<Seconds>& times,
               double memcpy_rate) {
    fmt::print("{},{},{},{},{:.2f},{:.2f}", operation.name, operation.algorithm, ranks, bytes, times.front() * 1e6,
               times[times.size() / 2] * 1e6);
    const double rate = static_cast<double>(bytes) / times.front();
    if (bytes > 0) fmt::print(",{:.4g},{:.4g},{:.3f}\n", rate, memcpy_rate, rate / memcpy_rate);
    if (bytes == 0) fmt::print(",,,\n");
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) try {
    std::size_t max_bytes = std::size_t{64} << 20;
    std::size_t repeats = 20;
    CLI::App app("Times of collectives as CSV");
    app.add_option("--max-bytes", max_bytes, "longest buffer, at least 1024 (1024 times powers of 4 are measured)")
        ->check(CLI::Range(std::size_t{1024}, std::size_t{1} << 30));
    app.add_option("--repeats", repeats, "of each row; ten times as many below 1 MiB")->check(CLI::Range(1, 100'000));
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    fmt::print("operation,algorithm,ranks,bytes,best_us,median_us,bytes_per_s,memcpy_bytes_per_s,ratio\n");
    for (const std::size_t size : {2U, 4U, 8U}) {
        Ranks ranks(size, max_bytes / sizeof(float));
        print_row(kBarrier, size, 0, measure(ranks, kBarrier, 0, repeats), 0.0);
        for (std::size_t bytes = 1024; bytes <= max_bytes; bytes *= 4) {
            const double memcpy_rate = measure_memcpy(ranks, bytes, repeats);
            for (const Operation& operation : kOperations)
                print_row(operation, size, bytes, measure(ranks, operation, bytes, repeats), memcpy_rate);
        }
    }
    return 0;
} catch (const std::exception& error) {
    fmt::print(stderr, "collectives: {}\n", error.what());
    return 1;
}
