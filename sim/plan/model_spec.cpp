#include "sim/plan/model_spec.h"

#include "clients/data/data_warnings.h"
#include "clients/exported/rehearsal.h"
#include "clients/exported/roles.h"
#include "clients/models/local_part.h"
#include "clients/models/model_plan.h"
#include "clients/tasks/learning_task.h"
#include "clients/tasks/loss.h"
#include "clients/trainers/engine.h"
#include "sim/config/suggest.h"
#include "sim/machine/machine.h"
#include "sim/modes/mode_spec.h"
#include "sim/plan/blame.h"
#include "sim/strategies/method.h"

#include <fmt/ranges.h>

namespace fedhive::sim {

namespace {

/// Running statistics travel with the model or its update. Throws ConfigError if the mode sends neither, adds differences from
/// older models, or lets many clients share a pass. `keeps`: the part that has the statistics, for the message.
void check_buffers(const LoadedConfig& loaded, const std::string& keeps) {
    const RunConfig& run = loaded.run;
    if (!mode_spec(run.mode.name).averages_buffers) {
        std::vector<std::string> modes;
        for (const ModeSpec& mode : mode_catalog())
            if (mode.averages_buffers) modes.push_back(mode.name);
        throw loaded.source->error(
            "mode.name", fmt::format("{}, which mode '{}' cannot average; allowed: {}; or use group_norm, which has none",
                                     keeps, run.mode.name, fmt::join(modes, ", ")));
    }
    if (run.training.clients_at_once > 1)
        throw loaded.source->error(
            "training.clients_at_once",
            fmt::format("{}, which clients trained at once would share; allowed: 1; or use group_norm, which has none", keeps));
}

/// Throws ConfigError, with both names, if the config uses what only lists of layers support. `why`: the graph is no such list.
void check_layers_wanted(const LoadedConfig& loaded, const std::string& why) {
    const RunConfig& run = loaded.run;
    const auto refuse = [&](const std::string& key, const std::string& what, const std::string& allowed) {
        throw loaded.source->error(key, fmt::format("{}, but model.file is a graph: {}; {}", what, why, allowed));
    };
    if (run.mode.values.find("cut") != nullptr)
        refuse("mode.name", fmt::format("mode '{}' needs a list of layers", run.mode.name),
               "use another mode, or model.name or model.layers");
    if (run.training.clients_at_once > 1)
        refuse("training.clients_at_once", "clients trained at once need a list of layers", "allowed: 1");
    if (run.training.engine == clients::Engine::Direct)
        refuse("training.engine", "the direct engine needs a list of layers", "allowed here: auto, libtorch");
    if (run.device == Device::Cuda)  // a graph's constants, and the tensors that it creates, are in host memory
        refuse("device", "a GPU needs a list of layers", "allowed here: auto, cpu");
}

std::string text_of(const std::vector<std::int64_t>& sizes) { return fmt::format("[{}]", fmt::join(sizes, ", ")); }

/// The line of Python that creates two examples.
std::string two_examples(const clients::ExampleShape& shape) {
    if (shape.vocabulary > 0) return fmt::format("x = torch.zeros(2, {}, dtype=torch.int64)", shape.num_values());
    return fmt::format("x = torch.zeros(2, {}, {}, {})", shape.channels, shape.height, shape.width);
}

/// Throws ConfigError, without key and file, if the file's input does not fit the data and the config.
void check_fit(const RunConfig& run, const clients::exported::Program& program, const clients::DataShape& data) {
    const clients::ExampleShape& example = data.example;
    const std::string two = two_examples(example);
    if (!takes(program, example))
        throw ConfigError(fmt::format("takes examples of {}, but the data's are {}; export it with two of these: {}{}",
                                      text_of(program.input), text_of({example.channels, example.height, example.width}), two,
                                      clients::channels_last_advice(example)));
    if (program.takes_tokens && example.vocabulary == 0)
        throw ConfigError(
            fmt::format("takes tokens, I64, but the data's examples are numbers, F32; export it with two of these: {}; if "
                        "forward needs integers, convert them there: x = x.long()",
                        two));
    for (const auto& [key, batch] : {std::pair("training.batch_size", run.training.batch_size),
                                     std::pair("evaluation.chunk_size", run.evaluation.chunk_size)})
        if (batch > program.most_batch)
            throw ConfigError(fmt::format("takes batches of at most {} examples, but {} is {}; export it without max",
                                          program.most_batch, key, batch));
}

/// "a, b and 60 more"
std::string listed(const std::vector<std::string>& names) {
    constexpr std::size_t kMost = 12;
    const auto shown = names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMost));
    const std::string more = names.size() > kMost ? fmt::format(" and {} more", names.size() - kMost) : "";
    return fmt::format("{}{}", fmt::join(names.begin(), shown, ", "), more);
}

