// Random valid configs.
#pragma once

#include "clients/data/data_format.h"
#include "clients/data/partition.h"
#include "clients/models/layer_kind.h"
#include "clients/tasks/learning_task.h"
#include "clients/tasks/loss.h"
#include "clients/tasks/measures.h"
#include "clients/uploads/upload.h"
#include "sim/config/fields.h"
#include "sim/modes/mode_spec.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace fedhive::sim::testing {

/// Gives every applicable key a random value from its range. It uses the keys' own description, so new keys are covered.
class Randomize : public Visitor {
public:
    explicit Randomize(unsigned seed) : random_(seed) {}
    void begin(const Section&) override {}
    void end() override {}
    void items(const ItemList& list) override {
        list.resize(random_() % 4);
        for (std::size_t i = 0; i < list.size(); ++i) list.item(*this, i);
    }
    void field(const Field& field) override {
        if (field.when && !field.when->holds()) return;
        std::visit([&](auto target) { draw(field, *target); }, field.target);
    }
    void refuse(const std::string&, const std::string&) override {}  // a method file that is not there; reconcile() removes it

private:
    double uniform() { return std::uniform_real_distribution<double>(0.0, 1.0)(random_); }

    void draw(const Field& field, std::string& value) {
        static const std::vector<std::string> names = {"null", "true", "1e3", "0x1", "a-b_c.d", "NULL", "3", "_x"};
        const std::vector<std::string>& words = field.choices.empty() ? names : field.choices;
        value = words[random_() % words.size()];
    }
    void draw(const Field& field, const WordRef& value) {
        const std::string word = field.words()[random_() % field.words().size()];
        value.set(word == field.empty_word ? "" : word);
    }
    void draw(const Field& field, std::filesystem::path& value) {
        static const std::vector<std::string> paths = {"/data/mnist",  "/with space/x: y",   "/quote\"back\\slash",
                                                       "/#no comment", "/\xC3\xA9t\xC3\xA9", "/{a, b}",
                                                       "/tab\there"};
        value = field.required || uniform() < 0.5 ? paths[random_() % paths.size()] : "";
    }
    void draw(const Field& field, double& value) {
        const double low = std::max(field.range.low, -1000.0);
        const double high = std::min(field.range.high, 1000.0);
        do {
            value = low + (high - low) * uniform() * (uniform() < 0.5 ? 1e-6 : 1.0);
        } while (!field.range.contains(value) || !field.range.contains(static_cast<float>(value)));
    }
    void draw(const Field& field, std::int64_t& value) {
        double real = 0.0;
        draw(field, real);
        value = std::max(static_cast<std::int64_t>(real), static_cast<std::int64_t>(field.range.low));
    }
    void draw(const Field&, std::uint64_t& value) { value = (static_cast<std::uint64_t>(random_()) << 32U) | random_(); }
    void draw(const Field&, bool& value) { value = uniform() < 0.5; }
    void draw(const Field&, std::vector<double>& values) { values.clear(); }
    void draw(const Field& field, std::vector<std::string>& words) {
        words.clear();
        for (const std::string& choice : field.choices)
            if (uniform() < 0.3) words.push_back(choice);
        if (field.choices.empty() && uniform() < 0.3) words = {"conv*", "fc[12].weight", "a b"};
    }
    void draw(const Field&, clients::LayerList& layers) { layers.clear(); }
    template <class Value>
    void draw(const Field& field, std::optional<Value>& value) {
        value.reset();
        if (uniform() < 0.5) draw(field, value.emplace());
    }

    std::mt19937 random_;
};

