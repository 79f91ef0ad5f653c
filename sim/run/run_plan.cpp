#include "sim/run/run_plan.h"

#include "aggregation/base/divide_up.h"
#include "clients/data/ignored.h"
#include "clients/direct/kernels.h"
#include "sim/config/privacy.h"
#include "sim/machine/machine.h"
#include "sim/plan/client_states_plan.h"
#include "sim/plan/engine_choice.h"
#include "sim/plan/memory_plan.h"
#include "sim/plan/model_spec.h"
#include "sim/run/rank_agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace fedhive::sim {

namespace {

/// "600 examples each" or "from 12 to 1,204 examples, 600 on average".
std::string shard_sizes(const clients::SharedDataset& dataset) {
    std::size_t smallest = dataset.shard(0).size();
    std::size_t largest = smallest;
    std::size_t total = 0;
    for (std::size_t client = 0; client < dataset.map().num_clients; ++client) {
        const std::size_t size = dataset.shard(client).size();
        smallest = std::min(smallest, size);
        largest = std::max(largest, size);
        total += size;
    }
    if (smallest == largest) return fmt::format("{} examples each", smallest);
    return fmt::format("{} to {} examples, {:.0f} on average", smallest, largest,
                       static_cast<double>(total) / static_cast<double>(dataset.map().num_clients));
}

/// One row of blocks per label, for the first few clients: the distribution of labels.
std::string histogram_rows(const clients::SharedDataset& dataset, const std::vector<std::string>& owners) {
    static constexpr std::array blocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    constexpr std::size_t kMaxRows = 5;
    constexpr std::size_t kMaxLabels = 60;
    const std::size_t rows = std::min<std::size_t>(kMaxRows, dataset.map().num_clients);
    std::string text;
    if (dataset.map().target.kind != clients::TargetKind::Class) return "";
    for (std::size_t client = 0; client < rows; ++client) {
        const auto counts = clients::label_counts(dataset.shard(client), dataset.train(), dataset.map().num_classes);
        const std::uint64_t most = std::max<std::uint64_t>(1, *std::max_element(counts.begin(), counts.end()));
        text += fmt::format("{}client {:<3} |", client == 0 ? "" : "            ", client);
        const std::size_t shown = std::min(counts.size(), kMaxLabels);
        for (const std::uint64_t count : std::span(counts).first(shown))
            text += blocks[divide_up(count * (blocks.size() - 1), most)];
        text += fmt::format("| {}{}{}\n", dataset.shard(client).size(), owners.empty() ? "" : " · " + owners[client],
                            client > 0 ? ""
                            : shown < counts.size()
                                ? fmt::format("   labels 0 to {} of {} (█: its largest)", shown - 1, counts.size())
                                : "   labels 0, 1, … (█: its largest)");
    }
    if (rows < dataset.map().num_clients) text += fmt::format("            … and {} more\n", dataset.map().num_clients - rows);
    return text;
}

/// "partition 2, training 7": the seeds that are set separately.
std::string describe_seeds(const RunConfig& config) {
    std::string text;
    const auto add = [&](const char* name, const std::optional<std::uint64_t>& seed) {
        if (seed) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, *seed);
    };
    add("data", config.seeds.data);
    add("partition", config.seeds.partition);
    add("model", config.seeds.model);
    add("sampling", config.seeds.sampling);
    add("training", config.seeds.training);
    return text;
}

/// " · 62 owners without a training example left out"
std::string describe_left_out(const clients::DatasetMap& data) {
    const std::uint32_t owners = data.owners_left_out;
    return owners == 0 ? "" : fmt::format(" · left out {} owner{} without a training example", owners, owners == 1 ? "" : "s");
}

/// The type of the values, if they are not bytes that stand for numbers.
std::string describe_type(const clients::DatasetMap& data) {
    if (data.shape.vocabulary > 0) return " of tokens";
    if (data.type == clients::ValueType::U8) return "";
    return data.rounded ? " of f32, rounded from f64" : " of f32";
}

