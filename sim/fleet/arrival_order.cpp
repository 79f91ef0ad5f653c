#include "sim/fleet/arrival_order.h"

#include "aggregation/base/error.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace fedhive::sim {

std::vector<InAir> first_by_time(std::vector<InAir> in_air, std::size_t quorum) {
    const std::size_t count = std::min(in_air.size(), quorum);
    std::partial_sort(
        in_air.begin(), in_air.begin() + static_cast<std::ptrdiff_t>(count), in_air.end(),
        [](const InAir& a, const InAir& b) { return std::tie(a.arrives_s, a.client_id) < std::tie(b.arrives_s, b.client_id); });
    in_air.resize(count);
    return in_air;
}

std::vector<InAir> next_recorded(const std::vector<InAir>& in_air, const std::vector<std::uint32_t>& order, std::size_t begin,
                                 std::size_t quorum) {
    std::unordered_map<std::uint32_t, std::size_t> of_client;
    for (std::size_t i = 0; i < in_air.size(); ++i) of_client.emplace(in_air[i].client_id, i);
    std::vector<InAir> next;
    for (std::size_t i = begin; i < begin + quorum; ++i) {
        if (i >= order.size())
            throw Fault(fmt::format("the recorded arrivals have {} in this round, more are wanted: they are of another config",
                                    order.size()));
        const auto found = of_client.find(order[i]);
        if (found == of_client.end())
            throw Fault(fmt::format("the recorded arrivals name client {}, which is not on its way: they are of another config",
                                    order[i]));
        next.push_back(in_air[found->second]);
    }
    return next;
}

std::vector<InAir> allowed_next(std::vector<InAir> in_air, std::uint64_t version, std::uint64_t max_staleness) {
    std::sort(in_air.begin(), in_air.end(), [](const InAir& a, const InAir& b) { return a.version < b.version; });
    // If all arrive oldest first, number i (from 0) is version + i - its version old. Whoever is taken out of turn makes the older ones one
    // step older, so it must stand before the first of them for whom that is too much.
    std::size_t last = 0;
    while (last + 1 < in_air.size() && version + last - in_air[last].version < max_staleness) ++last;
    while (last + 1 < in_air.size() && in_air[last + 1].version == in_air[last].version) ++last;  // as old, so as good
    in_air.resize(std::min(in_air.size(), last + 1));
    return in_air;
}

}  // namespace fedhive::sim
