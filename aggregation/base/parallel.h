// Parallel loops of the coordinator over independent ranges. Workers have one thread each and do not use this.
#pragma once

#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

namespace fedhive {

/// Calls work(first, last) in parallel for disjoint ranges that cover [0, count): at most one range per core, one of them in
/// this thread, each of at least `min_size` elements unless `count` is smaller. `work` must not throw, and its results must not
/// depend on the boundaries of ranges.
template <typename Work>
void for_each_range(std::size_t count, std::size_t min_size, const Work& work) {
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    const std::size_t ranges = std::clamp<std::size_t>(count / std::max<std::size_t>(1, min_size), 1, cores);
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < ranges; ++i)
        others.emplace_back([&work, first = count * i / ranges, last = count * (i + 1) / ranges] { work(first, last); });
    work(std::size_t{0}, count / ranges);
}

}  // namespace fedhive
