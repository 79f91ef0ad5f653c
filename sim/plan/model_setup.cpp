#include "sim/plan/model_setup.h"

#include "aggregation/base/error.h"
#include "clients/models/feature_layer.h"
#include "clients/models/model_plan.h"
#include "clients/trainers/engine.h"
#include "clients/uploads/upload.h"
#include "sim/machine/machine.h"
#include "sim/plan/blame.h"
#include "sim/plan/memory_users.h"
#include "sim/plan/model_spec.h"
#include "sim/round/make_mode.h"
#include "sim/round/slot_plan.h"
#include "sim/state/model_file.h"
#include "sim/strategies/method.h"

#include <algorithm>
#include <map>
#include <utility>

namespace fedhive::sim {

using aggregation::MemorySpace;

namespace {

/// Call before the model is built: filling billions of parameters takes a while, and their memory is known without.
void require_model_memory(const LoadedConfig& loaded, const clients::ModelSpec& model, const Placement& placement) {
    const RunConfig& config = loaded.run;
    const double all = clients::num_parameters(model), frozen = clients::num_frozen(model), count = all - frozen;
    const std::uint64_t available = this_machine().available_memory;
    const double vectors_that_fit =
        (static_cast<double>(available) - frozen * sizeof(float)) / (std::max(count, 1.0) * sizeof(float));
    std::uint64_t vectors = 1;
    if (placement.space == MemorySpace::Host && vectors_that_fit >= 1.0) {
        const Mode planned = make_mode(config);
        vectors =
            planned.num_globals() + (config.sends_compressed() ? 1 : 0) +
            plan_slots(config, placement.space, static_cast<std::uint64_t>(count), placement.num_workers).num_slots(planned);
    }
    if (static_cast<double>(vectors) <= vectors_that_fit) return;
    throw loaded.source->error(
        vectors > 1 ? "training.cohort" : model_key(config),
        fmt::format("{} has {:.0f} parameters, {:.3g} bytes{}, and the arena needs at least {}; {} bytes ({}) are available; "
                    "use a smaller model or cohort, or raise training.clients_per_slot",
                    model.name.get(), count, count * sizeof(float),
                    frozen > 0 ? fmt::format(", besides {:.0f} frozen ones", frozen) : "",
                    vectors > 1 ? fmt::format("{} models and updates", vectors) : "one", available, human_bytes(available)));
}

/// The model's layout. Throws ConfigError, before the model is built, if its parameters do not fit into memory.
aggregation::Layout lay_out(const LoadedConfig& loaded, const clients::ModelSpec& model, const Placement& placement) {
    require_model_memory(loaded, model, placement);
    return blame(loaded, model_key(loaded.run), [&] { return clients::model_layout(model); });
}

/// The mode's cut of the model; empty in other modes. Throws ConfigError for a layer that the model does not have.
clients::Cut make_cut(const LoadedConfig& loaded, const clients::ModelSpec& model, const aggregation::Layout& layout) {
    const Values& mode = loaded.run.mode.values;
    if (mode.find("cut") == nullptr) return {};
    if (model.target.kind != clients::TargetKind::Class)
        throw loaded.source->error("mode.name", fmt::format("in mode '{}' the server needs one class per example, but task "
                                                            "'{}' has {} here; allowed with this task: any other mode",
                                                            loaded.run.mode.name, loaded.run.task, text_of(model.target.kind)));
    if (clients::num_frozen(model) > 0)
        throw loaded.source->error(
            "mode.name", fmt::format("mode '{}' needs a model without frozen parameters, but {} some as frozen; allowed with "
                                     "frozen parameters: any other mode",
                                     loaded.run.mode.name, model.frozen.any() ? "model.frozen names" : "model.file has"));
    return blame(loaded, "mode.cut", [&] { return clients::cut_after(model, layout, mode.word("cut")); });
}

/// The length of the model's features. Throws ConfigError if it has none and a memory of the method has a row of them for each class.
std::uint64_t features_of(const LoadedConfig& loaded, const clients::ModelSpec& model) {
    const clients::FeatureLayer last = clients::feature_layer(model);
    const Method* method = loaded.run.strategy.parts.method.get();
    if (last.problem.empty() || method == nullptr) return last.features;
    for (const aggregation::formulas::MethodMemory& memory : method->formulas.memories)
        if (memory.shape == aggregation::MemoryShape::ClassesByFeatures)
            throw loaded.source->error(
                "strategy.file",
                fmt::format("memory '{}' of {} has a row of features (z) for each class, the input of the last layer with "
                            "parameters, but the model {}; choose another model, or a table of logits",
                            memory.name, loaded.run.strategy.file.string(), last.problem));
    return last.features;
}

}  // namespace

aggregation::Dimensions dimensions_of(const aggregation::Layout& layout, const clients::LocalPart& local_part,
                                      std::uint64_t classes) {
    aggregation::Dimensions dimensions{.trainable = layout.num_trainable(),
                                       .parameters = layout.num_parameters(),
                                       .named = local_part.num_floats(),
                                       .classes = classes};
    for (const aggregation::LayoutEntry& entry : layout.entries())
        if (entry.kind == aggregation::TensorKind::Parameter && entry.shape.size() == 2 &&
            std::cmp_equal(entry.shape[0], classes))
            dimensions.features = static_cast<std::uint64_t>(entry.shape[1]);
    return dimensions;
}

aggregation::Memories memories_of(const RunConfig& run, const aggregation::Dimensions& dimensions) {
    aggregation::Memories memories;
    for (const MemoryUser& user : memory_users(run))
        for (const aggregation::MemorySpec& spec : user.memories) memories.add(spec, dimensions);
    return memories;
}

namespace {

aggregation::Layout layout_with(const aggregation::Memories& memories, const aggregation::Layout& layout,
                                bool aggregation::Memory::*goes) {
    using aggregation::TensorKind;
    std::map<std::uint64_t, const aggregation::Memory*> by_offset;
    for (const aggregation::Memory& memory : memories.all()) {
        if (!memory.travels()) continue;
        const aggregation::Memory*& named = by_offset[memory.offset];
        if (named == nullptr || memory.*goes) named = &memory;
    }
    aggregation::Layout whole = layout;
    for (const auto& [offset, memory] : by_offset) {
        const std::string name(memory->name());
        if (memory->shape != aggregation::MemoryShape::Trainable) {
            const auto rows = static_cast<std::int64_t>(memory->rows), floats = static_cast<std::int64_t>(memory->floats);
            whole.add(name, rows == 1 ? std::vector{floats} : std::vector{rows, floats / rows}, TensorKind::Buffer);
            continue;
        }
        for (const aggregation::LayoutEntry& entry : layout.entries())
            if (entry.kind == TensorKind::Parameter) whole.add(name + "." + entry.name, entry.shape, TensorKind::Buffer);
    }
    FEDHIVE_CHECK_EQ(whole.num_floats(), layout.num_floats() + memories.floats_behind());
    return whole;
}

}  // namespace

aggregation::Layout region_layout(const aggregation::Memories& memories, const aggregation::Layout& layout) {
    return layout_with(memories, layout, &aggregation::Memory::down);
}

aggregation::Layout slot_layout(const aggregation::Memories& memories, const aggregation::Layout& layout) {
    return layout_with(memories, layout, &aggregation::Memory::up);
}

std::string record_text(const aggregation::Memories& memories) {
    std::vector<std::string> parts;
    for (const aggregation::Memory& memory : memories.all())
        if (memory.in_record()) parts.push_back(fmt::format("{} {}", memory.name(), memory.floats));
    return parts.size() < 2 ? "" : fmt::format("{}", fmt::join(parts, ", "));
}

FirstModel parted(const clients::ModelSpec& model, const std::vector<float>& whole) {
    const aggregation::Layout layout = clients::whole_layout(model);
    return {aggregation::part_of(layout, whole, clients::model_layout(model)),
            aggregation::part_of(layout, whole, clients::frozen_layout(model))};
}

ModelSetup ModelSetup::make(const LoadedConfig& loaded, const clients::DataShape& data, const Placement& placement) {
    ModelSetup setup;
    setup.file = open_model_file(loaded);
    setup.spec = model_spec(loaded, data, setup.file);
    setup.layout = lay_out(loaded, setup.spec, placement);
    setup.frozen = clients::frozen_layout(setup.spec);
    setup.local_part = clients::LocalPart(setup.spec);
    aggregation::Dimensions dimensions =
        dimensions_of(setup.layout, setup.local_part, static_cast<std::uint64_t>(data.num_classes));
    dimensions.features = features_of(loaded, setup.spec);
    setup.memories = memories_of(loaded.run, dimensions);
    setup.region = region_layout(setup.memories, setup.layout);
    setup.cut = make_cut(loaded, setup.spec, setup.layout);
    return setup;
}

FirstModel ModelSetup::first(const LoadedConfig& loaded) const {
    const aggregation::Layout whole = clients::whole_layout(spec);
    const std::filesystem::path& init = loaded.run.model.init;
    const auto drawn = [&](std::uint64_t seed) {
        std::vector<float> values(whole.num_floats(), 0.0F);
        clients::initial_parameters(spec, whole, seed, values);
        return values;
    };
    std::uint64_t seed = loaded.run.all_seeds().model;
    const auto read = [&] {
        Spare spare{clients::low_rank_factors(spec), {}};
        if (!spare.names.empty()) spare.model = drawn(seed);
        return read_model(init, whole, clients::other_tensors(spec), spare);
    };
    FirstModel model = parted(spec, init.empty() ? drawn(seed) : blame(loaded, "model.init", read));
    for (const aggregation::Memory& memory : memories.all())
        if (memory.first == aggregation::FirstValue::Drawn) model.drawn.push_back(parted(spec, drawn(++seed)).parameters);
    return model;
}

}  // namespace fedhive::sim
