// The work of a thread block, by a single host thread over ordinary memory, with a model, examples and an initial global model.
#pragma once

#include "aggregation/base/random.h"
#include "clients/data/batches.h"
#include "clients/direct/device/block_plan.h"
#include "clients/direct/device/run.h"
#include "clients/direct/network.h"
#include "tests/clients/direct/networks.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

namespace fedhive::testing {

namespace device = clients::direct::device;
using clients::direct::Floats;

struct SingleThread {
    std::uint32_t index() const { return 0; }
    std::uint32_t count() const { return 1; }
    void wait() const {}
};
inline constexpr SingleThread kThread;

struct DeviceRun {
    static constexpr std::uint32_t kLargestBatch = 16;  // of networks whose batches must be whole

    explicit DeviceRun(const clients::ModelSpec& spec, std::uint32_t rows, std::uint32_t examples = 40)
        : plan(device::make_plan(spec)), host(spec), group(plan.network.whole_batches ? std::max(rows, kLargestBatch) : rows) {
        network = plan.network;
        network.layers = plan.layers.data();
        Stream stream(11, Purpose::ModelInit);
        global.assign(network.num_floats, 0.0F);
        for (const auto& entry : host.layout().entries()) {
            const double fan_in = static_cast<double>(entry.size) / static_cast<double>(entry.shape[0]);
            for (std::size_t i = 0; i < entry.size; ++i)
                global[entry.offset + i] = draw_parameter(entry, 1.0 / std::sqrt(fan_in + 1.0), stream);
        }
        data.resize(std::size_t{examples} * network.inputs);
        for (float& value : data) value = draw_value(spec.input, stream);
        for (std::uint32_t i = 0; i < examples; ++i) {
            if (spec.target.kind != clients::TargetKind::Numbers)
                labels.push_back(static_cast<std::int32_t>(i * 7 % network.outputs));
            else
                for (std::uint32_t k = 0; k < network.outputs; ++k) numbers.push_back(static_cast<float>(stream.normal()));
            order.push_back((i * 11 + 3) % examples);
        }
        local = global;
        gradient.assign(network.trainable, 7.0F);  // old values must be overwritten
        velocity.assign(network.trainable, 7.0F);
        values.assign(std::size_t{group} * network.row, NAN);
        outcomes.resize(group);
    }

    clients::element::GatherTerms from() const {
        clients::element::GatherTerms terms{};
        terms.values = data.data();
        terms.labels = labels.data();
        terms.numbers = numbers.empty() ? nullptr : numbers.data();
        terms.order = order.data();
        terms.scale = &one;
        terms.shift = &zero;
        terms.num_values = terms.plane = network.inputs;
        terms.type = clients::ValueType::F32;
        return terms;
    }
    device::Workspace work() { return {local.data(), gradient.data(), velocity.data(), values.data(), outcomes.data(), group}; }

    /// The same batch for the host's engine.
    clients::direct::Batch batch(const device::BlockStep& step) {
        host_examples.clear();
        host_labels.clear();
        host_numbers.clear();
        for (std::uint32_t i = step.first; i < step.first + step.size; ++i) {
            const auto* first = data.data() + std::size_t{order[i]} * network.inputs;
            host_examples.insert(host_examples.end(), first, first + network.inputs);
            if (numbers.empty())
                host_labels.push_back(labels[order[i]]);
            else
                for (std::size_t k = 0; k < network.outputs; ++k)
                    host_numbers.push_back(numbers[order[i] * network.outputs + k]);
        }
        return {host_examples.data(), host_labels.data(), step.size, numbers.empty() ? nullptr : host_numbers.data()};
    }

    device::BlockPlan plan;
    clients::direct::Network host;
    device::BlockNetwork network;
    std::uint32_t group;
    float one = 1.0F, zero = 0.0F;
    Floats global, data, local, gradient, velocity, values, host_examples;
    Floats numbers, host_numbers;  // instead of labels
    std::vector<std::int32_t> labels;
    std::vector<std::int64_t> host_labels;
    std::vector<std::uint32_t> order;
    std::vector<device::RowOutcome> outcomes;
};

inline double norm_of(const Floats& values) {
    double squares = 0.0;
    for (const float value : values) squares += static_cast<double>(value) * static_cast<double>(value);
    return std::sqrt(squares);
}

/// |found - expected| / |expected|.
inline double distance(const Floats& found, const Floats& expected) {
    Floats off(found);
    for (std::size_t i = 0; i < off.size(); ++i) off[i] -= expected[i];
    return norm_of(off) / norm_of(expected);
}

}  // namespace fedhive::testing
