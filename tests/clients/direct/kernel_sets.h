// Shared by the tests of the direct engine's kernels: drawn numbers, and each instruction set compared with the plain one bit
// by bit.
#pragma once

#include "aggregation/base/random.h"
#include "clients/direct/op.h"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

namespace fedhive::testing {

using clients::direct::Kernels;
using clients::direct::kernels_by_name;
using clients::direct::Stride;

using clients::direct::Floats;

/// The kernels that this processor runs, plain first.
inline std::vector<const Kernels*> all_kernels() {
    std::vector<const Kernels*> found;
    for (const char* name : {"plain", "avx2", "avx512"})
        if (const Kernels* kernels = kernels_by_name(name); kernels != nullptr) found.push_back(kernels);
    return found;
}

class Draws {
public:
    explicit Draws(std::uint64_t seed) : stream_(seed, Purpose::TrainData) {}
    std::size_t size(std::size_t low, std::size_t high) { return low + stream_.below(high - low + 1); }
    Floats floats(std::size_t size) {
        Floats values(size);
        for (float& value : values) value = static_cast<float>(stream_.normal());
        return values;
    }
    bool chance(double p) { return stream_.uniform() < p; }
    std::uint64_t bits() { return stream_.next_u64(); }

private:
    Stream stream_;
};

inline bool same_bits(const Floats& a, const Floats& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

/// Checks that all sets give the same bits, and returns them.
template <typename Run>
Floats agreed(const Run& run) {
    const std::vector<const Kernels*> sets = all_kernels();
    Floats first = run(*sets.front());
    for (const Kernels* kernels : sets) {
        CAPTURE(kernels->name);
        CHECK(same_bits(run(*kernels), first));
    }
    return first;
}

inline Stride stride(std::size_t n) { return static_cast<Stride>(n); }

}  // namespace fedhive::testing
