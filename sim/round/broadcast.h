// Compression of what the server sends, once a round (key `download`). The server keeps its exact model w; clients train from
// what they decompress, v:
//
//   each round by itself     v_t = C(w_t)                                 Caldas et al. 2018, arXiv:1812.07210
//   with error_feedback      v_t = v_(t-1) + C(w_t - v_(t-1)), v_1 = w_1  Tang et al. 2019, arXiv:1905.05957 (DoubleSqueeze); Sattler et
//                                                                         al. 2019, arXiv:1903.02891, Algorithm 2 (STC)
//
// w_t - v_(t-1) is the change of the model plus all that was lost before. A client that skips rounds gets their messages later, or
// v_t whole if that is less (sent_model.h), so all clients of a round have the same v_t.
// Differs   the papers' servers step from v; here the step goes from w, which is v plus the server's residual.
#pragma once

#include "aggregation/memory/layout.h"
#include "aggregation/memory/param_buffer.h"
#include "clients/models/local_part.h"
#include "clients/uploads/upload.h"
#include "sim/round/server_state.h"

#include <cstdint>

namespace fedhive::sim {

class Broadcast {
public:
    /// by_changes: with error_feedback. seed: that of the clients' training; layout: the model's; local: the part of the model that
    /// never travels.
    Broadcast(const clients::UploadPlan& download, bool by_changes, std::uint64_t seed, const aggregation::Layout& layout,
              const clients::LocalPart& local);

    bool any() const { return !chain_.empty(); }

    /// Writes the round's model to server.sent, unless it is there. Memories after the model are copied. Call it when no client trains,
    /// before the first client of the round is sent the model.
    ///
    /// Order    keyed by (seed, round): same bits on every rank and after a resume.
    /// Memory   two vectors of [P], from the first call on.
    void prepare(ServerState& server);

    /// Allocates the two vectors now.
    void reserve(std::size_t size, aggregation::MemorySpace space);

private:
    clients::UploadChain chain_;
    bool by_changes_;
    std::uint64_t seed_;
    aggregation::ParamBuffer before_;  // that clients have, or zeros
};

}  // namespace fedhive::sim