/// "did you mean 'fc1.weight'? "; empty if no name is similar.
std::string near_to(const std::string& typed, const std::vector<std::string>& names) {
    const std::string nearest = nearest_word(typed, names);
    return nearest.empty() ? "" : fmt::format("did you mean '{}'? ", nearest);
}

/// A key's patterns. Throws ConfigError for a pattern that matches none of `names`; `of`: what has these names.
clients::NamePatterns patterns_of(const LoadedConfig& loaded, const std::string& key, const std::vector<std::string>& patterns,
                                  const std::vector<std::string>& names, const char* of) {
    const auto matched = [&](const clients::NamePatterns& one) {
        return std::ranges::count_if(names, [&](const std::string& name) { return one.match(name); });
    };
    for (std::size_t i = 0; i < patterns.size(); ++i)
        if (blame(loaded, key, [&] { return matched(clients::NamePatterns::of({patterns[i]})); }) == 0)
            throw loaded.source->error(fmt::format("{}[{}]", key, i),
                                       fmt::format("'{}' matches the name of no {}; {}the model has: {}", patterns[i], of,
                                                   near_to(patterns[i], names), listed(names)));
    return blame(loaded, key, [&] { return clients::NamePatterns::of(patterns); });
}

/// Puts model.frozen into the spec. Throws ConfigError for a pattern that matches no parameter, and if nothing is left to
/// train.
void freeze(const LoadedConfig& loaded, clients::ModelSpec& spec) {
    const std::vector<std::string>& patterns = loaded.run.model.frozen;
    if (patterns.empty()) return;
    std::vector<std::string> names;
    const aggregation::Layout whole = clients::whole_layout(spec);
    for (const aggregation::LayoutEntry& entry : whole.entries())
        if (entry.kind == aggregation::TensorKind::Parameter) names.push_back(entry.name);
    spec.frozen = patterns_of(loaded, "model.frozen", patterns, names, "parameter");
    if (clients::model_layout(spec).num_parameters() == 0)
        throw loaded.source->error("model.frozen",
                                   fmt::format("leaves no parameter to train; the model has: {}", listed(names)));
}

/// Clients send memories by class, so model.local may keep the whole model.
bool sends_by_class(const RunConfig& run) {
    const Method* method = run.strategy.parts.method.get();
    return method != nullptr &&
           std::ranges::any_of(method->formulas.memories, [](const auto& memory) { return memory.is_by_class() && memory.up; });
}

/// Puts model.local into the spec, among what is not frozen. Throws ConfigError for a pattern that matches no tensor, and if
/// nothing is left that clients share.
void keep_local(const LoadedConfig& loaded, clients::ModelSpec& spec) {
    const std::vector<std::string>& patterns = loaded.run.model.local;
    if (patterns.empty()) return;
    std::vector<std::string> names;
    const aggregation::Layout layout = clients::model_layout(spec);
    for (const aggregation::LayoutEntry& entry : layout.entries()) names.push_back(entry.name);
    spec.local = patterns_of(loaded, "model.local", patterns, names, "trained tensor or buffer");
    if (clients::LocalPart(spec).num_parameters() == layout.num_parameters() && !sends_by_class(loaded.run))
        throw loaded.source->error("model.local",
                                   fmt::format("leaves no parameter that clients share; the model has: {}", listed(names)));
}

