#include "clients/direct/device/block_plan.h"

#include "aggregation/base/error.h"
#include "clients/direct/device/block_planner.h"
#include "clients/direct/network_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace fedhive::clients::direct::device {

namespace {

/// Bytes of `floats` floats, a multiple of four floats: each part of shared memory is aligned for loads of four.
std::uint64_t bytes_of(std::uint32_t floats) { return (std::uint64_t{floats} + 3) / 4 * 4 * sizeof(float); }

std::uint64_t row_bytes(const BlockNetwork& network) { return std::uint64_t{network.row} * sizeof(float) + sizeof(RowOutcome); }

/// The first layer that blocks cannot compute, also in residuals, and why: "batch_norm on a GPU (layer 1)"; empty: they compute all.
std::string first_lack(const std::vector<PlannedLayer>& layers) {
    for (const PlannedLayer& layer : layers) {
        const DeviceLayer* line = device_layers().find(layer.kind);
        const std::string_view lacking = line == nullptr          ? name_of(layer.kind)
                                         : line->lacks != nullptr ? line->lacks(layer)
                                                                  : std::string_view();
        if (!lacking.empty()) return fmt::format("{} on a GPU (layer {})", lacking, layer.number);
        for (const std::vector<PlannedLayer>* inner : {&layer.residual, &layer.shortcut})
            if (std::string within = first_lack(*inner); !within.empty()) return within;
    }
    return "";
}

}  // namespace

std::string misfit(const ModelSpec& spec) {
    if (std::string missing = direct::misfit(spec); !missing.empty()) return missing;
    return first_lack(plan_model(spec));
}

BlockPlan make_plan(const ModelSpec& spec) {
    if (const std::string missing = misfit(spec); !missing.empty())
        throw ConfigError(fmt::format("the direct engine has no {}", missing));
    const aggregation::Layout layout = model_layout(spec);
    if (layout.num_floats() > std::numeric_limits<std::int32_t>::max())
        throw ConfigError(fmt::format("the direct engine trains at most 2^31 parameters on a GPU, but the model has {}",
                                      layout.num_floats()));
    const auto inputs = static_cast<std::uint32_t>(spec.input.num_values());
    const std::vector<PlannedLayer> planned = plan_model(spec);
    Planner planner(layout, inputs);
    planner.append(planned);
    BlockPlan plan;
    plan.layers = std::move(planner.layers);
    plan.network.num_layers = static_cast<std::uint32_t>(plan.layers.size());
    plan.network.num_floats = static_cast<std::uint32_t>(layout.num_floats());
    plan.network.trainable = static_cast<std::uint32_t>(layout.num_trainable());
    plan.network.inputs = inputs;
    plan.network.row = planner.end() | 1U;
    plan.network.whole_batches =
        std::ranges::any_of(plan.layers, [](const Layer& layer) { return layer.kind == Kind::BatchNorm; });
    plan.network.answers_at = planner.at();
    plan.network.outputs = extent_of(planned.back().fit.out).size();
    return plan;
}

std::uint32_t least_bytes(const BlockNetwork& network) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(row_bytes(network), std::numeric_limits<std::uint32_t>::max()));
}

SharedPlacement place(const BlockNetwork& network, std::uint32_t batch, bool momentum, std::uint32_t shared_bytes) {
    const std::uint64_t row = row_bytes(network);
    const auto rows_in = [&](std::uint64_t bytes) {
        return static_cast<std::uint32_t>(std::min<std::uint64_t>(batch, bytes / row));
    };
    SharedPlacement placement;
    std::uint64_t left = shared_bytes;
    placement.rows = !network.whole_batches || rows_in(left) == batch;
    const std::uint64_t kept = placement.rows ? (network.whole_batches ? batch : std::min(kLeastRows, rows_in(left))) * row : 0;
    const auto fits = [&](std::uint32_t floats) {
        const std::uint64_t bytes = bytes_of(floats);
        if (bytes + kept > left) return false;
        left -= bytes;
        return true;
    };
    placement.parameters = fits(network.num_floats);
    placement.gradient = fits(network.trainable);
    placement.velocity = momentum && fits(network.trainable);
    placement.group = placement.rows ? rows_in(left) : batch;
    placement.bytes = static_cast<std::uint32_t>(shared_bytes - left + (placement.rows ? placement.group * row : 0));
    return placement;
}

std::size_t floats_of_rows(const BlockNetwork& network, const SharedPlacement& placement) {
    if (placement.rows) return 0;
    const std::size_t floats = row_bytes(network) / sizeof(float) * placement.group;
    return (floats + 3) / 4 * 4;  // each block's begins aligned
}

std::string too_large(const ModelSpec& spec, std::uint32_t shared_bytes) {
    const BlockPlan plan = make_plan(spec);
    const std::uint32_t least = least_bytes(plan.network);
    if (least <= shared_bytes) return "";
    return fmt::format(
        "keeps the values of an example in the shared memory of one multiprocessor: {} needs {} bytes, but this GPU has {}",
        spec.name.get(), least, shared_bytes);
}

}  // namespace fedhive::clients::direct::device
