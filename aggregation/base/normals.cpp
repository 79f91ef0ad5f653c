#include "aggregation/base/normals.h"

#include "aggregation/base/clones.h"

#include <algorithm>
#include <cmath>

namespace fedhive {

namespace {

constexpr std::size_t kAttempts = 512;  // attempts of the polar method at a time; each uses one block of the stream

struct Attempts {
    double u[kAttempts];
    double s[kAttempts];  // u * u + v * v
};

/// 53 of 64 bits as a number in [0, 1), like Stream::uniform(): both products and their sum are exact.
inline __attribute__((always_inline)) double uniform(std::uint32_t low, std::uint32_t high) {
    return (static_cast<double>(high) * 0x1.0p21 + static_cast<double>(low >> 11)) * 0x1.0p-53;
}

FEDHIVE_CLONES void attempt(const std::array<std::uint32_t, 4>& counter, const std::array<std::uint32_t, 2>& key,
                            std::uint32_t first, Attempts& made) {
    for (std::uint32_t i = 0; i < kAttempts; ++i) {
        std::uint32_t word0 = first + i, word1 = counter[1], word2 = counter[2], word3 = counter[3];
        std::uint32_t key0 = key[0], key1 = key[1];
        for (int round = 0; round < 10; ++round) {
            const std::uint64_t a = std::uint64_t{0xD2511F53U} * word0;
            const std::uint64_t b = std::uint64_t{0xCD9E8D57U} * word2;
            word0 = static_cast<std::uint32_t>(b >> 32) ^ word1 ^ key0;
            word1 = static_cast<std::uint32_t>(b);
            word2 = static_cast<std::uint32_t>(a >> 32) ^ word3 ^ key1;
            word3 = static_cast<std::uint32_t>(a);
            key0 += 0x9E3779B9U;
            key1 += 0xBB67AE85U;
        }
        const double u = 2.0 * uniform(word0, word1) - 1.0;
        const double v = 2.0 * uniform(word2, word3) - 1.0;
        made.u[i] = u;
        made.s[i] = u * u + v * v;
    }
}

/// Moves the accepted attempts to the front and returns their number.
std::size_t keep_accepted(Attempts& made) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < kAttempts; ++i) {
        const double u = made.u[i], s = made.s[i];
        made.u[kept] = u;
        made.s[kept] = s;
        kept += s > 0.0 && s < 1.0 ? 1U : 0U;
    }
    return kept;
}

FEDHIVE_CLONES void finish(const Attempts& made, const double* __restrict logs, std::size_t count, double* __restrict to) {
    for (std::size_t i = 0; i < count; ++i) to[i] = made.u[i] * std::sqrt(-2.0 * logs[i] / made.s[i]);
}

}  // namespace

void fill_normals(const Stream& stream, std::span<double> to) {
    Attempts made;  // NOLINT(cppcoreguidelines-pro-type-member-init): 8 KiB that are written before they are read
    double logs[kAttempts];
    std::uint32_t block = stream.counter()[0];
    while (!to.empty()) {
        attempt(stream.counter(), stream.key(), block, made);
        block += kAttempts;
        const std::size_t count = std::min(keep_accepted(made), to.size());
        for (std::size_t i = 0; i < count; ++i) logs[i] = std::log(made.s[i]);
        finish(made, logs, count, to.data());
        to = to.subspan(count);
    }
}

}  // namespace fedhive