constexpr const char* kKeeps = "model.graph is keep";
bool keeps(const RunConfig& run) { return run.model.graph == GraphUse::Keep; }

clients::ModelSpec graph_spec(const LoadedConfig& loaded, const clients::DataShape& data,
                              const clients::exported::SharedModelFile& file) {
    clients::ModelSpec spec;
    spec.name.set(clients::kExportedModel);
    spec.input = data.example;
    spec.num_classes = data.num_classes;
    spec.target = data.target;
    spec.exported = file.handle();
    spec.exported.frozen_norms = loaded.run.model.frozen_norms;
    const auto of_file = [&](const auto& work) {
        try {
            return work();
        } catch (const ConfigError& error) {
            throw loaded.source->error("model.file", fmt::format("{}: {}", loaded.run.model.file.string(), error.what()));
        }
    };
    clients::exported::Program program = of_file([&] { return clients::exported::read_program(spec.exported); });
    freeze(loaded, spec);
    clients::exported::freeze(program, spec.frozen);
    of_file([&] { check_fit(loaded.run, program, data); });
    const std::string kept = keeps(loaded.run) ? kKeeps : clients::kept_as_graph(spec, program);
    spec.as_layers = kept.empty();
    if (!spec.as_layers) {
        check_layers_wanted(loaded, kept);
        of_file([&] { clients::libtorch_engine().rehearse(program, data, this_machine().available_memory / 2); });
    }
    keep_local(loaded, spec);
    if (program.has_moved()) check_buffers(loaded, "model.file has buffers that training changes, such as running statistics");
    return spec;
}

/// " (task 'regression')" unless the task is the default.
std::string for_task(const RunConfig& run) { return run.task == RunConfig{}.task ? "" : fmt::format(" (task '{}')", run.task); }

/// Throws ConfigError for a stop metric that exists only with more classes: it would never be reached.
void check_stop(const LoadedConfig& loaded, std::int64_t num_classes) {
    for (const clients::Metric& metric : clients::learning_task(loaded.run.task).metrics)
        if (loaded.run.stop.test.of(metric.name) && metric.over_classes >= num_classes && metric.over_classes > 0)
            throw loaded.source->error(
                "stop.test_" + metric.name,
                fmt::format("needs more than {} classes, but the data have {}; allowed here: stop.test_{}", metric.over_classes,
                            num_classes, clients::learning_task(loaded.run.task).main_metric().name));
}

/// Throws ConfigError if the counts by class of all classes do not fit beside each task.
void check_counts(const LoadedConfig& loaded, std::int64_t num_classes) {
    const EvaluationConfig& evaluation = loaded.run.evaluation;
    constexpr std::int64_t kMostPairs = 256, kMostClasses = 4096;
    if (evaluation.confusion && num_classes > kMostPairs)
        throw loaded.source->error(
            "evaluation.confusion",
            fmt::format("the data have {} classes; confusion counts are possible for at most {}; leave it out", num_classes,
                        kMostPairs));
    if (!evaluation.metrics.empty() && num_classes > kMostClasses)
        throw loaded.source->error(
            "evaluation.metrics",
            fmt::format("the data have {} classes; counts by class are possible for at most {}; leave it out", num_classes,
                        kMostClasses));
}

/// Throws ConfigError for class weights that do not fit the data's classes.
void check_class_weights(const LoadedConfig& loaded, std::int64_t num_classes) {
    if (const auto problem = clients::check_class_weights(loaded.run.training.loss.values, num_classes))
        throw loaded.source->error("training.loss." + problem->key, problem->text);
}

}  // namespace