/// Restricts values to those that the mode accepts.
inline void fit_to_mode(RunConfig& run, const ModeSpec& mode, unsigned seed) {
    const std::int64_t clients = run.num_clients();
    if (mode.all_clients) {
        run.devices.availability = {};
        run.data.partition = {};
        run.data.partition.clients = clients;
        run.training.participation.reset();
        run.training.cohort = clients;
    }
    if (run.sampling.name == "fixed") {
        std::vector<double> all(static_cast<std::size_t>(clients));
        std::iota(all.rbegin(), all.rend(), 0.0);
        run.sampling.values.set("clients", all);
    }
    const SamplerSpec& sampler = sampler_spec(run.sampling.name);
    const bool by_seconds = sampler.by_seconds != nullptr && sampler.by_seconds(completed(run.sampling.values, sampler.keys));
    if (mode.all_clients || (by_seconds && run.clock == Clock::Wall)) run.sampling = {"uniform"};
    const Mode value = mode.build({.values = run.mode.values});
    if (run.sampling.name == "power_of_choice" && (!value.trains_alone() || value.overlaps()))
        run.sampling.values.set("losses", "reported");
    if (run.sampling.name == "gradient_norm" && (!value.trains_alone() || value.overlaps())) run.sampling = {"uniform"};
    if (mode.needs_quorum || run.mode.quorum())
        run.mode.values.set("quorum", std::optional(std::min(run.mode.quorum().value_or(1), run.cohort_size())));
    if (!mode.weighs_updates) run.strategy.weighting = Weighting::Examples;
    if (!mode.rate_key.empty()) run.strategy.parts.server.values.set("server_lr", 1.0);
    if (!mode.whole_cohort || run.mode.quorum()) run.training.clients_per_slot = 1;
    run.training.clients_at_once = (*run.training.clients_per_slot + 1) / 2;
    if (seed % 3 == 0) run.training.clients_per_slot.reset();
    if (run.training.clients_at_once > 1) {
        run.training.precision = clients::Precision::F32;
        run.training.clip_norm.reset();
        run.training.optimizer = {"sgd", completed({}, aggregation::optimizer_spec("sgd").keys)};
        if (run.training.graph) run.training.lr_schedule = {};
    }
    for (const KeyLimit& limit : mode.limits) {
        if (limit.key == "failures.policy") run.failures.policy = from_word<OnFailure>(limit.allowed.front()).value();
        if (limit.key == "training.graph") run.training.graph = false;
        if (limit.key == "training.precision")
            run.training.precision = from_word<clients::Precision>(limit.allowed.front()).value();
        if (limit.key == "training.clip_norm") run.training.clip_norm.reset();
        if (limit.key == "training.lr_schedule.name") run.training.lr_schedule = {};
        if (limit.key == "training.optimizer.name")
            run.training.optimizer = {"sgd", completed({}, aggregation::optimizer_spec("sgd").keys)};
        if (limit.key == "training.local_steps") {
            run.training.local_steps.reset();
            run.training.local_epochs = run.training.local_epochs.value_or(1);
        }
    }
    if (mode.build({.values = run.mode.values}).pass != PassExamples::Own) run.data.partition.holdout = 0.0;
    ClientsEvaluationConfig& on_clients = run.evaluation.clients;
    if (run.data.partition.holdout == 0.0) on_clients.every.reset();
    if (!on_clients.every) on_clients = {};
    if (on_clients.sample) *on_clients.sample = 1 + *on_clients.sample % clients;
    const std::int64_t arrivals = mode.steps_by_arrival ? 1 : run.mode.quorum().value_or(run.cohort_size());
    run.failures.min_updates = std::min(run.failures.min_updates, arrivals);
    StrategyParts& parts = run.strategy.parts;
    if (!aggregation::aggregator_spec(parts.aggregator.name).of_groups ||
        least_updates(parts) > static_cast<std::size_t>(arrivals))
        parts.pre_aggregation = {"none"};
    if (least_updates(parts) > static_cast<std::size_t>(arrivals)) parts.aggregator = {"mean"};
}

/// Up to 12 layers of any kind with any arguments; their shapes need not fit.
inline clients::LayerList random_layers(unsigned seed) {
    std::mt19937 random(seed);
    clients::LayerList layers;
    std::size_t open = 0;
    for (std::size_t i = 0; i < 1 + seed % 12; ++i) {
        const auto& catalog = clients::layer_catalog();
        const clients::LayerSpec& kind = catalog[random() % catalog.size()];
        std::vector<float> arguments;
        for (const KeySpec& key : kind.keys) {
            const bool number = std::holds_alternative<double>(key.default_value);
            const bool flag = std::holds_alternative<bool>(key.default_value);
            const auto most = static_cast<std::uint32_t>(std::min(key.range.high, 1e6));
            arguments.push_back(number ? static_cast<float>(random() % 1000) / 1000.0F
                                : flag ? static_cast<float>(random() % 2)
                                       : static_cast<float>(1 + random() % most));
        }
        if (kind.name == "linear" && random() % 2 == 0) arguments.clear();
        layers.add(kind.name, arguments);
        open += kind.holds_layers ? 1 : 0;
        if (kind.holds_layers) layers.add("relu");
    }
    for (; open > 0; --open) {
        if (random() % 2 == 0) layers.shortcut().add("relu");
        layers.end();
    }
    return layers;
}

