#include "sim/ranks/bring_states.h"

#include "sim/ranks/bytes.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fedhive::sim {

void bring_states(aggregation::ClientStates& states, Ranks& ranks) {
    if (ranks.is_alone() || states.floats() == 0) return;
    const Patience patience{.seconds = 600.0};
    BytesWriter mine;
    for (const std::uint64_t client : states.keepers())
        if (ranks.owner_of(client, states.clients()) == ranks.rank()) mine.put(client);
    const std::vector<std::string> keepers = ranks.all_gather(mine.take(), patience);
    const auto each = [&](std::uint32_t rank, const auto& take) {
        for (BytesReader theirs(keepers[rank]); !theirs.empty();) take(theirs.get<std::uint64_t>());
    };
    if (!ranks.writes()) {
        std::vector<Outgoing> out;
        each(ranks.rank(), [&](std::uint64_t client) { out.push_back({0, std::as_bytes(states.of(client).host())}); });
        return ranks.exchange(out, {}, patience);
    }
    for (std::uint32_t rank = 1; rank < ranks.size(); ++rank) {
        std::vector<std::vector<float>> came;
        std::vector<Incoming> in;
        each(rank, [&](std::uint64_t) { came.emplace_back(states.floats()); });
        in.reserve(came.size());
        for (std::vector<float>& state : came) in.push_back({rank, std::as_writable_bytes(std::span(state))});
        ranks.exchange({}, in, patience);
        std::size_t next = 0;
        each(rank, [&](std::uint64_t client) { states.set(client, came[next++]); });
    }
}

}  // namespace fedhive::sim
