// The examples that each rank takes in each epoch when all ranks train one model together.
#pragma once

#include <cstdint>
#include <vector>

namespace fedhive::clients {

/// One of `size` processes that go through the same examples together.
struct Rank {
    std::uint32_t index = 0;  // in [0, size)
    std::uint32_t size = 1;   // >= 1
};

/// The rank's ceil(n / size) examples in an epoch, in the order of use: order[(index + i * size) mod n] for i = 0, 1, …
///
/// `order` is a shuffle of all n examples; it depends on seed and epoch, not on the number of ranks. Together the ranks take
/// every example at least once; the first few of `order` repeat where `size` does not divide n.
///
/// Throws   Fault when there are no examples, more than 2^32 - 1, or no such rank.
/// Source   torch.utils.data.DistributedSampler with shuffle=True, drop_last=False; the shuffle itself is this program's.
std::vector<std::uint32_t> distributed_sample(std::size_t num_examples, std::uint64_t seed, std::uint32_t epoch,
                                              const Rank& rank);

}  // namespace fedhive::clients
