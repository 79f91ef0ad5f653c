// Keyed random streams. There is no global generator: each stream is keyed by (seed, purpose, round, client). A client's draws
// therefore depend neither on the worker that trains it nor on the order in which clients finish.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

namespace fedhive {

/// The use of a stream. Results depend on these values: append, never renumber.
enum class Purpose : std::uint32_t {
    ModelInit = 1,
    Partition = 2,
    Sampling = 3,
    Shuffle = 4,
    Dropout = 5,
    TrainData = 6,
    TestData = 7,
    Faults = 8,
    Devices = 9,
    Availability = 10,
    EpochOrder = 11,
    ServerDropout = 12,
    SweepDraws = 13,
    Repeat = 14,
    HoldOut = 15,
    Upload = 16,
    EvaluatedClients = 17,
    Personalization = 18,
    Transforms = 19,
    FeatureSkew = 20,
    MissingNoise = 21,
    Bucketing = 22,
    Poison = 23,
    RootExamples = 24,
    ClipCount = 25,
    TreeNoise = 26,
    Broadcast = 27,
};

/// Counter-based stream: block i of the stream is Philox4x32-10(key = seed, counter = (i, purpose, round, client)).
///
/// Cost     about 1 ns a word; copying is cheap; 2^34 words before it repeats.
/// Source   Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", doi:10.1145/2063384.2063405.
class Stream {
public:
    using result_type = std::uint32_t;

    Stream(std::uint64_t seed, Purpose purpose, std::uint32_t round = 0, std::uint32_t client = 0)
        : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
          counter_{0, static_cast<std::uint32_t>(purpose), round, client} {}

    static constexpr result_type min() { return 0; }
    static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }

    std::uint32_t operator()() {
        if (used_ == block_.size()) refill();
        return block_[used_++];
    }

    std::uint64_t next_u64() {
        const std::uint64_t low = (*this)();
        return low | static_cast<std::uint64_t>((*this)()) << 32;
    }

    /// Uniform in [0, bound), unbiased (rejection). bound >= 1.
    std::uint64_t below(std::uint64_t bound) {
        constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
        for (;;) {
            const std::uint64_t draw = next_u64(), rest = draw % bound;
            if (draw - rest <= kLast - bound) return rest;  // else the multiple of bound that the draw is in is not complete
        }
    }

    /// Uniform in [0, 1) with 53 random bits.
    double uniform() { return static_cast<double>(next_u64() >> 11) * 0x1.0p-53; }

    /// Standard normal, by Marsaglia's polar method (one of each pair is thrown away, so the stream has no hidden state).
    double normal() {
        for (;;) {
            const double u = 2.0 * uniform() - 1.0;
            const double v = 2.0 * uniform() - 1.0;
            const double s = u * u + v * v;
            if (s > 0.0 && s < 1.0) return u * std::sqrt(-2.0 * std::log(s) / s);
        }
    }

    /// One Philox4x32-10 block, public so that the published test vectors can be checked.
    static std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
        for (int round = 0; round < 10; ++round) {
            const std::uint64_t a = std::uint64_t{0xD2511F53U} * counter[0];
            const std::uint64_t b = std::uint64_t{0xCD9E8D57U} * counter[2];
            counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
                       static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
            key[0] += 0x9E3779B9U;
            key[1] += 0xBB67AE85U;
        }
        return counter;
    }

    /// Key and counter of the stream's blocks; the first word of the counter is the index of the next block.
    const std::array<std::uint32_t, 2>& key() const { return key_; }
    const std::array<std::uint32_t, 4>& counter() const { return counter_; }

private:
    void refill() {
        block_ = philox(counter_, key_);
        ++counter_[0];
        used_ = 0;
    }

    std::array<std::uint32_t, 2> key_;
    std::array<std::uint32_t, 4> counter_;
    std::array<std::uint32_t, 4> block_{};
    std::size_t used_ = 4;
};

/// The seed for the repeat-th repetition of draws with the same keys; repeat 0, the first draw, gives `seed` itself.
inline std::uint64_t seed_of_repeat(std::uint64_t seed, std::uint32_t repeat) {
    return repeat == 0 ? seed : Stream(seed, Purpose::Repeat, repeat).next_u64();
}

/// Fisher-Yates shuffle from the back. Unlike std::shuffle, it gives the same order with every standard library.
template <typename T>
void shuffle(std::span<T> values, Stream& stream) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[stream.below(i)]);
}

}  // namespace fedhive
