// The offset of each tensor of a model in a flat vector of floats. Built once from the model. The control block holds its
// fingerprint, so that a worker with a different model refuses to start.
//
//   [ conv1.weight | pad | conv1.bias | pad | … | last parameter | pad | buffers … ]     offsets in floats, each a multiple of 16
//   '----------------- num_trainable() ------------------------------'
//   '------------------------------------ num_floats() = P -----------------------'
#pragma once

#include "aggregation/memory/param_span.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fedhive::aggregation {

/// Parameter: the client optimiser changes it. Buffer: only averaged (BatchNorm statistics).
enum class TensorKind : std::uint8_t { Parameter, Buffer };

struct LayoutEntry {
    std::string name;                 // as in a PyTorch state_dict
    std::vector<std::int64_t> shape;  // logical, row major
    TensorKind kind = TensorKind::Parameter;
    std::size_t offset = 0;  // floats from the start of the span
    std::size_t size = 0;    // floats
};

class Layout {
public:
    /// Appends a tensor at the next multiple of 16 floats. Throws ShapeError for a parameter after a buffer, a name used
    /// before, or a negative dimension.
    void add(std::string name, std::vector<std::int64_t> shape, TensorKind kind = TensorKind::Parameter);

    const std::vector<LayoutEntry>& entries() const { return entries_; }
    std::size_t num_floats() const;      // P, padding included; a multiple of 16
    std::size_t num_trainable() const;   // floats of the parameter part, padding included
    std::size_t num_values() const;      // floats without padding: the number that travels
    std::size_t num_parameters() const;  // the same without buffers: the number of parameters that papers state
    std::uint64_t fingerprint() const;   // of names, shapes, kinds and offsets

    /// This layout without the tensors `names`; the others keep their offsets.
    Layout without(const std::vector<std::string>& names) const;

private:
    std::vector<LayoutEntry> entries_;
};

/// Copies the tensors of layout `part` by name out of `values`, which have layout `whole`. Returns [part.num_floats()], with 0
/// in the padding. `whole` must have all of `part`'s tensors. Host memory.
std::vector<float> part_of(const Layout& whole, ConstParamSpan values, const Layout& part);

}  // namespace fedhive::aggregation
