#include "clients/data/hold_out.h"

#include "aggregation/base/random.h"
#include "clients/data/content_hash.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fedhive::clients {

namespace {

std::size_t num_held_out(double share, std::size_t examples) {
    if (examples < 2) return 0;
    const auto wanted = static_cast<std::size_t>(std::llround(share * static_cast<double>(examples)));
    return std::clamp<std::size_t>(wanted, 1, examples - 1);
}

/// [examples], true at `held_out` drawn positions.
std::vector<bool> draw_places(std::size_t examples, std::size_t held_out, Stream stream) {
    std::vector<std::uint32_t> places(examples);
    std::iota(places.begin(), places.end(), 0U);
    shuffle(std::span(places), stream);
    std::vector<bool> drawn(examples);
    for (std::size_t i = 0; i < held_out; ++i) drawn[places[i]] = true;
    return drawn;
}

}  // namespace

std::uint64_t Split::fingerprint() const {
    if (held_out.indices.empty() && root.empty()) return trained.fingerprint();
    ContentHash hash;
    hash.word(trained.fingerprint());
    hash.word(held_out.fingerprint());
    if (!root.empty()) hash.bytes(root);
    return hash.state();
}

Split hold_out(Partition dealt, double share, std::uint64_t seed) {
    const std::size_t clients = dealt.num_clients();
    if (share == 0.0) return {std::move(dealt), {{}, std::vector<std::uint64_t>(clients + 1)}};
    Split split{{{}, {0}}, {{}, {0}}};
    for (std::size_t client = 0; client < clients; ++client) {
        const auto shard = dealt.shard(client);
        const std::vector<bool> drawn = draw_places(shard.size(), num_held_out(share, shard.size()),
                                                    Stream(seed, Purpose::HoldOut, 0, static_cast<std::uint32_t>(client)));
        for (std::size_t i = 0; i < shard.size(); ++i) (drawn[i] ? split.held_out : split.trained).indices.push_back(shard[i]);
        for (Partition* part : {&split.trained, &split.held_out}) part->offsets.push_back(part->indices.size());
    }
    return split;
}

}  // namespace fedhive::clients
