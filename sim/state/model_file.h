// The model as a safetensors file (state_file.h); names and shapes as in a PyTorch state_dict, so that `safetensors.torch.load_file`
// reads it.
#pragma once

#include "aggregation/memory/layout.h"
#include "aggregation/memory/param_span.h"
#include "clients/exported/program.h"
#include "sim/record/durable_file.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace fedhive::sim {

/// What a state_dict has besides, of a graph of torch.export: second names of tied tensors, constants.
using OtherTensors = std::vector<clients::exported::OtherTensor>;

/// Tensors and their values in host memory.
struct LaidOut {
    const aggregation::Layout& layout;
    aggregation::ConstParamSpan values;  // [layout.num_floats()]
};

/// Writes beside `file`, syncs, then renames: there is never a half-written model. `parts`: what is trained, and what is frozen. Throws Fault with
/// the path.
void write_model(const std::filesystem::path& file, std::initializer_list<LaidOut> parts,
                 const std::map<std::string, std::string>& metadata, const OtherTensors& others = {});

/// Reads a file whose tensors are exactly those of the layout; the others may be there, and are not read. Throws ConfigError naming the file and what
/// does not fit: what the file has and what the model wants.
std::vector<float> read_model(const std::filesystem::path& file, const aggregation::Layout& layout,
                              const OtherTensors& others = {});

/// SHA-256, in hex, of the parameter and buffer bytes in layout order, without padding.
std::string model_sha256(const aggregation::Layout& layout, aggregation::ConstParamSpan model);

}  // namespace fedhive::sim