/// " (31.2 % of the training targets are -100: not counted)"
std::string describe_ignored(const clients::SharedDataset& dataset) {
    if (!dataset.map().target.ignores) return "";
    const std::span<const std::int32_t> labels = dataset.train().labels;
    return fmt::format(" ({:.1f} % of the training targets are {} and ignored)",
                       100.0 * static_cast<double>(clients::num_ignored(labels)) / static_cast<double>(labels.size()),
                       clients::kIgnored);
}

/// "10 classes", "65 classes at each position", "1 number each".
std::string describe_targets(const clients::DatasetMap& data) {
    if (data.target.kind == clients::TargetKind::Numbers)
        return fmt::format("{} number{} each", data.target.width, data.target.width == 1 ? "" : "s");
    return fmt::format("{} classes{}", data.num_classes,
                       data.target.kind == clients::TargetKind::ClassEach ? " at each position" : "");
}

/// "3x32x32", or "80 tokens of 65".
std::string describe_input(const clients::ExampleShape& shape) {
    if (shape.vocabulary > 0) return fmt::format("{} tokens of {}", shape.num_values(), shape.vocabulary);
    return fmt::format("{}x{}x{}", shape.channels, shape.height, shape.width);
}

/// The engine of local steps and the reason for it, and its settings that differ from the default.
std::string describe_steps(const Experiment& run) {
    const TrainingConfig& training = run.config.training;
    const VisitFile* const visit = run.config.strategy.parts.visit.get();
    std::string text =
        visit != nullptr ? fmt::format("visits      Python {} · evaluation ", visit->file.filename().string()) : "steps       ";
    const bool on_host = run.resources.space == aggregation::MemorySpace::Host;
    if (run.worker_plan.engine == clients::Engine::Direct) {
        const std::string kernels = direct_kernels(run.resources.space);
        text += fmt::format("by the direct engine, {} kernels{}\n", kernels, clients::direct::remark_on(kernels));
    } else {
        text += fmt::format("by LibTorch: {}\n", run.resources.engine_choice.why);
    }
    const bool is_tf32 = training.precision == clients::Precision::TF32;
    if (is_tf32 && on_host) text += "steps       tf32 is the same as f32 on the CPU\n";
    if (training.precision != clients::Precision::F32 && !(is_tf32 && on_host))
        text += fmt::format("steps       {}, evaluation f32\n", word_of(training.precision));
    if (training.graph)
        text += on_host ? "steps       training.graph has no effect on the CPU\n" : "steps       recorded as CUDA graphs\n";
    return text;
}

/// The rule that Python runs.
std::string describe_rule(const RunConfig& config) {
    const RuleFile* const rule = config.strategy.parts.rule.get();
    return rule == nullptr ? "" : fmt::format("server      Python {} combines the updates\n", rule->file.filename().string());
}

/// The steps of the upload chain, and the share of bytes that is left.
std::string describe_upload(const Experiment& run) {
    if (run.config.upload.empty()) return "";
    std::vector<std::string> steps;
    for (const Chosen& step : run.config.upload) steps.push_back(step.name);
    const aggregation::Layout sent = run.model.layout.without(run.model.local_part.names());
    const std::uint64_t bytes = run.fleet_options().update_bytes,
                        saved = sent.num_values() * sizeof(float) - clients::upload_size(run.worker_plan.upload, sent).bytes(),
                        whole = bytes + saved;
    return fmt::format("updates     {} · {}{} each\n", fmt::join(steps, ", "), human_bytes(bytes),
                       bytes == whole ? "" : fmt::format(" of {}", human_bytes(whole)));
}

/// The steps that compress what the server sends, and the share of bytes that is left.
std::string describe_download(const Experiment& run) {
    if (!run.config.sends_compressed()) return "";
    std::vector<std::string> steps;
    for (const Chosen& step : run.config.download) steps.push_back(step.name);
    const ModelBytes bytes = run.fleet_options().sent_bytes;
    return fmt::format(
        "models      {} · {} of {} each{}\n", fmt::join(steps, ", "), human_bytes(bytes.each + bytes.beside),
        human_bytes(bytes.whole + bytes.beside),
        run.config.sends_changes() ? ", whole to clients that have none; who skipped rounds gets theirs, too" : "");
}

