#include "sim/config/method_catalog.h"

#include "aggregation/attacks/attack_catalog.h"
#include "aggregation/base/error.h"
#include "aggregation/cohort/aggregator_catalog.h"
#include "aggregation/cohort/pre_aggregation.h"
#include "aggregation/server/catalog.h"
#include "clients/data/poison.h"
#include "clients/uploads/upload.h"
#include "sim/config/missing_methods.h"
#include "sim/config/named_methods.h"
#include "sim/config/suggest.h"
#include "sim/modes/mode_spec.h"
#include "sim/selection/sampler.h"
#include "sim/strategies/local_rule.h"
#include "sim/strategies/strategy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

namespace fedhive::sim {

namespace {

using Family = MethodFamily;
using Entries = std::vector<CatalogedMethod>;

/// Of strategies in C++; those that are not here are for optimisation.
Family family_of_strategy(const std::string& name) {
    static const std::map<Family, std::vector<std::string>> families = {
        {Family::Robust,
         {"median", "krum", "trimmed_mean", "bulyan", "rfa", "centered_clipping", "dnc", "fltrust", "zeno", "foolsgold"}},
        {Family::Fairness, {"qfedavg", "term", "afl", "fedmgda_plus", "fedfv"}},
        {Family::Privacy, {"dp_ftrl"}}};
    for (const auto& [family, names] : families)
        if (std::ranges::find(names, name) != names.end()) return family;
    return Family::Optimisation;
}

Family family_of_step(const clients::UploadSpec& step) {
    if (step.shrink != nullptr || step.keeps_residual()) return Family::Compression;
    return step.summary.starts_with("an attack") ? Family::Attacks : Family::Privacy;
}

std::vector<std::string> needs_of_rule(const aggregation::AggregatorSpec& rule) {
    std::vector<std::string> needs;
    if (rule.products) needs.emplace_back("inner products");
    if (rule.root) needs.emplace_back("data.root_examples");
    if (rule.histories) needs.emplace_back("sums of updates");
    for (const std::string& measure : rule.measures) needs.push_back("measure " + measure);
    return needs;
}

void add_strategies(Entries& entries) {
    for (const StrategySpec& spec : strategy_catalog()) {
        const LocalRuleSpec& local = local_rule_spec(spec.local);
        const aggregation::AggregatorSpec& rule = aggregation::aggregator_spec(spec.aggregator);
        CatalogedMethod entry{.name = spec.name,
                              .family = family_of_strategy(spec.name),
                              .where = "strategy.name",
                              .config = fmt::format("strategy: {{name: {}}}", spec.name),
                              .says = fmt::format("{}.\n{}", spec.source, spec.note)};
        if (local.client_state()) entry.needs.emplace_back("client memory");
        if (!local.sends_beside.empty()) entry.needs.emplace_back("more up");
        const std::vector<std::string> of_rule = needs_of_rule(rule);
        entry.needs.insert(entry.needs.end(), of_rule.begin(), of_rule.end());
        for (const auto* keys : {&local.keys, &rule.keys,
                                 &entry_of(aggregation::server_optimizer_catalog(), spec.server, "server optimiser").keys})
            entry.keys.insert(entry.keys.end(), keys->begin(), keys->end());
        entries.push_back(std::move(entry));
    }
}

void add_files(Entries& entries) {
    for (const NamedMethod& method : named_methods()) {
        const std::optional<Family> family = from_word<Family>(method.family);
        FEDHIVE_CHECK(family, "{}: has no line '# For: FAMILY.' with a known family", method.file.string());
        entries.push_back({.name = method.name,
                           .family = *family,
                           .where = "strategy.name",
                           .config = fmt::format("strategy: {{name: {}}}", method.name),
                           .says = method.comment,
                           .needs = method.needs,
                           .file = method.file});
    }
}

/// Entries of a catalog whose specs have name, summary and keys.
template <class Catalog, class Family_>
void add_all(Entries& entries, const Catalog& catalog, const std::string& where, const std::string& config, Family_ family_of) {
    for (const auto& spec : catalog)
        if (const std::optional<Family> family = family_of(spec))
            entries.push_back({.name = spec.name,
                               .family = *family,
                               .where = where,
                               .config = fmt::format(fmt::runtime(config), spec.name),
                               .says = spec.summary,
                               .keys = spec.keys});
}

void add_rules(Entries& entries) {
    const auto is_of_a_strategy = [](const std::string& rule) {
        return std::ranges::any_of(strategy_catalog(), [&](const StrategySpec& spec) { return spec.aggregator == rule; });
    };
    for (const aggregation::AggregatorSpec& rule : aggregation::aggregator_catalog())
        if (!is_of_a_strategy(rule.name))
            entries.push_back({.name = rule.name,
                               .family = Family::Robust,
                               .where = "strategy.aggregator",
                               .config = fmt::format("strategy: {{aggregator: {}}}", rule.name),
                               .says = rule.summary,
                               .needs = needs_of_rule(rule),
                               .keys = rule.keys});
    add_all(entries, aggregation::pre_aggregation_catalog(), "strategy.pre_aggregation", "strategy: {{pre_aggregation: {}}}",
            [](const auto& spec) { return spec.name == "none" ? std::nullopt : std::optional(Family::Robust); });
}

/// Adds methods that have one name in papers and take several keys in a config.
void add_combinations(Entries& entries) {
    const auto add = [&](const char* name, Family family, const char* where, const char* config, const char* says) {
        entries.push_back({.name = name, .family = family, .where = where, .config = config, .says = says});
    };
    add("fedsgd", Family::Optimisation, "training", "training: {local_steps: 1, batch_size: 100000}",
        "FedSGD: McMahan et al. 2017 (arXiv:1602.05629): one step on all examples of a client");
    add("centralized", Family::Optimisation, "data.partition", "data: {partition: {clients: 1}}, training: {cohort: 1}",
        "centralised training: one client has all examples; the baseline that methods are measured by");
    add("fine_tuning", Family::Personal, "evaluation.clients", "evaluation: {clients: {every: 1, personalized: true}}",
        "FedAvg with fine-tuning: Wang et al. 2019 (arXiv:1910.10252): each client's model after a local epoch is judged");
    add("fedper", Family::Personal, "model.local", R"(model: {local: ["fc*"]})",
        "FedPer: Arivazhagan et al. 2019 (arXiv:1912.00818): the last layers stay with each client");
    add("lg_fedavg", Family::Personal, "model.local", R"(model: {local: ["conv*"]})",
        "LG-FedAvg: Liang et al. 2020 (arXiv:2001.01523): the first layers stay with each client");
    add("fedbn", Family::Personal, "model.local", R"(model: {local: ["bn*"]})",
        "FedBN: Li et al. 2021 (arXiv:2102.07623): batch norm stays with each client");
    add("fedsim", Family::Personal, "model.local", R"(model: {local: ["fc*"]})",
        "FedSim: Pillutla et al. 2022 (arXiv:2204.03809): local and shared part are trained at once");
    add("fedit", Family::Personal, "model.layers",
        R"(model: {layers: [flatten, {linear: {out: 50, lora: 8}}, relu, {linear: {lora: 8}}], frozen: ["*.weight", "*.bias"]})",
        "FedIT: Zhang et al. 2023 (arXiv:2305.05644): low-rank factors beside frozen layers");
    add("ffa_lora", Family::Personal, "model.layers",
        R"(model: {layers: [flatten, {linear: {out: 50, lora: 8}}, relu, {linear: {lora: 8}}], frozen: ["*.weight", "*.bias", "*.A"]})",
        "FFA-LoRA: Sun et al. 2024 (arXiv:2403.12313): as FedIT, with one factor frozen");
    add("fedsa_lora", Family::Personal, "model.layers",
        R"(model: {layers: [flatten, {linear: {out: 50, lora: 8}}, relu, {linear: {lora: 8}}], frozen: ["*.weight", "*.bias"], local: ["*.B"]})",
        "FedSA-LoRA: Guo et al. 2024 (arXiv:2410.01463): as FedIT, with one factor that stays with each client");
    add("fedpara", Family::Compression, "model.file", "model: {file: fedpara.pt2}",
        "FedPara: Hyeon-Woo et al. 2022 (arXiv:2108.06098): low-rank Hadamard layers in an exported network");
    add("dp_fedavg", Family::Privacy, "upload",
        "strategy: {weighting: uniform}, upload: [{name: clip}, {name: gaussian_noise}]",
        "DP-FedAvg: McMahan et al. 2018 (arXiv:1710.06963): updates are clipped, their sum is noised");
    add("rdp_accountant", Family::Privacy, "privacy", "privacy: {epsilon: 8, delta: 1e-5}",
        "the Rényi accountant: Mironov 2017 (arXiv:1702.07476): ε of the rounds so far, or the noise for a given ε");
    add("qsgd", Family::Compression, "upload", "upload: [{name: quantize}]",
        "QSGD: Alistarh et al. 2017 (arXiv:1610.02132): random rounding to levels");
    add("fedpaq", Family::Compression, "upload", "upload: [{name: quantize}]",
        "FedPAQ: Reisizadeh et al. 2020 (arXiv:1909.13014): FedAvg with rounded updates of a part of the clients");
    add("compressed_broadcast", Family::Compression, "download", "download: [{name: eden, bits: 4}]",
        "compressed broadcast: Caldas et al. 2018 (arXiv:1812.07210): clients train from a rotated and rounded model; with "
        "error_feedback first, its changes are compressed");
    add("weak_dp", Family::Robust, "upload", "upload: [{name: clip}, {name: gaussian_noise, multiplier: 0.01}]",
        "weak differential privacy: Sun et al. 2019 (arXiv:1911.07963): clipping and a little noise, against backdoors");
    add("fedbuff", Family::Modes, "mode.name", "mode: {name: semi_async, quorum: 10}",
        "FedBuff: Nguyen et al. 2022 (arXiv:2106.06639): the server steps when a buffer of updates is full");
    add("fedasync", Family::Modes, "mode.name", "mode: {name: async}",
        "FedAsync: Xie et al. 2019 (arXiv:1903.03934): each arrival is mixed into the model, by its age");
    add("over_selection", Family::Modes, "mode.quorum", "training: {cohort: 13}, mode: {name: synchronous, quorum: 10}",
        "over-selection: Bonawitz et al. 2019 (arXiv:1902.01046): more clients are asked than a round waits for");
    add("cyclic", Family::Modes, "mode.name", "mode: {name: async, alpha: 1}, training: {cohort: 1}",
        "sequential training: one client after the other goes on with the model of the one before");
    add("splitfed", Family::Modes, "mode.name", "mode: {name: split, cut: LAYER}",
        "SplitFed: Thapa et al. 2022 (arXiv:2004.12088): clients train the first layers, the server the others");
}

Entries all_entries() {
    Entries entries;
    add_strategies(entries);
    add_files(entries);
    add_rules(entries);
    add_all(entries, sampler_catalog(), "sampling.name", "sampling: {{name: {}}}",
            [](const auto&) { return std::optional(Family::Selection); });
    add_all(entries, clients::upload_catalog(), "upload", "upload: [{{name: {}}}]",
            [](const auto& spec) { return std::optional(family_of_step(spec)); });
    add_all(entries, aggregation::attack_catalog(), "attack.name", "attack: {{name: {}}}",
            [](const auto& spec) { return spec.name == "none" ? std::nullopt : std::optional(Family::Attacks); });
    add_all(entries, clients::poison_catalog(), "data.poison.name", "data: {{poison: {{name: {}}}}}",
            [](const auto& spec) { return spec.name == "none" ? std::nullopt : std::optional(Family::Attacks); });
    add_all(entries, mode_catalog(), "mode.name", "mode: {{name: {}}}",
            [](const auto&) { return std::optional(Family::Modes); });
    add_combinations(entries);
    std::ranges::stable_sort(entries, {}, &CatalogedMethod::family);
    return entries;
}

std::string plain_name(std::string name) {
    for (char& letter : name)
        letter = letter == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    return name;
}

/// Other names of methods: of papers, of libraries, and of methods that another one's rule is.
const std::map<std::string, std::string>& other_names() {
    static const std::map<std::string, std::string> names = {{"active_fl", "active"},
                                                             {"backdoor", "trigger"},
                                                             {"boosting", "scaled_update"},
                                                             {"d_psgd", "dpsgd"},
                                                             {"ef", "error_feedback"},
                                                             {"fedalt", "fedrep"},
                                                             {"fedavg_ft", "fine_tuning"},
                                                             {"fedlaavg", "mifa"},
                                                             {"fedmgda+", "fedmgda_plus"},
                                                             {"fedopt", "fedadam"},
                                                             {"geometric_median", "rfa"},
                                                             {"hypcluster", "ifca"},
                                                             {"ipm", "inner_product"},
                                                             {"local", "local_only"},
                                                             {"majority_vote", "sign_majority"},
                                                             {"meamed", "mean_around_median"},
                                                             {"model_replacement", "scaled_update"},
                                                             {"nnm", "nearest_neighbors"},
                                                             {"q_fedavg", "qfedavg"},
                                                             {"qffl", "qfedavg"},
                                                             {"randk", "random_k"},
                                                             {"rlr", "robust_rate"},
                                                             {"scaffnew", "proxskip"},
                                                             {"topk", "top_k"}};
    return names;
}

}  // namespace

const std::vector<CatalogedMethod>& method_catalog() {
    static const Entries entries = all_entries();
    return entries;
}

std::vector<CatalogedMethod> methods_called(const std::string& name) {
    std::vector<CatalogedMethod> found;
    const auto other = other_names().find(plain_name(name));
    const std::string wanted = other != other_names().end() ? other->second : plain_name(name);
    for (const CatalogedMethod& method : method_catalog())
        if (method.name == wanted) found.push_back(method);
    if (!found.empty()) return found;
    if (const auto missing = missing_methods().find(wanted); missing != missing_methods().end())
        throw ConfigError(fmt::format("methods {}: {} is not among fedhive's methods: {}; 'fedhive methods' lists all", name,
                                      missing->second.title, missing->second.why));
    const std::string near = nearest_word(plain_name(name), names_of(method_catalog()));
    throw ConfigError(fmt::format("methods {}: no such method{}; 'fedhive methods' lists all", name,
                                  near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
}

}  // namespace fedhive::sim
