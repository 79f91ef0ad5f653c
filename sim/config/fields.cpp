#include "sim/config/fields.h"

#include "aggregation/math/client_optimizer.h"
#include "clients/engine/engine_name.h"
#include "clients/models/catalog.h"
#include "clients/protocol/fault.h"
#include "clients/tasks/learning_task.h"
#include "clients/tasks/loss.h"
#include "clients/uploads/upload.h"
#include "sim/modes/mode_spec.h"
#include "sim/schedules/lr_schedule.h"
#include "sim/selection/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fedhive::sim {

namespace {

std::vector<std::string> engine_choices() {
    std::vector<std::string> choices{"auto"};
    choices.insert(choices.end(), clients::kEngineNames.begin(), clients::kEngineNames.end());
    return choices;
}

// Two lines a key read better than six.
// clang-format off
void describe_run(Visitor& visitor, RunConfig& run) {
    visitor.field({.name = "name", .target = &run.name, .default_note = "the file's name without `.yaml`",
                   .doc = "Names the run and its folder under results/runs; letters, digits, `.`, `_` and `-`."});
    visitor.field({.name = "seed", .target = &run.seed, .range = at_least(0),
                   .doc = "Key of every random stream: data, partition, initial model, cohorts, batches, dropout; `seeds` keys parts of them otherwise."});
    visitor.field({.name = "rounds", .target = &run.rounds, .range = between(1, kMost), .may_change = true,
                   .doc = "Turns of the loop: sample a cohort, train it, aggregate, step (T)."});
    visitor.field({.name = "device", .target = &run.device, .choices = {"auto", "cpu", "cuda"},
                   .doc = "Where parameters live and clients train; auto is cuda where a usable GPU is found, else cpu."});
    visitor.field({.name = "workers", .target = &run.workers, .range = between(0, 1024), .empty_word = "auto", .may_change = true,
                   .doc = "Processes that train clients; auto is what a short probe before a long run finds fastest, else one per usable core and thread, at "
                          "most one per slot; 0 trains in the coordinator, for a debugger. Never changes a result."});
    visitor.field({.name = "mps", .target = &run.mps, .choices = {"auto", "on", "off"}, .may_change = true,
                   .doc = "NVIDIA's Multi-Process Service, which lets workers use the GPU at the same time, by a daemon of the run's own; auto is "
                          "on where the probe finds that faster. Never changes a result."});
    visitor.field({.name = "threads", .target = &run.threads, .range = between(1, 1024),
                   .doc = "Threads inside each worker; 1 is best as long as there are as many clients as cores. Can change the last bit."});
    visitor.field({.name = "client_state", .target = &run.client_state, .choices = {"memory", "file"}, .may_change = true,
                   .doc = "Where that lies which clients keep for a strategy or an upload step (docs/strategies.md). file: on the disk of the run's folder, in a file "
                          "without a name, of which nothing is left when the run ends; it need not fit the memory. Never changes a result."});
    visitor.field({.name = "clock", .target = &run.clock, .choices = {"virtual", "wall"},
                   .doc = "virtual: updates arrive in the order of simulated time, which gives the same bits for any number of workers; wall: as they "
                          "really come."});
    visitor.field({.name = "arrivals", .target = &run.arrivals, .when = Condition{run.clock, "clock", {"wall"}}, .default_note = "as they come",
                   .doc = "arrivals.csv of an earlier run of the same experiment: updates are taken in its order, which gives its bits; relative to the "
                          "config file. `fedhive run --arrivals FILE` sets it."});
}

void describe_seeds(Visitor& visitor, SeedsConfig& seeds) {
    const auto part = [&](const char* name, std::optional<std::uint64_t>& seed, const char* doc) {
        visitor.field({.name = name, .target = &seed, .range = at_least(0), .default_note = "the same as seed", .doc = doc});
    };
    visitor.begin({.name = "seeds", .flow = true,
                   .doc = "Seeds of parts of the randomness, to vary one of them alone: with `seeds: {data: 1, partition: 1}`, runs of many "
                          "seeds share their split, and the spread of their results is that of training. Each changes what it names and "
                          "nothing else."});
    part("data", seeds.data, "Drawn examples: data.format glyphs and synthetic.");
    part("partition", seeds.partition, "Which client holds which examples.");
    part("model", seeds.model, "Initial parameters, where model.init gives none.");
    part("sampling", seeds.sampling, "Who takes part, and when: cohorts, speeds and availability of devices, faults by rate.");
    part("training", seeds.training, "What happens inside local training: order of the examples, so which batches there are, and dropout.");
    visitor.end();
}

/// The tasks that have this metric.
std::vector<std::string> tasks_with(const std::string& metric) {
    std::vector<std::string> names;
    for (const clients::LearningTask& task : clients::task_catalog())
        if (task.metric(metric) != nullptr) names.push_back(task.name);
    return names;
}

void describe_stop(Visitor& visitor, RunConfig& run) {
    visitor.begin({.name = "stop", .flow = true, .doc = "Ends a run before its last round."});
    for (const clients::Metric& metric : clients::metric_catalog())
        visitor.field({.name = "test_" + metric.name, .target = &run.stop.test[metric.name], .range = metric.range,
                       .when = Condition{run.task, "task", tasks_with(metric.name)}, .default_note = "–", .may_change = true,
                       .doc = fmt::format("Stop after an evaluated round whose {} on the test examples{} is at {} this.{}", metric.meaning,
                                          metric.range.high == 1.0 ? ", a fraction," : "", metric.higher_is_better ? "least" : "most",
                                          metric.over_classes == 0 ? "" : fmt::format(" Only with more than {} classes.", metric.over_classes)) +
                              (metric.is_asked_for() ? " Only with that metric in evaluation.metrics." : "")});
    visitor.end();
}

void describe_task(Visitor& visitor, RunConfig& run) {
    const auto& catalog = clients::task_catalog();
    visitor.field({.name = "task", .target = &run.task, .choices = names_of(catalog),
                   .doc = "What is learned from the data, so the loss and the metrics: " + summaries_of(catalog) + " docs/data.md."});
}

void describe_model(Visitor& visitor, ModelConfig& model) {
    visitor.begin({.name = "model", .flow = true, .doc = "Which network is trained; its input and output sizes come from the data."});
    visitor.field({.name = "name", .target = &model.name, .choices = names_of(clients::model_catalog()), .required = true, .or_else = {"layers", "file"},
                   .doc = summaries_of(clients::model_catalog())});
    describe_keys(visitor, "name", model.name, model.values, choices_of(clients::model_catalog()));
    visitor.field({.name = "layers", .target = &model.layers, .when = Condition{model.name, "name", {}}, .default_note = "–",
                   .doc = "A network layer by layer, in place of a named one: `[flatten, {linear: 50}, relu, linear]`; the last layer gives a score for "
                          "each class, or the numbers of task regression. docs/models.md."});
    // Only if neither of the others is given.
    const Condition alone = model.name.empty() && !model.layers.empty() ? Condition{"a list", "layers", {}} : Condition{model.name, "name", {}};
    visitor.field({.name = "file", .target = &model.file, .when = alone, .default_note = "–", .may_change = true,
                   .doc = "A network that PyTorch has written with torch.export.save, in place of a named one; relative to the config file. It is read as data, "
                          "begins with its own weights where init names no others, and is trained on the CPU. docs/models.md."});
    visitor.field({.name = "file_sha256", .target = &model.file_sha256, .when = alone, .default_note = "that of the file",
                   .doc = "SHA-256 of model.file, in hex: another file is refused. The resolved config of a run has it, so that a run is resumed with the "
                          "file that it began with."});
    visitor.field({.name = "graph", .target = &model.graph, .choices = {"auto", "keep"}, .when = alone, .default_note = "auto",
                   .doc = "auto: where every operation of model.file is what a layer computes, the file is run as that list of layers, with its own names and "
                          "values, by every engine; by the graph alone, on any machine. keep: it is run operation by operation, by LibTorch. The two differ "
                          "in last bits and in dropout. docs/models.md."});
    visitor.field({.name = "frozen_norms", .target = &model.frozen_norms, .when = alone, .default_note = "false",
                   .doc = "The batch and instance norms of model.file were exported in eval() on purpose: they normalise by the file's running statistics, "
                          "which stay. Their weights are trained where they take a gradient. docs/models.md."});
    visitor.field({.name = "init", .target = &model.init, .default_note = "drawn from the seed",
                   .doc = "A safetensors file with the first global model, names and shapes as in model.safetensors; relative to the config file. "
                          "`fedhive run --init FILE` sets it."});
    visitor.field({.name = "frozen", .target = &model.frozen, .default_note = "–",
                   .doc = "Parameters that nobody trains, by patterns of their names as a shell has them: `[\"conv*\", fc1.weight]`; they keep the values of "
                          "init, of file, or those drawn. They live once, neither travel nor take slots. Trained by LibTorch. docs/models.md."});
    visitor.field({.name = "local", .target = &model.local, .default_note = "–",
                   .doc = "Parameters and buffers of which every client has its own, by patterns likewise: `[\"fc*\"]` (FedPer), `[\"bn*\"]` (FedBN). They are trained "
                          "with the rest, and never leave the client; what is left is averaged. Mode synchronous; evaluated on clients. docs/models.md."});
    visitor.end();
}

/// The loss of local training; left out, the task's own.
void describe_loss(Visitor& visitor, const std::string& task, Chosen& loss) {
    const auto& tasks = clients::task_catalog();
    const auto known = std::ranges::find(tasks, task, &clients::LearningTask::name);
    if (loss.name.empty() && known != tasks.end()) loss.name = known->losses.front();
    visitor.begin({.name = "loss", .flow = true,
                   .doc = "What local training minimises. Evaluations always report the task's own loss, so that runs can be compared."});
    visitor.field({.name = "name", .target = &loss.name, .choices = names_of(clients::loss_catalog()), .default_note = "the task's own",
                   .doc = summaries_of(clients::loss_catalog())});
    describe_keys(visitor, "name", loss.name, loss.values, choices_of(clients::loss_catalog()));
    visitor.end();
}

void describe_training(Visitor& visitor, const std::string& task, TrainingConfig& training) {
    Chosen& optimizer = training.optimizer;
    visitor.begin({.name = "training", .doc = "What a client does in a round."});
    visitor.field({.name = "cohort", .target = &training.cohort, .range = between(1, kMost), .default_note = "all clients",
                   .doc = "Clients asked to train in a round, at most partition.clients; give it or participation (|S|)."});
    visitor.field({.name = "participation", .target = &training.participation, .range = fraction(), .default_note = "–",
                   .doc = "The cohort as a fraction of all clients, rounded, at least one client; typically 0.1 (C)."});
    visitor.field({.name = "local_epochs", .target = &training.local_epochs, .range = between(1, kMost), .default_note = "`1`",
                   .doc = "Passes a client makes over its own examples in a round; typically 1–5; more drifts apart on skewed data (E)."});
    visitor.field({.name = "local_steps", .target = &training.local_steps, .range = between(1, kMost), .default_note = "–",
                   .doc = "In place of local_epochs: batches a client trains on in a round, as many for each client; where its examples are used up, "
                          "the next pass begins (τ)."});
    visitor.field({.name = "batch_size", .target = &training.batch_size, .range = between(1, kMost),
                   .doc = "Examples per local step; a client with fewer uses all it has (B)."});
    visitor.field({.name = "clients_per_slot", .target = &training.clients_per_slot, .range = between(1, 1 << 20), .empty_word = "auto", .may_change = true,
                   .doc = "Consecutive cohort members whose updates one slot sums, a power of two; above 1 for strategies that average only. auto: on "
                          "the CPU up to 16, fewer towards the end of the cohort, where it has 32 clients or more, or its updates would not fit into 16 MiB; otherwise "
                          "as many as clients_at_once, or, where a GPU trains a client by a thread block, a worker's share, up to 64. Never changes a result."});
    visitor.field({.name = "clients_at_once", .target = &training.clients_at_once, .range = between(1, 1 << 20),
                   .doc = "Clients of one slot that are trained in one batched step, a power of two, at most clients_per_slot where that is given; typically 16–64 for lr "
                          "and clients of tens of examples, 1 for other models on a CPU. Other values differ in the last bits and in dropout."});
    visitor.field({.name = "engine", .target = &training.engine, .choices = engine_choices(),
                   .doc = "What local steps and evaluations are computed by. direct: kernels of our own, several times as fast for small models on "
                          "the CPU; on a GPU one thread block a client, of which an example has to fit its shared memory. libtorch: every model, every device. "
                          "auto: direct where it has every layer of the model (clients_at_once 1, threads 1, not bf16, no mode that cuts the model; on a GPU neither tf32 "
                          "nor graph), else libtorch; it never depends on how fast a machine is. The two differ in the last bits and in dropout."});
    visitor.field({.name = "precision", .target = &training.precision, .choices = {"f32", "tf32", "bf16"},
                   .doc = "Of a local step's forward and backward pass; parameters, optimiser, updates and evaluation are f32 in any case. tf32: products "
                          "may round their inputs to 10 bits, on a GPU that can (on the CPU the same as f32); bf16: products and convolutions in "
                          "bfloat16 by autocast. Part of the experiment: each gives other bits."});
    visitor.field({.name = "graph", .target = &training.graph, .may_change = true,
                   .doc = "On a GPU: record a local step once for each size of a batch, as a CUDA graph, and run that; for small models, whose steps are "
                          "mostly launches. No effect on the CPU. With clients_at_once above 1 it is recorded once for each number of clients, "
                          "batches are filled up and clients that have ended are computed on, so the last bits and dropout differ from steps that "
                          "are not recorded, and a resumed run has to keep the value. All else holds for 1: it never changes a result."});
    visitor.field({.name = "clip_norm", .target = &training.clip_norm, .range = above(0), .default_note = "–",
                   .doc = "A local step's gradient that is longer is scaled down to this, as torch.nn.utils.clip_grad_norm_ does (arXiv:1211.5063); "
                          "typically 1–10."});
    visitor.begin({.name = "optimizer", .flow = true, .doc = "The client's optimiser; it starts fresh each round."});
    const auto& optimizers = aggregation::optimizer_catalog();
    visitor.field({.name = "name", .target = &optimizer.name, .choices = names_of(optimizers), .doc = summaries_of(optimizers)});
    describe_keys(visitor, "name", optimizer.name, optimizer.values, choices_of(optimizers));
    visitor.end();
    LrScheduleConfig& schedule = training.lr_schedule;
    visitor.begin({.name = "lr_schedule", .flow = true, .doc = "What becomes of optimizer.lr from round to round: in which a client is sent out."});
    const auto& schedules = lr_schedule_catalog();
    visitor.field({.name = "name", .target = &schedule.name, .choices = names_of(schedules), .doc = summaries_of(schedules)});
    visitor.field({.name = "warmup_rounds", .target = &schedule.warmup_rounds, .range = between(0, kMost),
                   .doc = "First rounds, in which the rate rises in equal steps to where the schedule begins (arXiv:1706.02677)."});
    describe_keys(visitor, "name", schedule.name, schedule.values, choices_of(schedules));
    visitor.end();
    describe_loss(visitor, task, training.loss);
    visitor.end();
}

void describe_sampling(Visitor& visitor, Chosen& sampling) {
    const auto& catalog = sampler_catalog();
    visitor.begin({.name = "sampling", .flow = true,
                   .doc = "Which clients form a cohort, of those that are idle and available; training.cohort says how many. docs/modes.md."});
    visitor.field({.name = "name", .target = &sampling.name, .choices = names_of(catalog), .doc = summaries_of(catalog)});
    describe_keys(visitor, "name", sampling.name, sampling.values, choices_of(catalog));
    visitor.end();
}

void describe_sampling(Visitor& visitor, Chosen& sampling) {
    const auto& catalog = sampler_catalog();
    visitor.begin({.name = "sampling", .flow = true,
                   .doc = "Which clients form a cohort, of those that are idle and available; training.cohort says how many. docs/modes.md."});
    visitor.field({.name = "name", .target = &sampling.name, .choices = names_of(catalog), .doc = summaries_of(catalog)});
    describe_keys(visitor, "name", sampling.name, sampling.values, choices_of(catalog));
    visitor.end();
}

void describe_strategy(Visitor& visitor, StrategyConfig& strategy) {
    std::string weighting = strategy.weighting == Weighting::Examples ? "examples" : "uniform";
    visitor.begin({.name = "strategy", .flow = true,
                   .doc = "How updates become the next global model: a named strategy, of which each part may be replaced by another one; their keys "
                          "stand beside them."});
    visitor.field({.name = "name", .target = &strategy.name, .choices = names_of(strategy_catalog()), .doc = "One of the strategies below."});
    visitor.field({.name = "weighting", .target = &weighting, .choices = {"examples", "uniform"}, .default_note = "the strategy's own",
                   .doc = "How much an update counts: examples, by its client's number of training examples (n_k); uniform, all alike."});
    strategy.weighting = weighting == "uniform" ? Weighting::Uniform : Weighting::Examples;
    strategy.parts = parts_of(strategy.name, std::move(strategy.parts));
    const auto part = [&](const char* key, Chosen& choice, const auto& catalog, const char* doc) {
        visitor.field({.name = key, .target = &choice.name, .choices = names_of(catalog), .default_note = "the strategy's own",
                       .doc = doc + summaries_of(catalog)});
        describe_keys(visitor, key, choice.name, choice.values, choices_of(catalog));
    };
    part("local", strategy.parts.local, local_rule_catalog(), "What clients minimise. ");
    part("aggregator", strategy.parts.aggregator, aggregation::aggregator_catalog(), "The rule that makes one update of a round's. ");
    part("server", strategy.parts.server, aggregation::server_optimizer_catalog(), "The server's step with it. ");
    visitor.end();
}

void describe_upload(Visitor& visitor, Chosen& step) {
    const auto& catalog = clients::upload_catalog();
    visitor.field({.name = "name", .target = &step.name, .choices = names_of(catalog), .required = true, .doc = summaries_of(catalog)});
    describe_keys(visitor, "name", step.name, step.values, choices_of(catalog));
}

void describe_mode(Visitor& visitor, ModeConfig& mode) {
    const auto& catalog = mode_catalog();
    visitor.begin({.name = "mode", .flow = true, .doc = "Who waits for whom; docs/modes.md tells what a round, a version and a client mean in each."});
    visitor.field({.name = "name", .target = &mode.name, .choices = names_of(catalog), .doc = summaries_of(catalog)});
    describe_keys(visitor, "name", mode.name, mode.values, choices_of(catalog));
    visitor.end();
}

void describe_failures(Visitor& visitor, FailuresConfig& failures) {
    visitor.begin({.name = "failures", .flow = true,
                   .doc = "A client whose worker dies, hangs, throws or returns numbers that are not finite. A client that runs out of memory is "
                          "tried again with fewer workers first, whatever the policy."});
    visitor.field({.name = "policy", .target = &failures.policy, .choices = {"abort", "drop", "retry"}, .may_change = true,
                   .doc = "abort: end the run and name the failure; drop: go on without the client's update, weights renormalised; retry: run the "
                          "client again, with the same bits as if it had not failed."});
    visitor.field({.name = "attempts", .target = &failures.attempts, .range = between(1, 1000), .may_change = true,
                   .doc = "With retry, times one client is tried in one round, then the run ends; with drop and retry the same for a chunk of "
                          "the evaluation."});
    visitor.field({.name = "min_updates", .target = &failures.min_updates, .range = between(1, kMost),
                   .doc = "A round with fewer accepted clients is skipped: it counts as a round, but the model stays."});
    visitor.field({.name = "deadline_s", .target = &failures.deadline_s, .range = {.low = 0, .high = 1e6, .low_excluded = true},
                   .empty_word = "auto", .may_change = true,
                   .doc = "Seconds that one client, or one chunk of the evaluation, may take before its worker counts as hung (or late, where "
                          "it is still making steps); so does a worker that does not answer for as long. auto: 30 s and twenty times "
                          "what the slowest step so far would make of it. A worker that is being started has 60 s, or this where it is "
                          "longer. Time while the coordinator is stopped does not count."});
    visitor.field({.name = "max_update_norm", .target = &failures.max_update_norm, .range = above(0), .default_note = "–",
                   .doc = "An update whose Euclidean norm is larger is refused as one with a NaN is."});
    visitor.end();
}

void describe_fault(Visitor& visitor, FaultConfig& fault) {
    const auto& catalog = clients::fault_catalog();
    visitor.field({.name = "kind", .target = &fault.kind, .choices = names_of(catalog), .required = true, .doc = summaries_of(catalog)});
    visitor.field({.name = "round", .target = &fault.round, .range = between(1, kMost), .default_note = "every round",
                   .doc = "As in rounds.csv, from 1."});
    visitor.field({.name = "client", .target = &fault.client, .range = between(0, kMost), .default_note = "every client",
                   .doc = "As in clients.csv, from 0."});
    visitor.field({.name = "rate", .target = &fault.rate, .range = fraction(),
                   .doc = "Probability for each matching client in each matching round, drawn from the seed."});
    visitor.field({.name = "attempts", .target = &fault.attempts, .choices = {"first", "all"},
                   .doc = "first: a client that is tried again succeeds; all: it fails again."});
    describe_keys(visitor, "kind", fault.kind, fault.values, choices_of(catalog));
}

void describe_clients_evaluation(Visitor& visitor, ClientsEvaluationConfig& clients) {
    visitor.begin({.name = "clients", .flow = true,
                   .doc = "On what each client holds out (data.partition.holdout): fairness.csv, docs/fairness.md."});
    visitor.field({.name = "every", .target = &clients.every, .range = between(1, kMost), .empty_word = "never",
                   .doc = "Rounds from one such evaluation to the next; the last round is always one of them, unless this is never."});
    visitor.field({.name = "sample", .target = &clients.sample, .range = between(1, kMost), .empty_word = "all",
                   .doc = "How many clients, drawn from the seed of sampling once for the whole run, so that rounds compare the same ones."});
    visitor.field({.name = "personalized", .target = &clients.personalized,
                   .doc = "Also evaluate, for each of them, the model that it makes of the global one in a local epoch on its own examples, which is "
                          "thrown away again (arXiv:1910.10252)."});
    visitor.end();
}

void describe_loop(Visitor& visitor, RunConfig& run) {
    describe_mode(visitor, run.mode);
    visitor.begin({.name = "evaluation", .doc = "The global model on examples that nobody trains on."});
    visitor.field({.name = "every", .target = &run.evaluation.every, .range = between(1, kMost),
                   .doc = "Rounds from one evaluation on the test examples to the next; the last round is always evaluated."});
    visitor.field({.name = "chunk_size", .target = &run.evaluation.chunk_size, .range = between(1, kMost),
                   .doc = "Examples per forward pass; smaller takes less memory. Can change the last bit of a metric."});
    visitor.field({.name = "metrics", .target = &run.evaluation.metrics, .choices = clients::asked_metric_names(), .default_note = "–",
                   .doc = "Metrics besides the task's usual ones, each a column at the end of rounds.csv: `[macro_f1]`."});
    visitor.field({.name = "confusion", .target = &run.evaluation.confusion,
                   .doc = "Writes confusion.csv: for each evaluated round, how many test examples of each class were taken for which class."});
    describe_clients_evaluation(visitor, run.evaluation.clients);
    visitor.end();
    describe_stop(visitor, run);
    describe_failures(visitor, run.failures);
    visitor.begin({.name = "checkpoint", .flow = true, .doc = "What `fedhive run --resume` and `fedhive replay` start from."});
    visitor.field({.name = "every", .target = &run.checkpoint.every, .range = between(1, kMost), .empty_word = "auto", .may_change = true,
                   .doc = "Rounds from one checkpoint to the next; auto writes after the first round, then once a second, or less often where that would cost more than a fiftieth of the time. One is written "
                          "at the end and after Ctrl-C in any case. Never changes a result: a resumed run repeats the rounds since."});
    visitor.field({.name = "keep", .target = &run.checkpoint.keep, .range = between(2, kMost), .may_change = true,
                   .doc = "Newest checkpoints that stay; with two, a damaged one falls back to the one before."});
    visitor.end();
    visitor.items({.name = "faults",
                   .doc = "Failures to inject, to study dropouts or to test a setup; each fires where its round, client and rate match, the "
                          "first in the list that does.",
                   .size = [&run] { return run.faults.size(); },
                   .resize = [&run](std::size_t size) { run.faults.assign(size, {}); },
                   .item = [&run](Visitor& each, std::size_t index) { describe_fault(each, run.faults[index]); },
                   .example = [](Visitor& each) { FaultConfig fault; describe_fault(each, fault); }});
}

// clang-format on

}  // namespace

