#include "clients/data/distributed_sampler.h"

#include "aggregation/base/divide_up.h"
#include "aggregation/base/error.h"
#include "aggregation/base/random.h"

#include <limits>
#include <numeric>

namespace fedhive::clients {

std::vector<std::uint32_t> distributed_sample(std::size_t num_examples, std::uint64_t seed, std::uint32_t epoch,
                                              const Rank& rank) {
    FEDHIVE_CHECK(num_examples >= 1 && num_examples <= std::numeric_limits<std::uint32_t>::max(), "{} examples", num_examples);
    FEDHIVE_CHECK(rank.index < rank.size, "rank {} of {}", rank.index, rank.size);
    std::vector<std::uint32_t> order(num_examples);
    std::iota(order.begin(), order.end(), 0U);
    Stream stream(seed, Purpose::EpochOrder, epoch);
    shuffle(std::span(order), stream);

    std::vector<std::uint32_t> sample(divide_up(num_examples, rank.size));
    for (std::size_t i = 0; i < sample.size(); ++i) sample[i] = order[(rank.index + i * rank.size) % num_examples];
    return sample;
}

}  // namespace fedhive::clients