/// Sets a task that fits the data, and drops losses, metrics and stop targets that the run lacks.
inline void fit_task(RunConfig& run) {
    const bool numbers = clients::data_format(run.data.format).targets.front() == clients::TargetKind::Numbers;
    if (numbers != (run.task == "regression")) run.task = numbers ? "regression" : "next_token";
    const clients::LearningTask& task = clients::learning_task(run.task);
    if (std::ranges::find(task.losses, run.training.loss.name) == task.losses.end())
        run.training.loss = {task.losses.front(), completed({}, clients::loss_spec(task.losses.front()).keys)};
    std::erase_if(run.evaluation.metrics, [&](const std::string& name) { return task.metric(name) == nullptr; });
    if (numbers) run.evaluation.confusion = false;
    const std::vector<std::string> measures = clients::measures_of(task);
    std::erase_if(run.training.measure,
                  [&](const std::string& name) { return std::ranges::find(measures, name) == measures.end(); });
    for (auto& [name, target] : run.stop.test) {
        const std::vector<clients::Metric> shown = task.metrics_with(run.evaluation.metrics);
        if (std::ranges::find(shown, name, &clients::Metric::name) == shown.end()) target.reset();
    }
}

/// A part of the model that is the clients' own, where that can be.
inline void fit_local_part(RunConfig& run) {
    if (run.mode.name != "synchronous" || !run.evaluation.clients.every) run.model.local.clear();
    if (run.model.local.empty()) return;
    run.evaluation.confusion = false;
    run.training.clients_per_slot = run.training.clients_at_once = 1;
    run.stop = {};
}

/// Leaves the accountant at work only where a δ is given and its assumptions hold; what is left of the run's keys fits it.
inline void fit_privacy(RunConfig& run) {
    const bool noise = !run.upload.empty() && run.upload.back().name == "gaussian_noise";
    const bool waits = mode_spec(run.mode.name).whole_cohort && !run.mode.quorum();
    run.privacy.epsilon.reset();  // the multiplier that is drawn need not do
    if (!noise || !waits || run.failures.max_update_norm) run.privacy.delta.reset();
    if (!run.privacy.delta) return;
    run.upload = {{"clip", {{"norm", 0.1}}}, run.upload.back()};
    run.upload.back().values.set("multiplier", std::optional(0.5));
    run.sampling = {"uniform"};
    run.devices.availability = {};
}

/// Root examples where the aggregator needs them, and nowhere that clients would train on them; nothing that only clients keep.
inline void fit_root(RunConfig& run) {
    const bool needed = aggregation::aggregator_spec(run.strategy.parts.aggregator.name).root;
    const bool own = mode_spec(run.mode.name).build({.values = run.mode.values}).pass == PassExamples::Own;
    const bool by_number = clients::partition_scheme(run.data.partition.scheme).by_number;
    if (needed && by_number) run.strategy.parts.aggregator = {"mean"};
    if (!own || by_number) run.data.root_examples.reset();
    if (!needed || by_number) return;
    run.data.root_examples = run.data.root_examples.value_or(3);
    run.model.local.clear();
    std::erase_if(run.upload, [](const Chosen& step) { return step.name == "error_feedback"; });
}

/// Leaves an attack only where there are attackers and honest clients, and the rest of the run allows it.
inline void fit_attack(RunConfig& run) {
    if (!run.has_attackers()) return;
    const std::int64_t clients = run.num_clients();
    const std::int64_t attackers = std::llround(run.attack.values.number("share") * static_cast<double>(clients));
    const bool noise = std::ranges::any_of(run.upload, [](const Chosen& step) { return step.name == "gaussian_noise"; });
    const bool possible = run.mode.name == "synchronous" && !noise && attackers > 0 && attackers < clients;
    if (!possible) return void(run.attack = {"none"});
    run.failures.max_update_norm.reset();
    run.training.clients_per_slot = run.training.clients_at_once = 1;
}

/// One step at most that adapts its norm, where a round's cohort is a server step; the noise of its count is enough for any other.
inline void fit_adaptive_clip(RunConfig& run) {
    const bool possible = mode_spec(run.mode.name).whole_cohort;
    bool found = false;
    for (Chosen& step : run.upload)
        if (step.name == "adaptive_clip") step.values.set("count_noise", std::optional(1000.0));
    std::erase_if(run.upload, [&](const Chosen& step) {
        return step.name == "adaptive_clip" && (!possible || std::exchange(found, true));
    });
}

