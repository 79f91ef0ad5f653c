// What of a model is each client's own (model.local), as Arivazhagan et al. 2019 (arXiv:1912.00818) have it of the last layers, Li et al. 2021
// (arXiv:2102.07623) of batch norm: it is trained with the rest, never leaves the client, and waits there for the next round.
//
//   [P]   [ conv1 | bn1 | conv2 | bn2 | fc ]      a client begins with the server's conv1, conv2, fc and its own bn1, bn2;
//   [L]   [ bn1 | bn2 ]                           of its update the places of bn1, bn2 are 0, and this is kept
//
// All clients begin with the first model's values of it; whoever judges a method by clients that draw their own has to know.
#pragma once

#include "aggregation/memory/layout.h"
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

    /// Of the tensors in model_layout(spec) with such names.
    explicit LocalPart(const ModelSpec& spec);

    bool empty() const { return ranges_.empty(); }
    const std::vector<std::string>& names() const { return names_; }  // of the tensors, in the order of [L]
    std::uint64_t num_floats() const { return num_floats_; }          // L
    std::uint64_t num_parameters() const { return num_parameters_; }  // of these, without buffers

    /// Where a client begins: the global model, with its own values in their places. It lies in `room` then, which is made where it is needed; where
    /// nothing is kept yet, it is the global model itself.
    ///
    /// Shapes   global: [P]; kept: [L], in host memory or on a device; empty: nothing.
    aggregation::ConstParamSpan start(aggregation::ConstParamSpan global, aggregation::ConstParamSpan kept,
                                      aggregation::ParamBuffer& room) const;

    /// Out of a client's trained model, for the next round; shapes likewise.
    void take(aggregation::ParamSpan kept, aggregation::ConstParamSpan model) const;

    /// In these places model <- other, so that nothing of it is in their difference; [P], in one memory space.
    void hide(aggregation::ParamSpan model, aggregation::ConstParamSpan other) const;

private:
    struct Range {
        std::uint64_t offset = 0;  // in [P]
        std::uint64_t size = 0;
    };

    std::vector<Range> ranges_;  // tensors that follow each other are one
    std::vector<std::string> names_;
    std::uint64_t num_floats_ = 0, num_parameters_ = 0;
};

}  // namespace fedhive::clients
