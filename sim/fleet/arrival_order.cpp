#include "sim/fleet/arrival_order.h"

#include "aggregation/base/error.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace fedhive::sim {

std::vector<ExpectedArrival> first_by_time(std::vector<ExpectedArrival> expected, std::size_t quorum) {
    const std::size_t count = std::min(expected.size(), quorum);
    std::partial_sort(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(count), expected.end(),
                      [](const ExpectedArrival& a, const ExpectedArrival& b) {
                          return std::tie(a.arrives_s, a.client_id) < std::tie(b.arrives_s, b.client_id);
                      });
    expected.resize(count);
    return expected;
}

std::vector<ExpectedArrival> next_recorded(const std::vector<ExpectedArrival>& expected,
                                           const std::vector<std::uint32_t>& order, std::size_t begin, std::size_t quorum) {
    std::unordered_map<std::uint32_t, std::size_t> of_client;
    for (std::size_t i = 0; i < expected.size(); ++i) of_client.emplace(expected[i].client_id, i);
    std::vector<ExpectedArrival> next;
    for (std::size_t i = begin; i < begin + quorum; ++i) {
        if (i >= order.size())
            throw Fault(fmt::format(
                "the recorded arrivals have only {} in this round, but the run needs more; they belong to another config",
                order.size()));
        const auto found = of_client.find(order[i]);
        if (found == of_client.end())
            throw Fault(fmt::format(
                "the recorded arrivals name client {}, which is not training now; they belong to another config", order[i]));
        next.push_back(expected[found->second]);
    }
    return next;
}

std::vector<ExpectedArrival> allowed_next(std::vector<ExpectedArrival> expected, std::uint64_t version,
                                          std::uint64_t max_staleness) {
    std::sort(expected.begin(), expected.end(),
              [](const ExpectedArrival& a, const ExpectedArrival& b) { return a.version < b.version; });
    // If all arrive oldest first, flight i (from 0) has staleness version + i - its version. A flight taken out of turn adds 1
    // to each older one, so it must stand before the first older one at the bound.
    std::size_t last = 0;
    while (last + 1 < expected.size() && version + last - expected[last].version < max_staleness) ++last;
    while (last + 1 < expected.size() && expected[last + 1].version == expected[last].version) ++last;  // equally old
    expected.resize(std::min(expected.size(), last + 1));
    return expected;
}

}  // namespace fedhive::sim