/// A clip at the chain's end where the server adds a tree's noise to plain means of a whole cohort; elsewhere another server.
inline void fit_tree_noise(RunConfig& run) {
    Chosen& server = run.strategy.parts.server;
    if (server.name != "dp_ftrl") return;
    const bool possible = run.mode.name == "synchronous" && !run.strategy.client_state() && !run.has_attackers() &&
                          !aggregation::aggregator_spec(run.strategy.parts.aggregator.name).single_updates;
    if (!possible) {
        server = {"momentum", completed({}, aggregation::server_optimizer_spec("momentum").keys)};
        return;
    }
    run.privacy = {};
    server.values.set("noise_multiplier", std::optional(server.values.optional_number("noise_multiplier").value_or(1.0)));
    server.values.set("restart_every", std::optional(server.values.optional_integer("restart_every").value_or(2)));
    run.upload = {{"clip", {{"norm", 0.1}}}};
    run.strategy.weighting = Weighting::Uniform;
}

/// Draws clients several times only where that counts.
inline void fit_sampling(RunConfig& run) {
    const auto noise = [](const Chosen& step) { return step.name == "gaussian_noise"; };
    const bool counts = run.waits_for_all() && run.strategy.parts.server.name != "dp_ftrl" && !run.strategy.client_state() &&
                        aggregation::aggregator_spec(run.strategy.parts.aggregator.name).weighs &&
                        std::ranges::none_of(run.upload, noise);
    const SamplerSpec& sampler = sampler_spec(run.sampling.name);
    if (sampler.repeats && !counts) run.sampling = {"uniform"};
    if (sampler.by_labels && run.task != "classification") run.sampling = {"uniform"};
}

/// A clip, which does not adapt, before a step that takes its norm.
inline void fit_priv_unit(RunConfig& run) {
    const auto is_one = [](const Chosen& step) { return step.name == "priv_unit"; };
    if (std::ranges::none_of(run.upload, is_one)) return;
    std::erase_if(run.upload, [](const Chosen& step) { return step.name == "adaptive_clip"; });
    const auto clip = std::ranges::find(run.upload, "clip", &Chosen::name);
    if (clip == run.upload.end() || clip > std::ranges::find_if(run.upload, is_one))
        run.upload.insert(run.upload.begin(), {"clip", {{"norm", 0.1}}});
}

/// Leaves one step that compresses what the server sends, where a mode has it, and a residual before it.
inline void fit_download(RunConfig& run) {
    std::erase_if(run.download, [](const Chosen& step) { return step.name == "error_feedback"; });
    if (!mode_spec(run.mode.name).whole_cohort) run.download.clear();
    if (run.download.empty()) return;
    run.download = {{"error_feedback"}, run.download.front()};
}