bool Condition::holds() const {
    if (values.empty()) return value.empty();
    return std::find(values.begin(), values.end(), value) != values.end();
}

void describe_keys(Visitor& visitor, const std::string& chooser, const std::string& chosen, Values& values,
                   const std::vector<Choice>& choices) {
    Values complete;
    std::vector<std::pair<const KeySpec*, std::vector<std::string>>> shown;  // with the choices that have the key
    for (const Choice& choice : choices) {
        for (const KeySpec& key : *choice.keys) {
            const auto same = std::find_if(shown.begin(), shown.end(), [&](const auto& one) {
                return one.first->name == key.name && one.first->doc == key.doc;
            });
            if (same != shown.end())
                same->second.push_back(choice.name);
            else
                shown.push_back({&key, {choice.name}});
        }
    }
    for (const auto& [key, owners] : shown) {
        const bool applies = std::find(owners.begin(), owners.end(), chosen) != owners.end();
        const KeyValue* given = applies ? values.find(key->name) : nullptr;
        KeyValue value = given != nullptr ? *given : key->default_value;
        std::optional<Condition> when;
        if (owners.size() < choices.size()) when = Condition{chosen, chooser, owners};
        if (key->with) {
            const KeyValue* companion = applies ? complete.find(key->with->key) : nullptr;
            when = Condition{companion != nullptr ? std::get<std::string>(*companion) : "", key->with->key, key->with->values};
        }
        visitor.field({.name = key->name,
                       .target = std::visit([](auto& typed) { return Target(&typed); }, value),
                       .range = key->range,
                       .choices = key->choices,
                       .when = when,
                       .required = key->required,
                       .empty_word = key->empty_word,
                       .default_note = key->default_note,
                       .may_change = key->may_change,
                       .doc = key->doc});
        if (applies) complete.set(key->name, value);
    }
    values = complete;
}

void describe(Visitor& visitor, RunConfig& run) {
    describe_run(visitor, run);
    describe_task(visitor, run);
    describe_seeds(visitor, run.seeds);
    describe_data(visitor, run.data);
    describe_model(visitor, run.model);
    describe_training(visitor, run.task, run.training);
    describe_sampling(visitor, run.sampling);
    describe_strategy(visitor, run.strategy);
    visitor.items(
        {.name = "upload",
         .doc = "What happens to a client's update on its way to the server, step after step; nothing, where it is left out. "
                "docs/strategies.md.",
         .size = [&run] { return run.upload.size(); },
         .resize = [&run](std::size_t size) { run.upload.assign(size, {}); },
         .item = [&run](Visitor& each, std::size_t index) { describe_upload(each, run.upload[index]); },
         .example =
             [](Visitor& each) {
                 Chosen step;
                 describe_upload(each, step);
             }});
    describe_loop(visitor, run);
    describe_devices(visitor, run);
}

}  // namespace fedhive::sim
