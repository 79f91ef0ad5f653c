// Numbers with their prefix sums: draws in proportion to integers, which depend on no rounding.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fedhive::sim {

/// A Fenwick tree in integers. Cost: log(numbers) a change or a look-up.
class PrefixSums {
public:
    explicit PrefixSums(std::span<const std::uint64_t> numbers) : tree_(numbers.size() + 1) {
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            tree_[i + 1] += numbers[i];
            const std::size_t parent = (i + 1) + lowest_bit(i + 1);
            if (parent < tree_.size()) tree_[parent] += tree_[i + 1];
            total_ += numbers[i];
        }
    }

    std::uint64_t total() const { return total_; }

    void add(std::size_t index, std::uint64_t number) {
        for (std::size_t i = index + 1; i < tree_.size(); i += lowest_bit(i)) tree_[i] += number;
        total_ += number;
    }
    /// number: at most what is there.
    void take(std::size_t index, std::uint64_t number) { add(index, ~number + 1); }

    /// The index whose numbers begin at or before `place` and end after it; place < total().
    std::size_t at(std::uint64_t place) const {
        std::size_t index = 0;
        for (std::size_t step = std::bit_floor(tree_.size() - 1); step > 0; step /= 2) {
            if (index + step >= tree_.size() || tree_[index + step] > place) continue;
            index += step;
            place -= tree_[index];
        }
        return index;
    }

private:
    static std::size_t lowest_bit(std::size_t i) { return i & (~i + 1); }

    std::vector<std::uint64_t> tree_;  // [i]: the sum of the i & -i numbers that end before index i
    std::uint64_t total_ = 0;
};

}  // namespace fedhive::sim