/// ", 1.5 in the updates beside a count with noise 1": of adaptive_clip.
std::string describe_count(const Experiment& run) {
    const auto step = clients::adapting_step(run.worker_plan.upload);
    return step ? fmt::format(", {:.4g} in the updates beside a count with noise {}", multiplier_of_updates(run.config),
                              step->numbers[3])
                : "";
}

/// The noise, and the ε that it gives at the end.
std::string describe_privacy(const Experiment& run) {
    if (!run.server.accountant) return "";
    const SampledGaussian mechanism = mechanism_of(run.config);
    const auto rounds = static_cast<std::uint64_t>(run.config.rounds);
    const std::optional<NoiseTree>& tree = run.server.tree_noise.tree();
    const std::string who = tree ? fmt::format("trees of {} rounds", tree->restart_every)
                                 : fmt::format("{:.4g} of the clients in a round", mechanism.share);
    return fmt::format("privacy     ε {:.4f} after {} rounds at δ {} · multiplier {}{} · {}\n",
                       run.server.accountant->epsilon(compositions_of(run.config, rounds)), rounds, *run.config.privacy.delta,
                       mechanism.multiplier, describe_count(run), who);
}

/// The privacy cost of one update under steps that hide it even from the server; a line for each step.
std::string describe_local_privacy(const Experiment& run) {
    std::string lines;
    const std::uint64_t values = run.model.layout.without(run.model.local_part.names()).num_values();
    const clients::UploadPlan& plan = run.worker_plan.upload;
    for (std::uint32_t i = 0; i < plan.size; ++i) {
        const clients::UploadSpec& spec = clients::upload_catalog().at(plan.steps[i].kind);
        if (!spec.hides) continue;
        const std::string length = spec.stretch == nullptr
                                       ? ""
                                       : fmt::format(" · sent vectors are {:.4g} times as long as the clip's norm",
                                                     spec.stretch(plan.steps[i], values));
        lines += fmt::format("privacy     ε {} of each update of a client, by {}{}\n",
                             run.config.upload[i].values.number("epsilon"), spec.name, length);
    }
    return lines;
}

/// The clients on whose held-out examples models are evaluated, and when.
std::string describe_clients_evaluation(const Experiment& run) {
    const ClientsEvaluationConfig& config = run.config.evaluation.clients;
    if (!config.every) return "";
    return fmt::format("evaluation  on the held-out examples of {} of {} clients, every {}{}\n", run.evaluated_clients.size(),
                       run.data.dataset.map().num_clients,
                       *config.every == 1 ? "round" : fmt::format("{} rounds", *config.every),
                       config.personalized ? ", also after a local epoch" : "");
}

/// How model.file is run: " as layers", " as a graph: aten.silu.default ('silu') is no layer".
std::string describe_form(const Experiment& run) {
    if (!run.model.spec.exported.given()) return "";
    const std::string kept = kept_as_graph(run.config, run.model.spec);
    return kept.empty() ? " as layers" : " as a graph: " + kept;
}

/// " and 260 frozen ones", ", 260 of them each client's own".
std::string describe_parts(const Experiment& run) {
    std::string parts;
    if (!run.model.frozen.entries().empty()) parts += fmt::format(" and {} frozen ones", run.model.frozen.num_parameters());
    if (!run.model.local_part.empty())
        parts += fmt::format(", {} of them stay on each client", run.model.local_part.num_parameters());
    return parts;
}

/// "fedadam", "fedavg with prox, median".
std::string describe_strategy(const StrategyConfig& strategy) {
    const StrategyParts own = parts_of(strategy.name);
    std::vector<std::string> others;
    const auto look = [&](const Chosen& part, const Chosen& its_own) {
        if (part.name != its_own.name) others.push_back(part.name);
    };
    if (!strategy.gradient.empty()) return fmt::format("{} with gradient {}", strategy.name, strategy.gradient);
    if (strategy.parts.method != nullptr) return fmt::format("{} ({})", strategy.title(), strategy.file.filename().string());
    look(strategy.parts.local, own.local);
    look(strategy.parts.pre_aggregation, own.pre_aggregation);
    look(strategy.parts.aggregator, own.aggregator);
    look(strategy.parts.server, own.server);
    return strategy.name + (others.empty() ? "" : fmt::format(" with {}", fmt::join(others, ", ")));
}

}  // namespace

