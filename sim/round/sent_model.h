// The model and the bytes that clients are sent if the server compresses its model (broadcast.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace fedhive::sim {

/// Bytes that clients are sent.
struct ModelBytes {
    std::uint64_t whole = 0;   // of a model as it is
    std::uint64_t each = 0;    // of a round's model or, with changes, of a round's change
    std::uint64_t beside = 0;  // of the memories that go with either
};

struct SentModel {
    std::uint32_t region = 0;            // global region of the model that clients have
    std::int64_t round = 0;              // the last round whose clients are sent it, from 1; 0: none yet
    std::vector<std::uint32_t> heard{};  // with changes, by client: the last round whose model it has, from 1; 0: none
    std::vector<std::uint32_t> asked{};  // with changes: clients that were sent this round's

    bool by_changes() const { return !heard.empty(); }

    /// Bytes that bring the client to this round's model: with changes, those of all rounds since its last one, or the whole model if
    /// that is less. A client that already has this round's model counts as one round behind.
    std::uint64_t bytes_to(std::uint32_t client, const ModelBytes& bytes) const {
        if (!by_changes()) return bytes.each + bytes.beside;
        if (heard.at(client) == 0) return bytes.whole + bytes.beside;
        const auto now = static_cast<std::uint64_t>(round);
        const std::uint64_t behind = std::max<std::uint64_t>(1, now - std::min<std::uint64_t>(now, heard[client]));
        return std::min(bytes.whole, behind * bytes.each) + bytes.beside;
    }

    /// Call at the end of a round.
    void settle() {
        for (const std::uint32_t client : asked) heard.at(client) = static_cast<std::uint32_t>(round);
        asked.clear();
    }
};

}  // namespace fedhive::sim