void check_data_of_task(const LoadedConfig& loaded, const clients::DataShape& data) {
    const RunConfig& run = loaded.run;
    const clients::LearningTask& task = clients::learning_task(run.task);
    const clients::TargetKind kind = data.target.kind;
    const bool has_tokens = data.example.vocabulary > 0;
    if (task.takes(kind) && (has_tokens || !task.of_tokens)) {
        check_class_weights(loaded, data.num_classes);
        check_counts(loaded, data.num_classes);
        return check_stop(loaded, data.num_classes);
    }
    std::vector<std::string> tasks;
    for (const clients::LearningTask& one : clients::task_catalog())
        if (one.takes(kind) && (has_tokens || !one.of_tokens)) tasks.push_back(one.name);
    if (tasks.empty()) tasks.emplace_back("none");
    if (task.takes(kind))
        throw loaded.source->error(
            "task", fmt::format("task '{}' needs tokens, but the examples of data.format '{}' are not tokens here; allowed for "
                                "this format: {}; or choose data.format: text, leaf, or npz with values: tokens",
                                task.name, run.data.format, fmt::join(tasks, ", ")));
    throw loaded.source->error(
        "task",
        fmt::format("task '{}' needs {} as target, but data.format '{}' with these keys has {}; allowed for these data: {}",
                    task.name, text_of(task.targets.front()), run.data.format, text_of(kind), fmt::join(tasks, ", ")));
}

clients::DataShape data_shape(const LoadedConfig& loaded) {
    const DataConfig& data = loaded.run.data;
    const clients::DataFormat& format = clients::data_format(data.format);
    const clients::DataShape shape = blame(loaded, named_files(data), [&] {
        return format.shape(completed(data.values, format.keys), clients::learning_task(loaded.run.task).targets.front());
    });
    check_data_of_task(loaded, shape);
    return shape;
}

std::string model_key(const RunConfig& run) {
    if (!run.model.file.empty()) return clients::kExportedModel;
    return run.model.layers.empty() ? "model.name" : clients::kListedModel;
}

std::string form_of(const clients::ModelSpec& model) {
    if (!model.exported.given()) return "";
    return model.is_graph() ? "graph" : "layers";
}

std::string kept_as_graph(const RunConfig& run, const clients::ModelSpec& model) {
    if (!model.is_graph()) return "";
    return keeps(run) ? kKeeps : clients::kept_as_graph(model, clients::program_of(model));
}

clients::exported::SharedModelFile open_model_file(const LoadedConfig& loaded) {
    const ModelConfig& model = loaded.run.model;
    if (model.file.empty()) return {};
    try {
        clients::exported::SharedModelFile file(model.file);
        if (!model.file_sha256.empty() && model.file_sha256 != file.sha256())
            throw ConfigError(
                fmt::format("{}: its SHA-256 {} differs from model.file_sha256 {}; restore that file, or begin a new run "
                            "without file_sha256",
                            model.file.string(), file.sha256(), model.file_sha256));
        return file;
    } catch (const ConfigError& error) {
        throw loaded.source->error(clients::kExportedModel, error.what());
    }
}

clients::ModelSpec model_spec(const LoadedConfig& loaded, const clients::DataShape& data,
                              const clients::exported::SharedModelFile& file) {
    const ModelConfig& model = loaded.run.model;
    if (!model.file.empty()) return graph_spec(loaded, data, file);
    clients::ModelSpec spec;
    std::vector<clients::PlannedLayer> plan;
    try {
        if (model.layers.empty()) {
            spec = clients::named_model(model.name, data.example, data.num_classes, model.values, data.target);
        } else {
            spec.name.set(clients::kListedModel);
            spec.input = data.example;
            spec.num_classes = data.num_classes;
            spec.target = data.target;
            spec.layers = model.layers;
        }
        plan = clients::plan_model(spec);
    } catch (const clients::LayerMisfit& misfit) {
        throw loaded.source->error(model_key(loaded.run) + (model.layers.empty() ? "" : misfit.path),
                                   misfit.what() + clients::channels_last_advice(data.example) + for_task(loaded.run));
    } catch (const ConfigError& error) {
        throw loaded.source->error(model_key(loaded.run),
                                   error.what() + clients::channels_last_advice(data.example) + for_task(loaded.run));
    }
    if (const clients::PlannedLayer* layer = clients::layer_with_buffers(plan))
        check_buffers(loaded,
                      fmt::format("layer {} ({}) of the model has running statistics", layer->number, layer->spec().name));
    freeze(loaded, spec);
    keep_local(loaded, spec);
    return spec;
}

}  // namespace fedhive::sim