std::string describe_plan(const Experiment& run, const std::string& folder) {
    const clients::DatasetMap& data = run.data.dataset.map();
    const RunConfig& config = run.config;
    const std::string measured = describe(run.resources.workers);
    const std::string workers = run.resources.num_workers == 0
                                    ? "none; the coordinator trains"
                                    : fmt::format("{} process{}{}, {} thread{} each", run.resources.num_workers,
                                                  run.resources.num_workers == 1 ? "" : "es",
                                                  measured.empty() ? "" : fmt::format(" (auto: {})", measured), config.threads,
                                                  config.threads == 1 ? "" : "s") +
                                          (run.resources.workers.mps ? ", sharing the GPU by MPS" : "");
    const std::string seeds = describe_seeds(config);
    const std::string mode = config.mode.name == ModeConfig{}.name ? "" : " · " + config.mode.name;
    const std::string strategy = describe_strategy(config.strategy);
    const std::string task = config.task == RunConfig{}.task ? "" : " · " + config.task;
    std::string text = fmt::format("run         {}{} · {}{} · {} rounds · seed {}{}\n", config.name, task, strategy, mode,
                                   config.rounds, config.seed, seeds.empty() ? "" : fmt::format(" ({})", seeds));
    text += fmt::format("device      {} · workers {}\n", run.resources.space == aggregation::MemorySpace::Host ? "cpu" : "cuda",
                        workers);
    text += describe_ranks(run);
    for (const std::string& note : run.notes) text += fmt::format("strategy    {}\n", note);
    text += describe_steps(run);
    text += describe_rule(config);
    text += fmt::format("model       {}{} · {} parameters{} · input {}\n", run.model.spec.name.get(), describe_form(run),
                        run.model.layout.num_parameters(), describe_parts(run), describe_input(data.shape));
    text += fmt::format("data        {} · {} training and {} test examples{} · {}{}{}\n", config.data.format, data.num_train,
                        data.num_test, describe_type(data), describe_targets(data), describe_ignored(run.data.dataset),
                        describe_left_out(data));
    const std::string held_out = data.num_held_out == 0 ? "" : fmt::format(" · {} held-out examples", data.num_held_out);
    const std::string root = data.num_root == 0 ? "" : fmt::format(" · {} examples at the server", data.num_root);
    text += fmt::format("clients     {} by {} · {}{}{} · {} per round\n", data.num_clients, config.data.partition.scheme,
                        shard_sizes(run.data.dataset), held_out, root, run.mode.in_flight);
    const std::string histogram = histogram_rows(run.data.dataset, run.data.owners);
    if (!histogram.empty()) text += fmt::format("partition   {}", histogram);
    text += describe_upload(run);
    text += describe_download(run);
    text += describe_privacy(run);
    text += describe_local_privacy(run);
    text += describe_clients_evaluation(run);
    const std::string each =
        run.resources.num_workers == 0 ? "" : fmt::format(" · about {} per worker", human_bytes(host_bytes_of_worker(run)));
    const std::string on_gpu = run.resources.space == aggregation::MemorySpace::Host
                                   ? ""
                                   : fmt::format(", {} of it on the GPU too", human_bytes(data.example_bytes()));
    const std::uint64_t kept = client_state_bytes(config, run.model.memories, data.num_clients);
    const std::string kept_by_clients = kept == 0 ? ""
                                                  : fmt::format(" · client state up to {}{}", human_bytes(kept),
                                                                run.server.client_states.lies_in_file() ? " in a file" : "");
    text += fmt::format("memory      arena {} in {} slots · data {}{}{}{}\n",
                        human_bytes(run.resources.arena->geometry().total_bytes()), run.resources.arena->geometry().num_slots,
                        human_bytes(data.total_bytes()), on_gpu, kept_by_clients, each);
    text += fmt::format("folder      {}\n", folder);
    for (const std::string& warning : run.warnings()) text += fmt::format("warning     {}\n", warning);
    return text;
}

}  // namespace fedhive::sim
