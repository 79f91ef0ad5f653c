#include "sim/config/method_rules.h"

#include "aggregation/cohort/aggregator_catalog.h"
#include "clients/tasks/learning_task.h"
#include "clients/tasks/loss.h"
#include "clients/uploads/upload.h"
#include "sim/modes/mode_spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace fedhive::sim {

namespace {

/// What the method has that not every mode allows, in words that follow "because ".
std::string needs_of(const Method& method) {
    std::vector<std::string> needs;
    if (method.client.client_state()) needs.emplace_back("memories of clients");
    if (method.formulas.changes_visits()) needs.emplace_back("formulas of a client's visit");
    if (method.has(aggregation::formulas::Place::Cohort)) needs.emplace_back("formulas of a round's cohort");
    if (method.has(aggregation::formulas::Place::Mix)) needs.emplace_back("a mixture of the cohort's updates for each client");
    if (method.has(aggregation::formulas::Place::Server)) needs.emplace_back("formulas of the server's step");
    return fmt::format("it has {}", fmt::join(needs, ", "));
}

/// A memory by class needs one class for each example.
void check_by_class(const RunConfig& run, const std::string& file, const ConfigSource& source) {
    if (run.task == "classification") return;
    const aggregation::formulas::MethodFormulas& formulas = run.strategy.parts.method->formulas;
    const auto found = std::ranges::find_if(formulas.memories, [](const auto& memory) { return memory.is_by_class(); });
    if (found != formulas.memories.end())
        throw source.error("strategy.file",
                           fmt::format("memory '{}' of {} is by class, but the task is '{}', whose examples have none; "
                                       "allowed: classification",
                                       found->name, file, run.task));
}

/// A method's local part, and all that a model with one needs (local_part_rules.h).
std::string what_local_takes(const RunConfig& run, const std::string& file) {
    std::string text = fmt::format(
        "{} reads `local`, the part of the model that stays with each client, but model.local names "
        "none; name its tensors, such as model.local: [\"fc2*\"]",
        file);
    std::vector<std::string> also;
    if (run.data.partition.holdout == 0.0) also.emplace_back("data.partition.holdout: 0.2");
    if (!run.evaluation.clients.every) also.emplace_back("evaluation.clients.every: 1");
    if (!also.empty()) text += fmt::format("; also set {}", fmt::join(also, ", "));
    for (const auto& [metric, target] : run.stop.test)
        if (target) text += fmt::format("; remove stop.test_{}", metric);
    return text;
}

/// A visit, or the client's own model, that begins at a memory of `end` or `mix` would lose what model.local keeps: these memories have no
/// values there.
void check_local_part(const RunConfig& run, const std::string& key, const std::string& file, const ConfigSource& source) {
    using aggregation::formulas::Place;
    const Method& method = *run.strategy.parts.method;
    if (method.formulas.reads("local") && !run.model.has_local_part()) throw source.error(key, what_local_takes(run, file));
    if (!run.model.has_local_part()) return;
    for (const Place place : {Place::Start, Place::Judge}) {
        if (!method.has(place) || method.formulas.parsed(place).reads("local")) continue;
        for (const aggregation::formulas::MethodMemory& memory : method.formulas.memories)
            if (memory.owner == aggregation::MemoryOwner::Client && memory.is_model() &&
                !method.formulas.changes_in_steps(memory) && method.formulas.parsed(place).reads(memory.name))
                throw source.error(
                    "model.local",
                    fmt::format(
                        "`{}` of {} takes memory '{}' for the model, but this memory has no values for tensors that stay "
                        "with the client; remove model.local, or choose another strategy",
                        word_of(place), file, memory.name));
    }
}

/// A loss is of classes, in place of the run's own, and computed on the host.
void check_loss_formula(const RunConfig& run, const std::string& file, const ConfigSource& source) {
    if (!run.strategy.parts.method->has(aggregation::formulas::Place::Loss)) return;
    if (run.task != "classification")
        throw source.error("strategy.file", fmt::format("the loss of {} needs one class per example, but the task is '{}'; "
                                                        "allowed: classification",
                                                        file, run.task));
    const std::vector<KeySpec>& keys = clients::loss_spec(clients::learning_task(run.task).losses.front()).keys;
    if (run.training.loss.name != clients::learning_task(run.task).losses.front() ||
        completed(run.training.loss.values, keys) != completed(Values(), keys))
        throw source.error("training.loss", fmt::format("{} has a formula for the loss; remove this key", file));
    if (run.training.graph)
        throw source.error(
            "training.graph",
            fmt::format("the loss of {} is computed on the host, but a recorded step runs on the GPU; allowed: false", file));
}

/// A server that reads several sums reads them of single updates, without noise that only their mean gets.
void check_further_sums(const RunConfig& run, const std::string& file, const ConfigSource& source) {
    if (run.strategy.parts.method->formulas.num_further() == 0) return;
    if (run.strategy.parts.pre_aggregation.name != "none")
        throw source.error("strategy.pre_aggregation",
                           fmt::format("the server of {} reads several sums of the updates; allowed: none", file));
    for (std::size_t i = 0; i < run.upload.size(); ++i)
        if (entry_of(clients::upload_catalog(), run.upload[i].name, "step of an upload").noise_of_sum)
            throw source.error(
                fmt::format("upload[{}]", i),
                fmt::format("the server of {} reads several sums of the updates, and '{}' counts the noise of one; "
                            "remove this step, or choose another strategy",
                            file, run.upload[i].name));
}

}  // namespace

