// A network of the direct engine with everything that a step needs.
#pragma once

#include "aggregation/base/random.h"
#include "clients/direct/network.h"
#include "tests/clients/direct/networks.h"
#include "tests/support/sums_by_name.h"

#include <vector>

namespace fedhive::testing {

/// A network with random parameters, examples and targets.
struct NetworkCase {
    explicit NetworkCase(const clients::ModelSpec& spec, const clients::direct::Kernels& kernels = clients::direct::kernels())
        : network(spec, kernels) {
        Stream stream(11, Purpose::ModelInit);
        parameters.resize(network.layout().num_floats());
        for (const auto& entry : network.layout().entries())
            for (std::size_t i = 0; i < entry.size; ++i) parameters[entry.offset + i] = draw_parameter(entry, 0.4, stream);
        gradient.assign(network.layout().num_trainable(), 7.0F);  // old values must be overwritten
        examples.resize(kBatch * network.inputs());
        for (float& value : examples) value = draw_value(spec.input, stream);
        if (spec.target.kind == clients::TargetKind::Numbers)
            for (std::size_t i = 0; i < kBatch * network.outputs(); ++i) numbers.push_back(static_cast<float>(stream.normal()));
        else
            for (std::size_t i = 0; i < kBatch; ++i) labels.push_back(static_cast<std::int64_t>(i % network.outputs()));
    }
    double loss() { return network.train(parameters.data(), gradient.data(), batch(), kKey); }
    /// Moves buffers, too.
    double train() { return network.train(parameters.data(), gradient.data(), batch(), kKey, parameters.data()); }
    clients::direct::Batch batch() const {
        return {examples.data(), labels.data(), kBatch, numbers.empty() ? nullptr : numbers.data()};
    }

    static constexpr std::size_t kBatch = 7;
    static constexpr std::uint64_t kKey = 99;
    clients::direct::Network network;
    clients::direct::Floats parameters, gradient, examples, numbers;  // labels or numbers
    std::vector<std::int64_t> labels;
};

inline Evaluated evaluation_of(clients::direct::Network& network, const clients::direct::Floats& parameters,
                               const clients::direct::Batch& batch, std::size_t at_once = 64) {
    const clients::TargetKind kind = batch.numbers != nullptr ? clients::TargetKind::Numbers : clients::TargetKind::Class;
    clients::EvaluationSums sums = empty_sums(kind);
    network.evaluate(parameters.data(), batch, sums, at_once);
    return by_name(sums, kind);
}

}  // namespace fedhive::testing
