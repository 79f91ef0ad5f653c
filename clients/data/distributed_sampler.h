// Which examples a rank takes in which epoch when all ranks train one model together: every epoch a new order, dealt in turn.
#pragma once

#include <cstdint>
#include <vector>

namespace fedhive::clients {

/// One of `size` processes that go through the same examples together.
struct Rank {
    std::uint32_t index = 0;  // in [0, size)
    std::uint32_t size = 1;   // >= 1
};

/// The rank's examples in an epoch, in the order of use. All examples are shuffled, anew in each epoch and alike for any number of ranks;
/// the list is continued from its start, over and over if need be, to the next multiple of rank.size; the rank takes every rank.size-th,
/// from its own index on. So all ranks get ceil(n / size) examples, and together each example, the first few in the order once more.
///
/// Throws   Fault when there are no examples, more than 2^32 - 1, or no such rank.
/// Source   torch.utils.data.DistributedSampler with shuffle=True, drop_last=False; the shuffle itself is this program's.
std::vector<std::uint32_t> distributed_sample(std::size_t num_examples, std::uint64_t seed, std::uint32_t epoch,
                                              const Rank& rank);

}  // namespace fedhive::clients
