// Configs that together have every key: one per choice of a catalog.
#pragma once

#include "aggregation/attacks/attack_catalog.h"
#include "aggregation/math/client_optimizer.h"
#include "clients/data/data_format.h"
#include "clients/data/partition.h"
#include "clients/protocol/fault.h"
#include "clients/uploads/upload.h"
#include "sim/config/fields.h"
#include "sim/devices/availability.h"
#include "sim/devices/spread.h"
#include "sim/modes/mode_spec.h"
#include "sim/schedules/lr_schedule.h"
#include "sim/selection/sampler.h"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace fedhive::sim::testing {

/// "format: idx, root: /": an entry of a catalog with its required keys.
template <class Entry>
std::string choice_of(const std::string& chooser, const Entry& entry) {
    std::string text = chooser + ": " + entry.name;
    for (const KeySpec& key : entry.keys)
        if (key.required) text += ", " + key.name + ": /";
    return text;
}

/// Configs in which together every key applies; each gives only required keys.
inline std::vector<std::string> one_for_each_choice() {
    const std::string start = "data: {format: glyphs}\nmodel: {name: lr}\n";
    std::vector<std::string> texts = {start,
                                      start + "clock: wall\n",
                                      "data: {format: glyphs}\nmodel: {name: mlp}\n",
                                      "data: {format: glyphs}\nmodel: {name: mnist_cnn}\n",
                                      "data: {format: glyphs}\nmodel: {name: resnet20}\n",
                                      "data: {format: text, train: /, owners: blocks}\nmodel: {name: char_lstm}\n",
                                      "data: {format: text, train: /, owners: blocks}\nmodel: {name: char_transformer}\n",
                                      "data: {format: npz, train: /, test: /, values: tokens}\nmodel: {name: lr}\n"};
    for (const clients::DataFormat& format : clients::data_catalog())
        texts.push_back(fmt::format("{}data: {{{}}}\nmodel: {{name: lr}}\n",
                                    format.targets.front() == clients::TargetKind::Numbers ? "task: regression\n" : "",
                                    choice_of("format", format)));
    for (const clients::PartitionScheme& scheme : clients::partition_catalog())
        texts.push_back(
            fmt::format("data: {{format: glyphs, partition: {{{}}}}}\nmodel: {{name: lr}}\n", choice_of("scheme", scheme)));
    for (const clients::PoisonSpec& spec : clients::poison_catalog())
        texts.push_back(fmt::format("data: {{format: glyphs, poison: {{name: {}{}}}}}\nmodel: {{name: lr}}\n", spec.name,
                                    spec.name == "label_map" ? ", labels: [1, 0, 2, 3, 4, 5, 6, 7, 8, 9]" : ""));
    for (const AvailabilityScheme& scheme : availability_catalog())
        texts.push_back(start + fmt::format("devices: {{availability: {{{}}}}}\n", choice_of("scheme", scheme)));
    for (const Spread& spread : spread_catalog())
        texts.push_back(start +
                        fmt::format("devices: {{compute: {{{0}}}, link: {{{0}}}}}\n", choice_of("distribution", spread)));
    for (const clients::FaultSpec& fault : clients::fault_catalog())
        texts.push_back(start + fmt::format("faults: [{{{}}}]\n", choice_of("kind", fault)));
    for (const aggregation::OptimizerSpec& spec : aggregation::optimizer_catalog())
        texts.push_back(start + fmt::format("training: {{optimizer: {{{}}}}}\n", choice_of("name", spec)));
    for (const LrScheduleSpec& spec : lr_schedule_catalog())
        texts.push_back(start + fmt::format("training: {{lr_schedule: {{{}}}}}\n", choice_of("name", spec)));
    for (const char* loss : {"cross_entropy", "focal"})
        texts.push_back(start + fmt::format("training: {{loss: {{name: {}}}}}\n", loss));
    for (const SamplerSpec& spec : sampler_catalog())
        texts.push_back(start + fmt::format("sampling: {{name: {}{}}}\n", spec.name,
                                            spec.name == "fixed" ? ", clients: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]" : ""));
    const auto start_of = [&](const std::string& aggregator) {
        const bool root = aggregation::aggregator_spec(aggregator).root;
        return root ? "data: {format: glyphs, root_examples: 9}\nmodel: {name: lr}\n" : start;
    };
    texts.push_back(start + "strategy: {gradient: g}\n");
    for (const StrategySpec& spec : strategy_catalog())
        texts.push_back(start_of(spec.aggregator) + fmt::format("strategy: {{name: {}}}\n{}", spec.name,
                                                                spec.name == "dp_ftrl" ? "upload: [{name: clip}]\n" : ""));
    for (const aggregation::PreAggregationSpec& spec : aggregation::pre_aggregation_catalog())
        texts.push_back(start + fmt::format("strategy: {{aggregator: median, pre_aggregation: {}}}\n", spec.name));
    for (const aggregation::AggregatorSpec& spec : aggregation::aggregator_catalog())
        texts.push_back(start_of(spec.name) + fmt::format("strategy: {{aggregator: {}}}\n", spec.name));
    for (const clients::UploadSpec& spec : clients::upload_catalog())
        texts.push_back(start + fmt::format("strategy: {{weighting: uniform}}\nupload: [{{name: clip}}, {{{}}}{}]\n",
                                            choice_of("name", spec), spec.keeps_residual() ? ", {name: sign}" : ""));
    for (const clients::UploadSpec& spec : clients::download_catalog())
        texts.push_back(
            start + fmt::format("download: [{{name: error_feedback}}{}]\n",
                                spec.keeps_residual() ? ", {name: sign}" : fmt::format(", {{{}}}", choice_of("name", spec))));
    for (const aggregation::AttackSpec& spec : aggregation::attack_catalog())
        texts.push_back(start + fmt::format("attack: {{name: {}}}\n", spec.name));
    texts.push_back(
        start +
        "strategy: {weighting: uniform}\nupload: [{name: clip}, {name: gaussian_noise, multiplier: 9}]\nprivacy: {epsilon: 8, "
        "delta: 0.001}\n");
    for (const std::string& mode : names_of(mode_catalog())) {
        const std::string needs = mode == "semi_async" ? ", quorum: 1" : mode == "split" ? ", cut: fc" : "";
        texts.push_back(start + fmt::format("mode: {{name: {}{}}}\n", mode, needs));
    }
    texts.push_back(start + "mode: {name: async, staleness: hinge}\n");
    return texts;
}

}  // namespace fedhive::sim::testing
