// The model as a safetensors file (state_file.h); names and shapes as in a PyTorch state_dict, so that
// `safetensors.torch.load_file` reads it.
#pragma once

#include "aggregation/memory/layout.h"
#include "aggregation/memory/param_span.h"
#include "clients/exported/program.h"
#include "sim/record/durable_file.h"

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace fedhive::sim {

/// Further entries of a torch.export graph's state_dict: second names of tied tensors, constants.
using OtherTensors = std::vector<clients::exported::OtherTensor>;

/// Tensors and their values in host memory.
struct LaidOut {
    const aggregation::Layout& layout;
    aggregation::ConstParamSpan values;  // [layout.num_floats()]
};

/// Writes beside `file`, syncs, then renames, so that there is never a half-written model. `parts`: the trained and the frozen
/// tensors. Throws Fault with the path.
void write_model(const std::filesystem::path& file, std::initializer_list<LaidOut> parts,
                 const std::map<std::string, std::string>& metadata, const OtherTensors& others = {});

/// Tensors that a file may lack, and a model that has them.
struct Spare {
    std::set<std::string> names;
    std::vector<float> model;  // as the layout; empty without names
};

/// Reads a file whose tensors are exactly those of the layout; `others` may be present and are ignored. Throws ConfigError
/// naming the file and each mismatch between the file and the model.
std::vector<float> read_model(const std::filesystem::path& file, const aggregation::Layout& layout,
                              const OtherTensors& others = {}, const Spare& spare = {});

/// SHA-256, in hex, of the parameter and buffer bytes in layout order, without padding.
std::string model_sha256(const aggregation::Layout& layout, aggregation::ConstParamSpan model);

}  // namespace fedhive::sim
