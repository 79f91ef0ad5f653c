#include "sim/config/rules.h"

#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/math/client_optimizer.h"
#include "clients/data/data_format.h"
#include "clients/data/partition.h"
#include "clients/tasks/learning_task.h"
#include "clients/tasks/loss.h"
#include "sim/config/attack_rules.h"
#include "sim/config/download_rules.h"
#include "sim/config/fields.h"
#include "sim/config/local_part_rules.h"
#include "sim/config/measure_rules.h"
#include "sim/config/method_rules.h"
#include "sim/config/mistakes.h"
#include "sim/config/privacy.h"
#include "sim/config/root_rules.h"
#include "sim/config/sampling_rules.h"
#include "sim/config/tree_noise_rules.h"
#include "sim/config/upload_rules.h"
#include "sim/config/visit_rules.h"
#include "sim/modes/mode_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <utility>

namespace fedhive::sim {

namespace {

bool contains(const std::vector<std::string>& words, const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

/// "synchronous": the modes in which clients may share slots.
std::string whole_cohort_modes() {
    std::vector<std::string> names;
    for (const ModeSpec& mode : mode_catalog())
        if (mode.whole_cohort) names.push_back(mode.name);
    return fmt::format("{}", fmt::join(names, " or "));
}

void report(const std::string& section, const std::optional<KeyProblem>& problem, const ConfigSource& source) {
    if (problem) throw source.error(fmt::format("{}.{}", section, problem->key), problem->text);
}

void check_data(const DataConfig& data, const ConfigSource& source) {
    const std::size_t means = data.normalize.mean.size();
    const std::size_t stds = data.normalize.std.size();
    if (means != stds)
        throw source.error(means > stds ? "data.normalize.mean" : "data.normalize.std",
                           fmt::format("mean has {} numbers, std has {}; give both the same number", means, stds));

    if (const auto check = clients::data_format(data.format).check) report("data", check(data.values), source);
    if (const auto check = clients::partition_scheme(data.partition.scheme).check)
        report("data.partition", check(data.partition.values, data.partition.clients.value_or(1)), source);
}

/// Checks that the loss is one of the task's, and its keys.
void check_loss(const RunConfig& run, const ConfigSource& source) {
    const std::vector<std::string>& allowed = clients::learning_task(run.task).losses;
    const Chosen& loss = run.training.loss;
    if (!contains(allowed, loss.name))
        throw source.error("training.loss.name", fmt::format("task '{}' has no loss '{}'; allowed for this task: {}", run.task,
                                                             loss.name, fmt::join(allowed, ", ")));
    if (const auto check = clients::loss_spec(loss.name).check) report("training.loss", check(loss.values), source);
}

/// Checks that the metrics asked for are the task's, and those of targets are there.
void check_metrics(const RunConfig& run, const ConfigSource& source) {
    const clients::LearningTask& task = clients::learning_task(run.task);
    std::vector<std::string> allowed;
    for (const clients::Metric& metric : task.metrics)
        if (metric.is_asked_for()) allowed.push_back(metric.name);
    const std::string of_classes = "task '{}' has no {}; allowed: classification or next_token, whose targets are classes";
    for (std::size_t i = 0; i < run.evaluation.metrics.size(); ++i)
        if (!contains(allowed, run.evaluation.metrics[i]))
            throw source.error(fmt::format("evaluation.metrics[{}]", i),
                               fmt::format(fmt::runtime(of_classes), run.task, run.evaluation.metrics[i]));
    if (run.evaluation.confusion && allowed.empty())
        throw source.error("evaluation.confusion", fmt::format(fmt::runtime(of_classes), run.task, "confusion counts"));
    if (run.evaluation.confusion && run.model.has_local_part())
        throw source.error("evaluation.confusion",
                           "counts predictions of the global model, but with model.local there is none to test; set false");
    for (const std::string& name : allowed)
        if (run.stop.test.of(name) && !contains(run.evaluation.metrics, name))
            throw source.error("stop.test_" + name, fmt::format("needs the metric; add evaluation.metrics: [{}]", name));
}

/// Checks that task and data have the same kind of targets.
void check_task(const RunConfig& run, const ConfigSource& source) {
    const clients::LearningTask& task = clients::learning_task(run.task);
    const auto go_together = [](const clients::LearningTask& one, const clients::DataFormat& format) {
        return std::ranges::any_of(format.targets, [&](clients::TargetKind kind) { return one.takes(kind); });
    };
    const clients::DataFormat& given = clients::data_format(run.data.format);
    if (go_together(task, given)) return;
    std::vector<std::string> tasks, formats;
    for (const clients::LearningTask& one : clients::task_catalog())
        if (go_together(one, given)) tasks.push_back(one.name);
    for (const clients::DataFormat& format : clients::data_catalog())
        if (go_together(task, format)) formats.push_back(format.name);
    throw source.error(
        "task",
        fmt::format(
            "task '{}' needs {} as target, data.format '{}' has {}; allowed for this format: {}; or choose data.format: {}",
            task.name, text_of(task.targets.front()), given.name, text_of(given.targets.front()), fmt::join(tasks, ", "),
            fmt::join(formats, ", ")));
}

/// If every client trains on all examples, holding some out at one client has no effect.
void check_holdout(const RunConfig& run, const ConfigSource& source) {
    const ModeSpec& spec = mode_spec(run.mode.name);
    const auto cohort = static_cast<std::size_t>(run.cohort_size());
    const bool own = spec.build({.values = completed(run.mode.values, spec.keys), .cohort = cohort}).pass == PassExamples::Own;
    if (run.data.partition.holdout > 0.0 && !own)
        throw source.error("data.partition.holdout",
                           fmt::format("in mode {} every client trains on all examples, so none can be held out; allowed: 0, "
                                       "or a mode whose clients train on their own examples",
                                       spec.name));
}

void check_evaluation(const RunConfig& run, const ConfigSource& source) {
    const ClientsEvaluationConfig& on_clients = run.evaluation.clients;
    if (on_clients.every && run.data.partition.holdout == 0.0)
        throw source.error("evaluation.clients.every",
                           "clients have no examples to evaluate on, because data.partition.holdout is 0; set it to the share "
                           "that each client holds out, such as 0.2, or write never here");
    for (const auto& [key, given] :
         {std::pair("sample", on_clients.sample.has_value()), {"personalized", on_clients.personalized}})
        if (given && !on_clients.every)
            throw source.error(
                fmt::format("evaluation.clients.{}", key),
                "has no effect, because evaluation.clients.every is never; set that to a number of rounds, or remove this key");
    if (on_clients.sample.value_or(1) > run.num_clients())
        throw source.error("evaluation.clients.sample",
                           fmt::format("{} is more than data.partition.clients; allowed: all, 1 to {}", *on_clients.sample,
                                       run.num_clients()));
}

void check_training(const TrainingConfig& training, std::int64_t clients, const ConfigSource& source) {
    if (training.cohort && training.participation)
        throw source.error("training.participation", "cohort and participation are both given; keep one");
    if (training.cohort.value_or(1) > clients)
        throw source.error("training.cohort",
                           fmt::format("{} is more than data.partition.clients; allowed: 1 to {}", *training.cohort, clients));
    if (training.local_epochs && training.local_steps)
        throw source.error("training.local_steps", "local_epochs and local_steps are both given; keep one");
    const auto per_slot = static_cast<std::uint64_t>(training.clients_per_slot.value_or(1));
    if (!std::has_single_bit(per_slot))
        throw source.error("training.clients_per_slot",
                           fmt::format("{} is not a power of two; allowed: 1, 2, 4, 8, ...; write {} or {}", per_slot,
                                       std::bit_floor(per_slot), std::bit_ceil(per_slot)));
    if (const auto check = aggregation::optimizer_spec(training.optimizer.name).check)
        report("training.optimizer", check(training.optimizer.values), source);
}

/// Rules for training.clients_at_once; those about the mode are the same as for clients_per_slot.
void check_clients_at_once(const TrainingConfig& training, const ModeConfig& mode, const ConfigSource& source) {
    const auto at_once = static_cast<std::uint64_t>(training.clients_at_once);
    if (at_once > 1 && (!mode_spec(mode.name).whole_cohort || mode.quorum()))
        throw source.error("training.clients_at_once",
                           fmt::format("clients can be trained at once only if the server waits for the whole cohort (mode {} "
                                       "without a quorum); allowed: 1",
                                       whole_cohort_modes()));
    if (!std::has_single_bit(at_once))
        throw source.error("training.clients_at_once",
                           fmt::format("{} is not a power of two; allowed: 1, 2, 4, 8, ...; write {} or {}", at_once,
                                       std::bit_floor(at_once), std::bit_ceil(at_once)));
    if (training.clients_at_once > training.least_per_slot())
        throw source.error("training.clients_at_once",
                           fmt::format("{} is more than training.clients_per_slot, but clients trained at once share a slot; "
                                       "allowed: 1 to {}, or raise clients_per_slot",
                                       at_once, *training.clients_per_slot));
    if (at_once > 1 && !aggregation::optimizer_spec(training.optimizer.name).sgd_steps)
        throw source.error(
            "training.optimizer.name",
            fmt::format("clients trained at once support only SGD; allowed with clients_at_once above 1: {}, not {}",
                        fmt::join(aggregation::optimizers_with_sgd_steps(), ", "), training.optimizer.name));
    if (at_once > 1 && training.precision == clients::Precision::BF16)
        throw source.error("training.precision",
                           "clients trained at once do not support bf16; allowed with clients_at_once above 1: f32, tf32");
}

/// Rules for clients with state, each from its own training.
void check_client_state(const RunConfig& run, const std::string& who, const ConfigSource& source) {
    const Chosen& optimizer = run.training.optimizer;
    const auto refuse = [&](const char* key, const std::string& problem) {
        throw source.error(key, fmt::format("{} {}", who, problem));
    };
    if (run.strategy.state_of_steps() && !aggregation::optimizer_spec(optimizer.name).sgd_steps)
        refuse("training.optimizer.name",
               fmt::format("assumes that clients take plain SGD steps; allowed: {}, not {}; or set strategy.option: 1",
                           fmt::join(aggregation::optimizers_with_sgd_steps(), ", "), optimizer.name));
    if (run.strategy.state_of_steps() && optimizer.values.number_or("momentum", 0.0) > 0.0)
        refuse("training.optimizer.momentum",
               "assumes that clients take plain SGD steps; allowed: 0; or set strategy.option: 1");
    if (run.training.least_per_slot() > 1)
        refuse(run.training.clients_per_slot ? "training.clients_per_slot" : "training.clients_at_once",
               "needs the update of every single client; allowed: 1");
    if (run.strategy.parts.method != nullptr) return;  // check_method() knows what its server needs
    if (run.strategy.weighting != Weighting::Uniform)
        refuse("strategy.weighting", "averages its clients' state with equal weights; allowed: uniform");
    if (!aggregation::aggregator_spec(run.strategy.parts.aggregator.name).replaceable)
        refuse("strategy.aggregator", "averages its clients' state; allowed: mean");
}

/// Checks the strategy's own parts together, then each replaced part by itself, so that the message blames the right key.
void check_parts_with_mode(const RunConfig& run, const StrategySpec& strategy, const ConfigSource& source) {
    const StrategyParts& parts = run.strategy.parts;
    const LocalRuleSpec& local = local_rule_of(parts);
    const aggregation::AggregatorSpec& rule = aggregation::aggregator_spec(parts.aggregator.name);
    const aggregation::ServerOptimizerSpec& server = aggregation::server_optimizer_spec(parts.server.name);
    StrategyParts own = parts_of("fedavg");  // plain averaging works in every mode
    if (local.name == strategy.local) own.local = parts.local;
    if (rule.name == strategy.aggregator) own.aggregator = parts.aggregator;
    if (server.name == strategy.server) own.server = parts.server;
    const std::vector<std::string> runs_in = modes_of(own);
    if (!contains(runs_in, run.mode.name))
        throw source.error("mode.name", fmt::format("strategy '{}' does not run in mode '{}'; allowed: {}", strategy.name,
                                                    run.mode.name, fmt::join(runs_in, ", ")));
    const auto check = [&](const char* key, const char* what, const auto& part, const std::string& its_own) {
        const std::vector<std::string> modes = modes_of(part);
        if (part.name == its_own || contains(modes, run.mode.name)) return;
        throw source.error(
            key, fmt::format("{} '{}' does not work in mode '{}'; allowed in this mode: {}; or choose a mode: {}", what,
                             part.name, run.mode.name, its_own, fmt::join(modes, ", ")));
    };
    check("strategy.local", "local rule", local, strategy.local);
    check("strategy.aggregator", "aggregator", rule, strategy.aggregator);
    check("strategy.server", "server", server, strategy.server);
}

/// The part that keeps client state: the strategy, or the local rule that replaces its own.
std::string who_keeps_state(const RunConfig& run, const StrategySpec& strategy) {
    const std::string& local = run.strategy.parts.local.name;
    return local == strategy.local ? fmt::format("strategy '{}'", run.strategy.title()) : fmt::format("local rule '{}'", local);
}

/// The most updates in one server step.
std::int64_t most_arrivals(const RunConfig& run) {
    return mode_spec(run.mode.name).steps_by_arrival ? 1 : run.mode.quorum().value_or(run.cohort_size());
}

std::vector<std::string> rules_of_groups() {
    std::vector<std::string> names;
    for (const aggregation::AggregatorSpec& rule : aggregation::aggregator_catalog())
        if (rule.of_groups) names.push_back(rule.name);
    return names;
}

void check_strategy(const RunConfig& run, const StrategySpec& strategy, const ConfigSource& source) {
    run.strategy.parts.method != nullptr ? check_method(run, source) : check_parts_with_mode(run, strategy, source);
    if (run.strategy.client_state()) check_client_state(run, who_keeps_state(run, strategy), source);
    const aggregation::AggregatorSpec& rule = aggregation::aggregator_spec(run.strategy.parts.aggregator.name);
    const bool grouped = run.strategy.parts.pre_aggregation.name != "none";
    if (grouped && !rule.of_groups)
        throw source.error(
            "strategy.pre_aggregation",
            fmt::format("aggregator '{}' does not combine means of groups; remove it, or choose an aggregator: {}", rule.name,
                        fmt::join(rules_of_groups(), ", ")));
    if (run.training.least_per_slot() > 1 && rule.single_updates)
        throw source.error(run.training.clients_per_slot ? "training.clients_per_slot" : "training.clients_at_once",
                           fmt::format("aggregator '{}' needs the update of every single client; allowed: 1", rule.name));
    const std::size_t least = least_updates(run.strategy.parts);
    if (const std::int64_t most = most_arrivals(run); std::cmp_less(most, least))
        throw source.error(
            run.mode.quorum() ? "mode.quorum" : "training.cohort",
            fmt::format("aggregator '{}'{} needs {} updates, but {} arrive in a round; allowed with these keys: {} or more",
                        rule.name, grouped ? fmt::format(" behind {}", run.strategy.parts.pre_aggregation.name) : "", least,
                        most, least));
}

/// Checks keys for which the mode accepts only some values.
void check_limits(const RunConfig& run, const ModeSpec& mode, const ConfigSource& source) {
    if (mode.limits.empty()) return;
    const std::vector<Leaf> leaves = leaves_of(run);
    for (const KeyLimit& limit : mode.limits) {
        const auto found = std::find_if(leaves.begin(), leaves.end(), [&](const Leaf& leaf) { return leaf.key == limit.key; });
        if (found == leaves.end() || contains(limit.allowed, found->text)) continue;
        throw source.error(limit.key, limit.allowed.empty() ? fmt::format("{}; remove it in mode {}", limit.why, mode.name)
                                                            : fmt::format("{}; allowed in mode {}: {}", limit.why, mode.name,
                                                                          fmt::join(limit.allowed, ", ")));
    }
}

/// Refuses the strategy's server rate and weighting if the mode has its own.
void check_server_part(const RunConfig& run, const ModeSpec& mode, const ConfigSource& source) {
    const Chosen& server = run.strategy.parts.server;
    const bool plain = aggregation::server_optimizer_spec(server.name).replaceable;  // others are refused by name
    if (!mode.rate_key.empty() && plain && server.values.number_or("server_lr", 1.0) != 1.0)
        throw source.error("strategy.server_lr",
                           fmt::format("mode {} has no server rate and uses {} instead; allowed: 1", mode.name, mode.rate_key));
    if (!mode.weighs_updates && run.strategy.weighting != Weighting::Examples)
        throw source.error("strategy.weighting", fmt::format("mode {} does not weight updates; allowed: examples", mode.name));
}

void check_mode(const RunConfig& run, const ConfigSource& source) {
    const ModeSpec& mode = mode_spec(run.mode.name);
    const std::optional<std::int64_t> quorum = run.mode.quorum();
    const std::int64_t cohort = run.cohort_size();
    const std::int64_t clients = run.num_clients();
    if (mode.needs_quorum && !quorum)
        throw source.error("mode.quorum",
                           fmt::format("is missing; mode {} needs the number of arrivals that end a round; allowed: 1 to {}",
                                       mode.name, cohort));
    if (quorum.value_or(1) > cohort)
        throw source.error("mode.quorum", fmt::format("{} is more than the cohort; allowed: 1 to {}", *quorum, cohort));
    if (run.training.clients_per_slot.value_or(1) > 1 && !run.waits_for_all())
        throw source.error(
            "training.clients_per_slot",
            fmt::format(
                "clients can share slots only if the server waits for the whole cohort (mode {} without a quorum); allowed: 1",
                whole_cohort_modes()));
    check_server_part(run, mode, source);
    if (mode.all_clients && run.data.partition.clients && cohort != clients)
        throw source.error("training.cohort",
                           fmt::format("in mode {} all {} clients work together; allowed: {}", mode.name, clients, clients));
    check_limits(run, mode, source);
}

void check_failures(const RunConfig& run, const ConfigSource& source) {
    const std::int64_t most = most_arrivals(run);
    if (run.failures.min_updates > most)
        throw source.error("failures.min_updates",
                           fmt::format("{} is more than the updates that arrive in a round; allowed: 1 to {}",
                                       run.failures.min_updates, most));
    const bool root = aggregation::aggregator_spec(run.strategy.parts.aggregator.name).root;
    const std::int64_t last = root ? run.num_clients() : run.num_clients() - 1;
    for (std::size_t i = 0; i < run.faults.size(); ++i) {
        const FaultConfig& fault = run.faults[i];
        if (fault.client && *fault.client > last)
            throw source.error("faults", fmt::format("item {}: client {} does not exist; allowed: 0 to {}{}", i, *fault.client,
                                                     last, root ? ", the server's own client" : ""));
        if (fault.round && *fault.round > run.rounds)
            throw source.error("faults",
                               fmt::format("item {}: round {} does not exist; allowed: 1 to {}", i, *fault.round, run.rounds));
    }
}

}  // namespace

void check_rules(const RunConfig& run, const StrategySpec& strategy, const ConfigSource& source, const std::string& so_far) {
    Mistakes mistakes;
    mistakes.add_lines(so_far);
    const auto collect = [&](const auto& check) {
        try {
            check();
        } catch (const ConfigError& error) {
            mistakes.add(error.what());
        }
    };
    collect([&] {
        if (const std::string problem = name_problem(run.name); !problem.empty()) throw source.error("name", problem);
    });
    collect([&] { check_task(run, source); });
    collect([&] { check_loss(run, source); });
    collect([&] { check_metrics(run, source); });
    collect([&] { check_measures(run, source); });
    collect([&] { check_data(run.data, source); });
    collect([&] { check_training(run.training, run.num_clients(), source); });
    collect([&] { check_sampling(run, source); });
    collect([&] { check_clients_at_once(run.training, run.mode, source); });
    collect([&] { check_strategy(run, strategy, source); });
    collect([&] { check_mode(run, source); });
    collect([&] { check_visit(run, source); });
    collect([&] { check_root(run, strategy, source); });
    collect([&] { check_holdout(run, source); });
    collect([&] { check_evaluation(run, source); });
    collect([&] { check_upload(run, who_keeps_state(run, strategy), source); });
    collect([&] { check_download(run, source); });
    collect([&] { check_attack(run, source); });
    collect([&] { check_tree_noise(run, source); });
    collect([&] { check_privacy(run, source); });
    collect([&] { check_local_part(run, source); });
    collect([&] { check_failures(run, source); });
    if (!mistakes.none()) throw ConfigError(mistakes.text());
}

std::string name_problem(const std::string& name) {
    const bool allowed = std::all_of(name.begin(), name.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
    });
    if (!name.empty() && name.size() <= 100 && allowed && name[0] != '.' && name[0] != '-') return "";
    return fmt::format(
        "'{}' is not a valid folder name; allowed: 1 to 100 characters of A-Z a-z 0-9 . _ -, not beginning with . or -", name);
}

}  // namespace fedhive::sim
