// Profile of the direct engine's step: the shortest time of each of its pieces.
#pragma once

#include "aggregation/base/clock.h"
#include "clients/direct/op.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

namespace fedhive::bench {

/// A step is a sequence of pieces, the same in each step: a piece is the time between two begins or ends of ProfileScopes. The
/// minimum over steps counts per piece, so a disturbance spoils only the pieces that it hits. A piece includes one read of the
/// clock, about 20 ns.
class LayerProfiler final : public clients::direct::Profiler {
public:
    struct Owner {
        const clients::direct::Op* op = nullptr;         // null: the network's own work
        std::optional<clients::direct::StepPhase> part;  // none: outside all scopes
    };
    struct Piece {
        Owner owner;
        std::int64_t shortest_ns = std::numeric_limits<std::int64_t>::max();
    };

    void begin_step() {
        next_ = 0;
        last_ns_ = now_ns();
    }
    void end_step() { end_piece(); }

    void enter(const clients::direct::Op* op, clients::direct::StepPhase part) override {
        end_piece();
        open_.push_back({op, part});
    }
    void leave() override {
        end_piece();
        open_.pop_back();
    }

    const std::vector<Piece>& pieces() const { return pieces_; }

private:
    void end_piece() {
        const std::int64_t now = now_ns();
        if (next_ == pieces_.size()) pieces_.push_back({open_.empty() ? Owner{} : open_.back()});
        Piece& piece = pieces_[next_++];
        piece.shortest_ns = std::min(piece.shortest_ns, now - last_ns_);
        last_ns_ = now;
    }

    std::vector<Piece> pieces_;
    std::vector<Owner> open_;  // the innermost last
    std::size_t next_ = 0;
    std::int64_t last_ns_ = 0;
};

}  // namespace fedhive::bench
