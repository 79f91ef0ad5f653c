// The model of a run's checkpoint.
#pragma once

#include "sim/run/run_files.h"
#include "tests/process/kept_by_clients.h"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace fedhive::testing {

/// All its parameters, in the order of the file.
inline std::vector<double> model_after(const std::filesystem::path& run, std::int64_t round) {
    const sim::CheckpointFile file = sim::read_checkpoint(sim::checkpoint_path(run, round));
    std::vector<double> values;
    for (const sim::TensorPlace& tensor : file.state.tensors())
        if (tensor.name.starts_with("model."))
            for (const float value : floats_of(file.state, tensor)) values.push_back(static_cast<double>(value));
    return values;
}

}  // namespace fedhive::testing
