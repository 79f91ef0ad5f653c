// Client states in checkpoints against the server's state: one number per parameter of mlp, small_config's model.
#pragma once

#include "sim/state/checkpoint.h"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace fedhive::testing {

inline std::vector<float> floats_of(const sim::OpenState& state, const sim::TensorPlace& tensor) {
    std::vector<float> values(tensor.bytes / sizeof(float));
    state.read(tensor, std::as_writable_bytes(std::span(values)));
    return values;
}

/// Checks that the server's tensors with that prefix are `factor` times the sum of the clients' states. Returns the number of
/// clients with a state.
inline std::size_t server_knows_the_sum_of_what_clients_keep(const std::filesystem::path& run, std::int64_t round,
                                                             const std::string& prefix, double factor) {
    const sim::CheckpointFile file = sim::read_checkpoint(sim::checkpoint_path(run, round));
    std::vector<double> expected;
    std::size_t keepers = 0;
    for (const sim::TensorPlace& tensor : file.state.tensors()) {
        if (!tensor.name.starts_with("client.")) continue;
        ++keepers;
        const std::vector<float> state = floats_of(file.state, tensor);
        expected.resize(state.size());
        for (std::size_t i = 0; i < state.size(); ++i) expected[i] += factor * static_cast<double>(state[i]);
    }
    // Clients' states have the layout's padding; the server's tensors do not.
    std::size_t offset = 0;
    double distance = 0.0, length = 0.0;
    for (const char* name : {"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias", "fc3.weight", "fc3.bias"}) {
        const sim::TensorPlace* tensor = file.state.find(prefix + name);
        REQUIRE(tensor != nullptr);
        const std::vector<float> known = floats_of(file.state, *tensor);
        for (std::size_t i = 0; i < known.size(); ++i) {
            distance += std::pow(static_cast<double>(known[i]) - expected.at(offset + i), 2);
            length += std::pow(static_cast<double>(known[i]), 2);
        }
        offset += (known.size() + 15) / 16 * 16;
    }
    CHECK(offset == expected.size());
    CHECK(length > 1e-6);
    CHECK(std::sqrt(distance) < 1e-5 * std::sqrt(length));
    return keepers;
}

}  // namespace fedhive::testing
