// Seeded random source of all orders and uninitialised values: SplitMix64 (Steele et al. 2014, "Fast splittable pseudorandom
// number generators"). One per process; callers hold the runtime's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace cuda_on_host {

class RandomOrder {
public:
    explicit RandomOrder(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
        return z ^ (z >> 31);
    }
    /// limit < 2^32.
    std::size_t below(std::size_t limit) { return (next() >> 32) * limit >> 32; }

    void shuffle(std::vector<unsigned>& numbers) {
        for (std::size_t i = numbers.size(); i > 1; --i) std::swap(numbers[i - 1], numbers[below(i)]);
    }

    void fill(void* memory, std::size_t bytes);

private:
    std::uint64_t state_;
};

}  // namespace cuda_on_host
