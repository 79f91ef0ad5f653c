#include "clients/data/root_examples.h"

#include "aggregation/base/random.h"

#include <algorithm>
#include <numeric>

namespace fedhive::clients {

namespace {

/// The entries at these places; empty if `all` is.
template <typename T>
std::vector<T> entries_at(std::span<const T> all, std::span<const std::uint32_t> places) {
    std::vector<T> entries;
    if (all.empty()) return entries;
    entries.reserve(places.size());
    for (const std::uint32_t place : places) entries.push_back(all[place]);
    return entries;
}

}  // namespace

RootSplit draw_root(std::size_t num_examples, std::size_t count, std::uint64_t seed) {
    std::vector<std::uint32_t> order(num_examples);
    std::iota(order.begin(), order.end(), 0U);
    Stream stream(seed, Purpose::RootExamples);
    shuffle(std::span(order), stream);
    const auto middle = order.begin() + static_cast<std::ptrdiff_t>(count);
    std::sort(order.begin(), middle);
    std::sort(middle, order.end());
    return {{order.begin(), middle}, {middle, order.end()}};
}

Partition deal_others(const PartitionScheme& scheme, Deal deal, const Values& values, std::span<const std::uint32_t> others) {
    const std::vector<std::int32_t> labels = entries_at(deal.labels, others);
    const std::vector<std::uint32_t> owners = entries_at(deal.owners, others);
    deal.labels = labels;
    deal.owners = owners;
    deal.examples = others.size();
    Partition partition = scheme.deal(deal, values);
    for (std::uint32_t& index : partition.indices) index = others[index];
    return partition;
}

}  // namespace fedhive::clients