void check_method(const RunConfig& run, const ConfigSource& source) {
    const auto& method = run.strategy.parts.method;
    const bool is_file = run.strategy.gradient.empty();
    const std::string key = is_file ? "strategy.file" : "strategy.gradient";
    const std::string file = is_file ? method->file.string() : fmt::format("'{}'", run.strategy.gradient);
    const std::vector<std::string> modes = modes_of(run.strategy.parts);
    if (std::find(modes.begin(), modes.end(), run.mode.name) == modes.end())
        throw source.error(key, fmt::format("{} does not run in mode '{}', because {}; allowed: {}", file, run.mode.name,
                                            needs_of(*method), fmt::join(modes, ", ")));
    check_by_class(run, file, source);
    check_loss_formula(run, file, source);
    check_further_sums(run, file, source);
    if (method->formulas.sets_weights() && run.strategy.weighting != Weighting::Examples)
        throw source.error("strategy.weighting", fmt::format("{} has formulas for the weights; remove this key", file));
    if (method->formulas.reads_root() && !method->formulas.sets_weights())
        throw source.error(
            key,
            fmt::format("{} reads the server's own update, but sets no weights; only weights may read it: set `weight`", file));
    const bool takes_mean = aggregation::aggregator_spec(run.strategy.parts.aggregator.name).replaceable;
    if (method->equal_weights && run.strategy.weighting != Weighting::Uniform)
        throw source.error("strategy.weighting",
                           fmt::format("the server of {} uses means with equal weights; allowed: uniform", file));
    if ((method->equal_weights || method->has(aggregation::formulas::Place::Cohort)) && !takes_mean &&
        !method->formulas.sets_weights())
        throw source.error("strategy.aggregator", fmt::format("the server of {} uses means; allowed: mean", file));
    check_local_part(run, key, file, source);
    if (method->has(aggregation::formulas::Place::Second) && run.training.graph)
        throw source.error("training.graph", fmt::format("{} computes a second gradient in a step; allowed: false", file));
    if (run.training.least_per_slot() > 1 && method->trains_alone())
        throw source.error(run.training.clients_per_slot ? "training.clients_per_slot" : "training.clients_at_once",
                           fmt::format("{} needs every client to train alone; allowed: 1", file));
}

}  // namespace fedhive::sim
