// The cut of a model for split learning: the client keeps the first layers, the server the rest. Without LibTorch.
#pragma once

#include "clients/models/catalog.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace fedhive::clients {

/// A model in two halves; plain data, since workers get it through the control block.
///
///   [ parameters of the client's layers | of the server's layers ]     the model's floats; the server's begin at `offset`
struct Cut {
    std::uint64_t num_layers = 0;         // of the client's half
    std::uint64_t offset = 0;             // floats, a multiple of 16
    std::uint64_t activation_floats = 0;  // per example: activations sent to the server; their gradient comes back

    /// The halves of a span of all parameters.
    template <typename Span>
    Span client_part(Span whole) const {
        return {whole.data, offset, whole.space};
    }
    template <typename Span>
    Span server_part(Span whole) const {
        return {whole.data + offset, whole.size - offset, whole.space};
    }
};

static_assert(std::is_trivially_copyable_v<Cut>);

/// The names of the model's layers with parameters in forward order: "conv1", "conv2", …, or their numbers in a list: "0", "3",
/// …. Names of their tensors begin with them. A residual is one layer. For a graph, its modules with parameters.
std::vector<std::string> model_layers(const ModelSpec& spec);

/// The cut after the layer of that name; `layout` is the model's.
///
/// Throws   ConfigError (without file and line) when there is no such layer, or it is the last one; Fault for a model with
///          buffers, or with tensors that are not in the order of its layers.
/// Source   Gupta and Raskar 2018 (arXiv:1810.06060).
Cut cut_after(const ModelSpec& spec, const aggregation::Layout& layout, std::string_view layer);

}  // namespace fedhive::clients