/// Makes dependent values consistent.
inline void reconcile(RunConfig& run, unsigned seed) {
    fit_task(run);
    run.strategy.file.clear();
    run.strategy.file_sha256.clear();
    run.strategy.rule.clear();
    run.strategy.rule_sha256.clear();
    run.strategy.parts.rule = nullptr;
    run.strategy.visit.clear();
    run.strategy.visit_sha256.clear();
    run.strategy.parts.visit = nullptr;
    run.strategy.gradient.clear();
    run.strategy.parts.method.reset();
    if (run.strategy.parts.local.name == kFormula) run.strategy.parts.local = {strategy_spec(run.strategy.name).local};
    if (run.data.poison.kind.name == "label_map") run.data.poison.kind.values.set("labels", std::vector<double>{1.0, 0.0});
    if (seed % 2 == 0 || !run.data.partition.clients) run.data.partition.clients = 1 + seed % 7;
    const std::int64_t clients = run.num_clients();
    if (run.data.partition.values.find("groups") != nullptr)
        run.data.partition.values.set("groups", std::min(run.data.partition.values.integer("groups"), clients));
    if (seed % 4 == 0) run.model = {.name = "", .values = {}, .layers = random_layers(seed), .init = run.model.init};
    if (run.data.partition.scheme == "iid" && seed % 2 == 0)
        run.data.partition.values.set(
            "sizes", std::vector<double>(static_cast<std::size_t>(clients), 0.9 / static_cast<double>(clients)));
    if (seed % 5 == 0) run.data.augment = {.crop_padding = 1 + seed % 4, .flip = seed % 2 == 0 ? Flip::Horizontal : Flip::None};
    if (seed % 3 == 0) run.data.normalize = {.mean = {0.1, 1.0 / 3.0}, .std = {0.3, 2.0 / 3.0}};
    if (run.training.participation)
        run.training.cohort.reset();
    else
        run.training.cohort = std::min(run.training.cohort.value_or(clients), clients);
    if (run.training.local_steps)
        run.training.local_epochs.reset();
    else
        run.training.local_epochs = run.training.local_epochs.value_or(1);
    const bool client_state = run.strategy.client_state();
    if (client_state) run.training.optimizer = {"sgd", {}};
    Chosen& optimizer = run.training.optimizer;
    optimizer.values = completed(optimizer.values, aggregation::optimizer_spec(optimizer.name).keys);
    if (client_state) {
        run.strategy.weighting = Weighting::Uniform;
        run.strategy.parts.aggregator = {"mean"};
    }
    if (optimizer.values.number_or("momentum", 0.0) == 0.0 && optimizer.name == "sgd") optimizer.values.set("nesterov", false);
    const auto modes = modes_of(run.strategy.parts);
    if (std::find(modes.begin(), modes.end(), run.mode.name) == modes.end()) run.mode = {};
    const bool single = aggregation::aggregator_spec(run.strategy.parts.aggregator.name).single_updates;
    run.training.clients_per_slot = single || client_state ? 1 : std::int64_t{1} << (seed % 5);
    run.mode.values = completed(run.mode.values, mode_spec(run.mode.name).keys);
    fit_to_mode(run, mode_spec(run.mode.name), seed);
    if (!mode_spec(run.mode.name).build({.values = run.mode.values}).trains_alone()) {
        run.upload.clear();
        run.training.measure.clear();
    }
    std::erase_if(run.upload, [](const Chosen& step) { return step.name == "clip" || step.name == "error_feedback"; });
    fit_adaptive_clip(run);
    const auto compresses = [](const Chosen& step) {
        return entry_of(clients::upload_catalog(), step.name, "step of an upload").shrink != nullptr;
    };
    std::stable_partition(run.upload.begin(), run.upload.end(), [&](const Chosen& step) { return !compresses(step); });
    while (std::count_if(run.upload.begin(), run.upload.end(), compresses) > 1) run.upload.pop_back();
    if (!run.upload.empty() && compresses(run.upload.back()) && seed % 2 == 0 && run.mode.name == "synchronous") {
        run.upload.insert(run.upload.end() - 1, {"error_feedback"});
        run.training.clients_per_slot = run.training.clients_at_once = 1;
    }
    const LocalRuleSpec& rule = local_rule_spec(parts_of(run.strategy.name, run.strategy.parts).local.name);
    const bool as_it_was = run.upload.empty() || run.upload.front().name == "error_feedback";
    if (!rule.goes_by_one_update.empty() && !as_it_was) run.upload.clear();
    const auto hides = [](const Chosen& step) { return step.name.ends_with("_noise") || step.name == "priv_unit"; };
    if (!rule.sends_beside.empty()) std::erase_if(run.upload, hides);
    fit_local_part(run);
    const auto is_noise = [](const Chosen& step) { return step.name == "gaussian_noise"; };
    const auto noise = std::ranges::find_if(run.upload, is_noise);
    if (noise != run.upload.end()) {
        Chosen last = *noise;
        if (!last.values.optional_number("multiplier")) last.values.set("multiplier", std::optional(1.0));
        const bool possible = !single && !compresses(run.upload.back());
        std::erase_if(run.upload, is_noise);
        if (possible) {
            run.upload.push_back(last);  // it must be the last step
            run.upload.insert(run.upload.begin(), {"clip", {{"norm", 0.1}}});
            run.strategy.weighting = Weighting::Uniform;
        }
    }
    fit_priv_unit(run);
    fit_download(run);
    fit_tree_noise(run);
    fit_privacy(run);
    fit_root(run);
    fit_attack(run);
    fit_sampling(run);
    for (FaultConfig& fault : run.faults) {
        if (fault.client) *fault.client %= clients;
        if (fault.round) *fault.round = 1 + *fault.round % run.rounds;
    }
}

}  // namespace fedhive::sim::testing
