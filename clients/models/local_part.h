// The local part of a model (model.local): parameters that each client trains with the rest, never sends, and keeps for its
// next round, as a memory (memories.h). Arivazhagan et al. 2019 (arXiv:1912.00818) do so with the last layers, Li et al.
// 2021 (arXiv:2102.07623) with batch norm.
//
//   [P]   [ conv1 | bn1 | conv2 | bn2 | fc ]      the model: a client begins with the server's conv1, conv2, fc and its own bn1, bn2
//   [L]   [ bn1 | bn2 ]                           the local part: the client's update is 0 there, and it keeps this vector
//
// Differs: all clients begin with the first model's values of the local part, instead of drawing their own.
#pragma once

#include "aggregation/memory/layout.h"
#include "aggregation/memory/memories.h"
#include "aggregation/memory/param_buffer.h"
#include "aggregation/memory/param_span.h"
#include "clients/models/catalog.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fedhive::clients {

class LocalPart {
public:
    LocalPart() = default;

    /// The tensors of model_layout(spec) whose names match spec.local.
    explicit LocalPart(const ModelSpec& spec);

    bool empty() const { return ranges_.empty(); }
    const std::vector<std::string>& names() const { return names_; }  // of the tensors, in the order of [L]
    std::uint64_t num_floats() const { return num_floats_; }          // L
    std::uint64_t num_parameters() const { return num_parameters_; }  // of these, without buffers

    /// The memory in which a client keeps its local part, of shape Named with num_floats() floats.
    static aggregation::MemorySpec memory();

    /// The model from which a client begins: the global model, [P], with the client's values in the local part. It is stored in `room`, which
    /// is allocated as needed. If the client keeps no values yet, or the model has no local part, the result is `global` itself.
    aggregation::ConstParamSpan start(aggregation::ConstParamSpan global, const aggregation::VisitMemories& memories,
                                      aggregation::ParamBuffer& room) const;

    /// Writes the local part of a client's trained model, [P], to its memory, for its next round; returns what is written.
    aggregation::ConstParamSpan take(const aggregation::VisitMemories& memories, aggregation::ConstParamSpan model) const;

    /// model <- other in the local part, so that their difference is 0 there. Both [P], in one memory space.
    void hide(aggregation::ParamSpan model, aggregation::ConstParamSpan other) const;

    /// gradient <- 0 in the local part. [trainable].
    void clear(aggregation::ParamSpan gradient) const;

private:
    struct Range {
        std::uint64_t offset = 0;  // in [P]
        std::uint64_t size = 0;
    };

    std::vector<Range> ranges_;  // adjacent tensors are merged
    std::vector<std::string> names_;
    std::uint64_t num_floats_ = 0, num_parameters_ = 0;
};

}  // namespace fedhive::clients
