#include "sim/config/fields.h"

#include "aggregation/attacks/attack_catalog.h"
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/client_optimizer.h"
#include "clients/models/catalog.h"
#include "clients/protocol/fault.h"
#include "clients/tasks/learning_task.h"
#include "clients/tasks/loss.h"
#include "clients/tasks/measures.h"
#include "clients/uploads/upload.h"
#include "sim/modes/mode_spec.h"
#include "sim/schedules/lr_schedule.h"
#include "sim/selection/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fedhive::sim {

namespace {

// Two lines a key read better than six.
// clang-format off
void describe_run(Visitor& visitor, RunConfig& run) {
    visitor.field({.name = "name", .target = &run.name, .default_note = "the file's name without `.yaml`",
                   .doc = "Name of the run and of its folder under results/runs: letters, digits, `.`, `_` and `-`."});
    visitor.field({.name = "seed", .target = &run.seed, .range = at_least(0),
                   .doc = "Seed of all random streams: data, partition, initial model, cohorts, batches, dropout. `seeds` sets the seed of single parts."});
    visitor.field({.name = "rounds", .target = &run.rounds, .range = between(1, kMost), .may_change = true,
                   .doc = "Number of rounds (T). A round samples a cohort, trains it, aggregates its updates and takes a server step."});
    visitor.field({.name = "device", .target = &run.device,
                   .doc = "Device that stores parameters and trains clients. auto: cuda if a usable GPU is found, else cpu."});
    visitor.field({.name = "workers", .target = &run.workers, .range = between(0, 1024), .empty_word = "auto", .may_change = true,
                   .doc = "Number of processes that train clients. auto: for a long run the number that a short probe finds fastest, else one per usable core divided by threads, at most one per slot. 0: the coordinator trains, for debugging. Never changes a result."});
    visitor.field({.name = "mps", .target = &run.mps, .may_change = true,
                   .doc = "NVIDIA's Multi-Process Service lets workers use the GPU at the same time; the run starts its own daemon. auto: on if the probe finds it faster. Never changes a result."});
    visitor.field({.name = "threads", .target = &run.threads, .range = between(1, 1024),
                   .doc = "Threads in each worker; 1 is best if there are at least as many clients as cores. Can change the last bits of a result."});
    visitor.field({.name = "client_state", .target = &run.client_state, .may_change = true,
                   .doc = "Where per-client state (control variates, residuals, docs/strategies.md) is stored. memory: in main memory; file: in an unlinked temporary file on the disk of the run's folder, which may exceed main memory and disappears when the run ends. Never changes a result."});
    visitor.field({.name = "clock", .target = &run.clock,
                   .doc = "virtual: updates arrive in the order of simulated time, so results are the same for any number of workers; wall: updates arrive in the order in which workers really finish."});
    visitor.field({.name = "arrivals", .target = &run.arrivals, .when = Condition{word_of(run.clock), "clock", {word_of(Clock::Wall)}}, .default_note = "in the order of real time",
                   .doc = "Replays arrivals.csv of an earlier run of the same experiment: updates arrive in the recorded order, which reproduces that run bit for bit. Relative to the config file. `fedhive run --arrivals FILE` sets it."});
}

void describe_seeds(Visitor& visitor, SeedsConfig& seeds) {
    const auto part = [&](const char* name, std::optional<std::uint64_t>& seed, const char* doc) {
        visitor.field({.name = name, .target = &seed, .range = at_least(0), .default_note = "the value of seed", .doc = doc});
    };
    visitor.begin({.name = "seeds", .flow = true,
                   .doc = "Seeds of single parts of the randomness. Each key changes only the part that it names. With `seeds: {data: 1, partition: 1}`, runs with different `seed` share one split of the data, and only training varies between them."});
    part("data", seeds.data, "Generated examples: data.format glyphs and the synthetic formats.");
    part("partition", seeds.partition, "The split of the examples among clients.");
    part("model", seeds.model, "Initial parameters, if model.init is not given.");
    part("sampling", seeds.sampling, "Participation: cohorts, speeds and availability of devices, faults with a rate.");
    part("training", seeds.training, "Local training: order of the examples, and so the batches, and dropout.");
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
    visitor.begin({.name = "stop", .flow = true, .doc = "Conditions that end a run before its last round."});
    for (const clients::Metric& metric : clients::metric_catalog())
        visitor.field({.name = "test_" + metric.name, .target = &run.stop.test[metric.name], .range = metric.range,
                       .when = Condition{run.task, "task", tasks_with(metric.name)}, .default_note = "–", .may_change = true,
                       .doc = fmt::format("Stops after an evaluated round if {} on the test examples{} is at {} this value.{}", metric.meaning,
                                          metric.range.high == 1.0 ? ", a fraction," : "", metric.higher_is_better ? "least" : "most",
                                          metric.over_classes == 0 ? "" : fmt::format(" Needs more than {} classes.", metric.over_classes)) +
                              (metric.is_asked_for() ? " Only with that metric in evaluation.metrics." : "")});
    visitor.end();
}

void describe_task(Visitor& visitor, RunConfig& run) {
    const auto& catalog = clients::task_catalog();
    visitor.field({.name = "task", .target = &run.task, .choices = names_of(catalog),
                   .doc = "The learning task; it decides the loss and the metrics: " + summaries_of(catalog) + " docs/data.md."});
}

void describe_model(Visitor& visitor, ModelConfig& model) {
    visitor.begin({.name = "model", .flow = true, .doc = "The network that is trained. Its input and output sizes come from the data."});
    visitor.field({.name = "name", .target = &model.name, .choices = names_of(clients::model_catalog()), .required = true, .or_else = {"layers", "file"},
                   .doc = summaries_of(clients::model_catalog())});
    describe_keys(visitor, "name", model.name, model.values, choices_of(clients::model_catalog()));
    visitor.field({.name = "layers", .target = &model.layers, .when = Condition{model.name, "name", {}}, .default_note = "–",
                   .doc = "A network as a list of layers, instead of name: `[flatten, {linear: 50}, relu, linear]`. The last layer gives a score for each class, or the numbers of task regression. docs/models.md."});
    // Only if neither of the others is given.
    const Condition alone = model.name.empty() && !model.layers.empty() ? Condition{"a list", "layers", {}} : Condition{model.name, "name", {}};
    visitor.field({.name = "file", .target = &model.file, .when = alone, .default_note = "–", .may_change = true,
                   .doc = "A network file written by PyTorch's torch.export.save, instead of name; relative to the config file. The file is read as data, not run as code. Training begins with the file's weights unless init names others, and runs on the CPU. docs/models.md."});
    visitor.field({.name = "file_sha256", .target = &model.file_sha256, .when = alone, .default_note = "computed from the file",
                   .doc = "SHA-256 of model.file in hex; a file with another hash is refused. The resolved config of a run stores it, so that a resumed run uses the same file."});
    visitor.field({.name = "graph", .target = &model.graph, .when = alone, .default_note = "auto",
                   .doc = "auto: if a list of layers computes every operation of model.file, any engine runs the file as that list, with the file's names and values; the choice depends only on the file, not on the machine. keep: LibTorch runs the file operation by operation. The two differ in the last bits and in dropout. docs/models.md."});
    visitor.field({.name = "frozen_norms", .target = &model.frozen_norms, .when = alone, .default_note = "false",
                   .doc = "true: the batch and instance norms of model.file were exported in eval() on purpose. They normalise by the file's running statistics, which stay fixed; their weights are trained if they need a gradient. docs/models.md."});
    visitor.field({.name = "init", .target = &model.init, .default_note = "drawn from the seed",
                   .doc = "A safetensors file with the initial global model, with names and shapes as in model.safetensors; relative to the config file. `fedhive run --init FILE` sets it."});
    visitor.field({.name = "frozen", .target = &model.frozen, .default_note = "–",
                   .doc = R"(Parameters that are not trained, as shell patterns of their names: `["conv*", fc1.weight]`. They keep the values from init, from file, or drawn from the seed. They are stored once, are not sent and take no slot. Needs engine libtorch. docs/models.md.)"});
    visitor.field({.name = "local", .target = &model.local, .default_note = "–",
                   .doc = R"(Parameters and buffers that stay on each client, as shell patterns of their names: `["fc*"]` (FedPer), `["bn*"]` (FedBN). A client trains them with the rest and never sends them; only the other parameters are averaged. Needs mode synchronous and evaluation.clients. docs/models.md.)"});
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
    visitor.begin({.name = "training", .doc = "Local training of a client in a round."});
    visitor.field({.name = "cohort", .target = &training.cohort, .range = between(1, kMost), .default_note = "all clients",
                   .doc = "Number of clients that train in a round (|S|), at most partition.clients. Give cohort or participation."});
    visitor.field({.name = "participation", .target = &training.participation, .range = fraction(), .default_note = "–",
                   .doc = "The cohort as a fraction of all clients (C), rounded, at least one client; typically 0.1."});
    visitor.field({.name = "local_epochs", .target = &training.local_epochs, .range = between(1, kMost), .default_note = "`1`",
                   .doc = "Passes of a client over its own examples in a round (E); typically 1–5. With more passes, clients drift apart on skewed data."});
    visitor.field({.name = "local_steps", .target = &training.local_steps, .range = between(1, kMost), .default_note = "–",
                   .doc = "Instead of local_epochs: the number of batches that each client trains on in a round (τ). After its last example, a client begins the next pass."});
    visitor.field({.name = "batch_size", .target = &training.batch_size, .range = between(1, kMost),
                   .doc = "Examples per local step (B); a client with fewer examples uses all of them."});
    visitor.field({.name = "clients_per_slot", .target = &training.clients_per_slot, .range = between(1, 1 << 20), .empty_word = "auto", .may_change = true,
                   .doc = "Number of consecutive cohort members whose updates one slot sums, a power of two. Above 1 only for strategies that only average. auto: on the CPU up to 16, fewer towards the end of the cohort, if the cohort has 32 clients or more or its updates exceed 16 MiB; if a GPU thread block trains a client, a worker's share, up to 64; otherwise clients_at_once. Never changes a result."});
    visitor.field({.name = "clients_at_once", .target = &training.clients_at_once, .range = between(1, 1 << 20),
                   .doc = "Number of clients of one slot that one batched step trains together, a power of two, at most clients_per_slot if that is given. Typically 16–64 for model lr and clients with tens of examples, 1 for other models on a CPU. Results of different values differ in the last bits and in dropout."});
    visitor.field({.name = "engine", .target = &training.engine, .empty_word = "auto",
                   .doc = "Engine that computes local steps and evaluations. direct: fedhive's own kernels, several times as fast for small models on the CPU; on a GPU one thread block trains one client, and the values of one example must fit into its shared memory. libtorch: every model, every device. auto: direct if it supports every layer of the model, with clients_at_once 1, threads 1, no bf16 and no mode that cuts the model, and on a GPU without tf32 and graph; else libtorch. The choice never depends on the speed of a machine. The two engines differ in the last bits and in dropout."});
    visitor.field({.name = "precision", .target = &training.precision,
                   .doc = "Precision of the forward and backward pass of a local step; parameters, optimiser, updates and evaluation are always f32. tf32: products may round their inputs to 10 bits on a GPU that supports it (on the CPU the same as f32). bf16: autocast computes products and convolutions in bfloat16. The precision changes results."});
    visitor.field({.name = "graph", .target = &training.graph, .may_change = true,
                   .doc = "On a GPU: records a local step as a CUDA graph, once for each batch size, and replays it. This helps small models, whose steps are mostly kernel launches. No effect on the CPU. With clients_at_once 1 it never changes a result. Above 1 a step is recorded once for each number of clients, with padded batches and with clients that have already finished; then the last bits and dropout differ from unrecorded steps, and a resumed run must keep the value."});
    visitor.field({.name = "clip_norm", .target = &training.clip_norm, .range = above(0), .default_note = "–",
                   .doc = "Largest Euclidean norm of a local step's gradient; a longer gradient is scaled down to it, as torch.nn.utils.clip_grad_norm_ does (arXiv:1211.5063); typically 1–10."});
    visitor.field({.name = "measure", .target = &training.measure, .choices = clients::measure_names(), .default_note = "–",
                   .doc = "What each client measures of the model that it is sent, in a pass over its training examples before it trains: `[loss, accuracy]`. Each is a column sent_loss, sent_accuracy, … at the end of clients.csv. The model that it trains keeps its bits. docs/training.md."});
    visitor.begin({.name = "optimizer", .flow = true, .doc = "The client's optimiser. Its state starts anew in each round."});
    const auto& optimizers = aggregation::optimizer_catalog();
    visitor.field({.name = "name", .target = &optimizer.name, .choices = names_of(optimizers), .doc = summaries_of(optimizers)});
    describe_keys(visitor, "name", optimizer.name, optimizer.values, choices_of(optimizers));
    visitor.end();
    LrScheduleConfig& schedule = training.lr_schedule;
    visitor.begin({.name = "lr_schedule", .flow = true, .doc = "How optimizer.lr changes with the round in which a client starts to train."});
    const auto& schedules = lr_schedule_catalog();
    visitor.field({.name = "name", .target = &schedule.name, .choices = names_of(schedules), .doc = summaries_of(schedules)});
    visitor.field({.name = "warmup_rounds", .target = &schedule.warmup_rounds, .range = between(0, kMost),
                   .doc = "Number of first rounds in which the rate rises in equal steps to the first rate of the schedule (arXiv:1706.02677)."});
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

void describe_upload(Visitor& visitor, Chosen& step) {
    const auto& catalog = clients::upload_catalog();
    visitor.field({.name = "name", .target = &step.name, .choices = names_of(catalog), .required = true, .doc = summaries_of(catalog)});
    describe_keys(visitor, "name", step.name, step.values, choices_of(catalog));
}

void describe_download(Visitor& visitor, Chosen& step) {
    const auto& catalog = clients::download_catalog();
    visitor.field({.name = "name", .target = &step.name, .choices = names_of(catalog), .required = true, .doc = "As the steps of `upload` of these names, with the same keys; error_feedback: the next step compresses what the model has changed by since what clients have, so what it loses is sent later."});
    describe_keys(visitor, "name", step.name, step.values, choices_of(catalog));
}

void describe_attack(Visitor& visitor, Chosen& attack) {
    const auto& catalog = aggregation::attack_catalog();
    visitor.begin({.name = "attack", .flow = true,
                   .doc = "Colluding clients that see all honest updates of a round. The server gets the attack's vector in place of each of their own updates, before it weighs updates. Only in mode synchronous. Steps of `upload` are attacks of clients that see only their own update. docs/strategies.md."});
    visitor.field({.name = "name", .target = &attack.name, .choices = names_of(catalog), .doc = summaries_of(catalog)});
    describe_keys(visitor, "name", attack.name, attack.values, choices_of(catalog));
    visitor.end();
}

void describe_privacy(Visitor& visitor, PrivacyConfig& privacy) {
    visitor.begin({.name = "privacy", .flow = true,
                   .doc = "The accountant of differential privacy of clients, for an upload chain that ends with clip and gaussian_noise, or the server dp_ftrl: the column `epsilon` of rounds.csv, and the noise that a given ε needs. docs/privacy.md says what is assumed."});
    visitor.field({.name = "epsilon", .target = &privacy.epsilon, .range = above(0), .default_note = "–",
                   .doc = "Largest ε after all rounds, typically 1–10. The multiplier of gaussian_noise or dp_ftrl, left out, becomes the smallest one that keeps it; a given one that is too small is refused (ε)."});
    visitor.field({.name = "delta", .target = &privacy.delta, .range = {.low = 0, .high = 1, .low_excluded = true, .high_excluded = true}, .default_note = "–",
                   .doc = "Probability with which ε may be exceeded; well below 1 / clients, typically 1e-5 (δ)."});
    visitor.end();
}

void describe_mode(Visitor& visitor, ModeConfig& mode) {
    const auto& catalog = mode_catalog();
    visitor.begin({.name = "mode", .flow = true, .doc = "When the server waits for which clients. docs/modes.md defines a round, a version and a client in each mode."});
    visitor.field({.name = "name", .target = &mode.name, .choices = names_of(catalog), .doc = summaries_of(catalog)});
    describe_keys(visitor, "name", mode.name, mode.values, choices_of(catalog));
    visitor.end();
}

void describe_failures(Visitor& visitor, FailuresConfig& failures) {
    visitor.begin({.name = "failures", .flow = true,
                   .doc = "What happens when a client's worker dies, hangs, throws or returns numbers that are not finite. With every policy, a client that runs out of memory is first tried again with fewer workers."});
    visitor.field({.name = "policy", .target = &failures.policy, .may_change = true,
                   .doc = "abort: ends the run and names the failure; drop: goes on without the client's update and renormalises the weights (the server's own client, data.root_examples, is tried again instead); retry: trains the client again, with the same result as without the failure."});
    visitor.field({.name = "attempts", .target = &failures.attempts, .range = between(1, 1000), .may_change = true,
                   .doc = "With retry: how often a client is tried in one round before the run ends. With drop and retry: the same for a chunk of the evaluation, and for the server's own client."});
    visitor.field({.name = "min_updates", .target = &failures.min_updates, .range = between(1, kMost),
                   .doc = "A round with fewer accepted updates is skipped: it counts as a round, but the model does not change."});
    visitor.field({.name = "deadline_s", .target = &failures.deadline_s, .range = {.low = 0, .high = 1e6, .low_excluded = true},
                   .empty_word = "auto", .may_change = true,
                   .doc = "Seconds that one client or one chunk of the evaluation may take. After that its worker counts as hung, or as late if it is still making steps. A worker that does not answer for this time counts as hung, too. auto: 30 s plus twenty times the time that the slowest step so far predicts. A starting worker has 60 s, or this time if it is longer. Time while the coordinator is stopped does not count."});
    visitor.field({.name = "max_update_norm", .target = &failures.max_update_norm, .range = above(0), .default_note = "–",
                   .doc = "Largest Euclidean norm of a client's update; a larger update is refused like one with a NaN."});
    visitor.end();
}

void describe_fault(Visitor& visitor, FaultConfig& fault) {
    const auto& catalog = clients::fault_catalog();
    visitor.field({.name = "kind", .target = &fault.kind, .choices = names_of(catalog), .required = true, .doc = summaries_of(catalog)});
    visitor.field({.name = "round", .target = &fault.round, .range = between(1, kMost), .default_note = "every round",
                   .doc = "The round, counted from 1 as in rounds.csv."});
    visitor.field({.name = "client", .target = &fault.client, .range = between(0, kMost), .default_note = "every client",
                   .doc = "The client, counted from 0 as in clients.csv; the number of clients stands for the server's own, with data.root_examples. Without this key: every client, but not the server's."});
    visitor.field({.name = "rate", .target = &fault.rate, .range = fraction(),
                   .doc = "Probability of the fault for each matching client in each matching round, drawn from the seed."});
    visitor.field({.name = "attempts", .target = &fault.attempts,
                   .doc = "first: only the first attempt fails; all: every attempt fails."});
    describe_keys(visitor, "kind", fault.kind, fault.values, choices_of(catalog));
}

void describe_clients_evaluation(Visitor& visitor, ClientsEvaluationConfig& clients) {
    visitor.begin({.name = "clients", .flow = true,
                   .doc = "Evaluation on the examples that each client holds out (data.partition.holdout): fairness.csv, docs/fairness.md."});
    visitor.field({.name = "every", .target = &clients.every, .range = between(1, kMost), .empty_word = "never",
                   .doc = "Number of rounds between two such evaluations; the last round is always evaluated, unless this is never."});
    visitor.field({.name = "sample", .target = &clients.sample, .range = between(1, kMost), .empty_word = "all",
                   .doc = "Number of clients that are evaluated. They are drawn once per run from the seed of sampling, so that all rounds compare the same clients."});
    visitor.field({.name = "personalized", .target = &clients.personalized,
                   .doc = "true: also evaluates the personalized model of each client: what `judge` of strategy.file makes; else the global model after one local epoch on the client's own examples (arXiv:1910.10252), which is discarded afterwards."});
    visitor.end();
}

void describe_loop(Visitor& visitor, RunConfig& run) {
    describe_mode(visitor, run.mode);
    visitor.begin({.name = "evaluation", .doc = "Evaluation of the global model on the test examples, and of models on clients."});
    visitor.field({.name = "every", .target = &run.evaluation.every, .range = between(1, kMost),
                   .doc = "Number of rounds between two evaluations on the test examples; the last round is always evaluated."});
    visitor.field({.name = "chunk_size", .target = &run.evaluation.chunk_size, .range = between(1, kMost),
                   .doc = "Examples per forward pass; a smaller number needs less memory. Can change the last bits of a metric."});
    visitor.field({.name = "metrics", .target = &run.evaluation.metrics, .choices = clients::asked_metric_names(), .default_note = "–",
                   .doc = "Metrics besides the task's usual ones, each a column at the end of rounds.csv: `[macro_f1]`."});
    visitor.field({.name = "confusion", .target = &run.evaluation.confusion,
                   .doc = "Writes confusion.csv: of the last evaluation, the number of test targets for each pair of label and predicted class."});
    describe_clients_evaluation(visitor, run.evaluation.clients);
    visitor.end();
    describe_stop(visitor, run);
    describe_failures(visitor, run.failures);
    visitor.begin({.name = "checkpoint", .flow = true, .doc = "What `fedhive run --resume` and `fedhive replay` start from."});
    visitor.field({.name = "every", .target = &run.checkpoint.every, .range = between(1, kMost), .empty_word = "auto", .may_change = true,
                   .doc = "Number of rounds between two checkpoints. auto: after the first round, then once a second, or less often if that would take more than 1/50 of the time. A checkpoint is always written at the end and after Ctrl-C. Never changes a result: a resumed run repeats the rounds after the checkpoint."});
    visitor.field({.name = "keep", .target = &run.checkpoint.keep, .range = between(2, kMost), .may_change = true,
                   .doc = "Number of newest checkpoints to keep; with two, a run can be resumed from the older one if the newest is damaged."});
    visitor.end();
    visitor.items({.name = "faults",
                   .doc = "Failures to inject, to study dropouts or to test a setup. The first fault in the list whose round, client and rate match fires.",
                   .size = [&run] { return run.faults.size(); },
                   .resize = [&run](std::size_t size) { run.faults.assign(size, {}); },
                   .item = [&run](Visitor& each, std::size_t index) { describe_fault(each, run.faults[index]); },
                   .example = [](Visitor& each) { FaultConfig fault; describe_fault(each, fault); }});
}

// clang-format on

}  // namespace

std::vector<std::string> Field::words() const {
    const auto* of_enum = std::get_if<WordRef>(&target);
    if (of_enum == nullptr) return choices;
    std::vector<std::string> all = of_enum->words;
    if (!empty_word.empty()) all.insert(all.begin(), empty_word);
    return all;
}

std::vector<std::string> Field::read_words() const {
    std::vector<std::string> all = words();
    all.insert(all.end(), also.begin(), also.end());
    return all;
}

std::string Field::numbers() const { return empty_word.empty() ? range.text() : empty_word + ", " + range.text(); }

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
    visitor.items({.name = "upload",
                   .doc = "Steps that process a client's update on its way to the server, in their order. If it is left out, "
                          "updates stay unchanged. docs/strategies.md.",
                   .size = [&run] { return run.upload.size(); },
                   .resize = [&run](std::size_t size) { run.upload.assign(size, {}); },
                   .item = [&run](Visitor& each, std::size_t index) { describe_upload(each, run.upload[index]); },
                   .example =
                       [](Visitor& each) {
                           Chosen step;
                           describe_upload(each, step);
                       }});
    visitor.items({.name = "download",
                   .doc =
                       "Steps that compress the model that the server sends, once a round, in their order: all clients of the "
                       "round train from what they decompress, and the server keeps its exact model, which is evaluated and "
                       "stored. Only in mode synchronous. If it is left out, the model is sent as it is. docs/strategies.md.",
                   .size = [&run] { return run.download.size(); },
                   .resize = [&run](std::size_t size) { run.download.assign(size, {}); },
                   .item = [&run](Visitor& each, std::size_t index) { describe_download(each, run.download[index]); },
                   .example =
                       [](Visitor& each) {
                           Chosen step;
                           describe_download(each, step);
                       }});
    describe_attack(visitor, run.attack);
    describe_privacy(visitor, run.privacy);
    describe_loop(visitor, run);
    describe_devices(visitor, run);
}

}  // namespace fedhive::sim
