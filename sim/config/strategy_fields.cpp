#include "sim/config/fields.h"
#include "sim/config/method_file.h"
#include "sim/config/named_methods.h"

#include <fmt/format.h>

#include <algorithm>

namespace fedhive::sim {

namespace {

/// strategy.gradient: a method of one formula, beside a strategy whose clients have no rule of their own.
void describe_gradient(Visitor& visitor, StrategyConfig& strategy) {
    visitor.field({.name = "gradient",
                   .target = &strategy.gradient,
                   .default_note = "–",
                   .doc = "A formula of the gradient in each local step, such as `g + 0.1 * (w - w_t)`, for a strategy whose "
                          "local rule is plain. docs/methods.md."});
    if (strategy.gradient.empty()) return;
    if (!strategy.file.empty())
        return visitor.refuse("gradient", "'gradient' and 'file' are both given; keep one, or write the formula into the file");
    if (const std::string& own = strategy_spec(strategy.name).local; own != "plain")
        return visitor.refuse("gradient",
                              fmt::format("strategy '{}' has the local rule '{}'; a formula goes with strategies whose local "
                                          "rule is plain, such as fedavg",
                                          strategy.name, own));
    try {
        strategy.parts.method = method_of_gradient(strategy.gradient, strategy.name);
    } catch (const ConfigError& error) {
        return visitor.refuse("gradient", error.what());
    }
}

/// A method's name stands for its file.
void take_named_method(StrategyConfig& strategy) {
    if (const NamedMethod* method = named_method(strategy.name); method != nullptr) {
        strategy.file = method->file;
        strategy.name = "fedavg";
    }
}

/// strategy.file: its method, and the keys that it brings.
void describe_method(Visitor& visitor, StrategyConfig& strategy) {
    const std::string named = strategy.name;
    take_named_method(strategy);
    const std::filesystem::path of_name = strategy.file;
    visitor.field({.name = "file",
                   .target = &strategy.file,
                   .default_note = "–",
                   .may_change = true,
                   .doc =
                       "A method file instead of a named strategy: formulas of a client's gradient, of what it remembers "
                       "and sends, and of the server, as Python (`.py`, traced once; functions with `python=True` are run by "
                       "Python) or YAML; relative to the config file. Its keys stand beside this one. docs/methods.md."});
    visitor.field(
        {.name = "file_sha256",
         .target = &strategy.file_sha256,
         .default_note = "computed from the file",
         .doc = "SHA-256 of the method's formulas, memories and keys, or of the file if Python runs a part of it; a file with "
                "another is refused. The resolved config of a run stores it."});
    if (strategy.file.empty() && !strategy.file_sha256.empty())
        return visitor.refuse("file_sha256", "is the SHA-256 of strategy.file, which is missing; remove it, or give the file");
    if (strategy.file.empty()) return;
    if (named != strategy.name && of_name != strategy.file)
        return visitor.refuse("name", "'name' and 'file' are both given; keep one");
    StrategyParts& parts = strategy.parts;
    try {
        if (parts.method == nullptr || parts.method->file != strategy.file) parts.method = load_method(strategy.file);
    } catch (const ConfigError& error) {
        return visitor.refuse(of_name.empty() ? "file" : "name", error.what());
    }
    if (strategy.name != "fedavg") return visitor.refuse("name", "'name' and 'file' are both given; keep one");
    if (!strategy.file_sha256.empty() && strategy.file_sha256 != parts.method->sha256)
        return visitor.refuse("file_sha256", fmt::format("{} has changed since: its method's SHA-256 is {}; another method is "
                                                         "another experiment; its run's folder keeps the former as {}",
                                                         strategy.file.string(), parts.method->sha256, kept_as(*parts.method)));
    strategy.file_sha256 = parts.method->sha256;
    describe_keys(visitor, "file", parts.method->name, parts.of_method, {{parts.method->name, &parts.method->keys}});
    if (parts.method->rule != nullptr) parts.rule = parts.method->rule;
    if (parts.method->visit != nullptr) parts.visit = parts.method->visit;
    if (parts.method->rule != nullptr) parts.of_rule = parts.of_method;
    if (parts.method->visit != nullptr) parts.of_visit = parts.of_method;
}

/// A Python file of the user's, given by strategy.KEY, and the key of its SHA-256.
struct PythonFile {
    std::string key;
    std::filesystem::path& file;
    std::string& sha256;
    const char* doc;   // of the key
    const char* kept;  // its copy's name in a run's folder
};

/// Describes both keys. load: reads the file and returns its SHA-256; throws ConfigError.
template <typename Load>
void describe_python(Visitor& visitor, const PythonFile& given, const Load& load) {
    const std::string sha256_key = given.key + "_sha256";
    visitor.field({.name = given.key, .target = &given.file, .default_note = "–", .may_change = true, .doc = given.doc});
    visitor.field({.name = sha256_key,
                   .target = &given.sha256,
                   .default_note = "computed from the file",
                   .doc = "SHA-256 of that file; another is refused. The resolved config of a run stores it."});
    if (given.file.empty() && !given.sha256.empty())
        return visitor.refuse(
            sha256_key, fmt::format("is the SHA-256 of strategy.{}, which is missing; remove it, or give the file", given.key));
    if (given.file.empty()) return;
    std::string found;
    try {
        found = load();
    } catch (const ConfigError& error) {
        return visitor.refuse(given.key, error.what());
    }
    if (!given.sha256.empty() && given.sha256 != found)
        return visitor.refuse(
            sha256_key, fmt::format("{} has changed since: its SHA-256 is {}; another {} is another experiment; its run's "
                                    "folder keeps the former as {}",
                                    given.file.string(), found, given.key, given.kept));
    given.sha256 = found;
}

/// Throws ConfigError if two files have a key of the same name.
void check_keys_apart(const PythonCode& code, const PythonCode* other, const Method* method) {
    const auto check = [&](const std::vector<KeySpec>& keys, const std::filesystem::path& file) {
        for (const KeySpec& key : code.keys)
            if (std::ranges::find(keys, key.name, &KeySpec::name) != keys.end())
                throw ConfigError(fmt::format("{} and {} both have a key '{}'; rename one of them", code.file.string(),
                                              file.string(), key.name));
    };
    if (other != nullptr) check(other->keys, other->file);
    if (method != nullptr) check(method->keys, method->file);
}

/// strategy.rule: Python in place of an aggregator.
void describe_rule(Visitor& visitor, StrategyConfig& strategy) {
    StrategyParts& parts = strategy.parts;
    describe_python(
        visitor,
        {.key = "rule",
         .file = strategy.rule,
         .sha256 = strategy.rule_sha256,
         .doc =
             "A Python file whose function `aggregate` combines the updates of a round, in place of `aggregator`; "
             "relative to the config file. It runs once a round, in a process of its own, over shared memory. Its keys stand "
             "beside this one. docs/methods.md.",
         .kept = kRuleSource},
        [&] {
            const Method* const method = parts.method.get();
            if (method != nullptr && (method->formulas.sets_weights() || method->equal_weights || method->rule != nullptr))
                throw ConfigError(fmt::format("{} {}; keep one", method->file.string(),
                                              method->rule != nullptr
                                                  ? "has @fh.server(python=True), which combines the updates"
                                                  : "weighs the updates itself"));
            if (parts.rule == nullptr || parts.rule->file != strategy.rule)
                parts.rule = load_python(strategy.rule, "server", "strategy.rule")->rule;
            check_keys_apart(*parts.rule, nullptr, method);
            return parts.rule->sha256;
        });
    if (parts.rule != nullptr && !strategy.rule.empty())
        describe_keys(visitor, "rule", "rule", parts.of_rule, {{"rule", &parts.rule->keys}});
}

/// strategy.visit: Python in place of local training.
void describe_visit(Visitor& visitor, StrategyConfig& strategy) {
    StrategyParts& parts = strategy.parts;
    describe_python(
        visitor,
        {.key = "visit",
         .file = strategy.visit,
         .sha256 = strategy.visit_sha256,
         .doc = "A Python file whose function `visit` is a client's work in a round, in place of local training; relative to "
                "the config file. Each worker has a Python process that runs it, over shared memory. Its keys stand beside "
                "this one. "
                "docs/methods.md.",
         .kept = kVisitSource},
        [&] {
            const Method* const method = parts.method.get();
            if (method != nullptr && method->visit != nullptr)
                throw ConfigError(fmt::format("{} has @fh.visit(python=True); keep one", method->file.string()));
            if (parts.visit == nullptr || parts.visit->file != strategy.visit)
                parts.visit = load_python(strategy.visit, "visit", "strategy.visit")->visit;
            check_keys_apart(*parts.visit, parts.rule.get(), method);
            return parts.visit->sha256;
        });
    if (parts.visit != nullptr && !strategy.visit.empty())
        describe_keys(visitor, "visit", "visit", parts.of_visit, {{"visit", &parts.visit->keys}});
}

/// A part has no key of the name that one of a file of the user's has.
template <class Catalog>
void check_part_keys(Visitor& visitor, const StrategyParts& parts, const char* part, const std::string& chosen,
                     const Catalog& catalog) {
    const auto entry = std::ranges::find(catalog, chosen, [](const auto& one) { return one.name; });
    if (entry == catalog.end()) return;
    const auto check = [&](const std::vector<KeySpec>& keys, const std::string& file, const std::string& blamed) {
        for (const KeySpec& key : keys)
            if (std::ranges::find(entry->keys, key.name, &KeySpec::name) != entry->keys.end())
                visitor.refuse(blamed, fmt::format("{} has a key '{}', and so has {} '{}'; rename the file's", file, key.name,
                                                   part, chosen));
    };
    if (parts.rule != nullptr && parts.rule->key == "strategy.rule") check(parts.rule->keys, parts.rule->file.string(), "rule");
    if (parts.visit != nullptr && parts.visit->key == "strategy.visit")
        check(parts.visit->keys, parts.visit->file.string(), "visit");
    if (parts.method != nullptr) check(parts.method->keys, parts.method->file.string(), part);
}

}  // namespace

void describe_strategy(Visitor& visitor, StrategyConfig& strategy) {
    visitor.begin({.name = "strategy",
                   .flow = true,
                   .doc = "How updates become the next global model. name chooses a strategy; local, pre_aggregation, "
                          "aggregator and server replace its parts. The keys of the parts stand beside them."});
    visitor.field({.name = "name",
                   .target = &strategy.name,
                   .choices = names_of(strategy_catalog()),
                   .also = names_of_methods(),
                   .doc = "One of the strategies below, or a method of configs/methods, whose file it stands for "
                          "(`fedhive methods` lists them)."});
    describe_method(visitor, strategy);
    describe_gradient(visitor, strategy);
    describe_rule(visitor, strategy);
    describe_visit(visitor, strategy);
    visitor.field(
        {.name = "weighting",
         .target = &strategy.weighting,
         .default_note = "the strategy's own",
         .doc = "Weight of an update. examples: the number of its client's training examples (n_k); uniform: equal weights."});
    strategy.parts = parts_of(strategy.name, std::move(strategy.parts));
    const auto part = [&](const char* key, Chosen& choice, const auto& catalog, const char* doc) {
        std::optional<Condition> never;  // the method has the part
        if (choice.name == kFormula || choice.name == kFormulaWithRoot)
            never = strategy.file.empty() ? Condition{strategy.gradient, "gradient", {}}
                                          : Condition{strategy.file.string(), "file", {}};
        if (choice.name == kPythonRule)
            never = strategy.rule.empty() ? Condition{strategy.file.string(), "file", {}}
                                          : Condition{strategy.rule.string(), "rule", {}};
        visitor.field({.name = key,
                       .target = &choice.name,
                       .choices = names_of(catalog),
                       .when = never,
                       .default_note = "the strategy's own",
                       .doc = doc + summaries_of(catalog)});
        check_part_keys(visitor, strategy.parts, key, choice.name, catalog);
        describe_keys(visitor, key, choice.name, choice.values, choices_of(catalog));
    };
    part("local", strategy.parts.local, local_rule_catalog(), "The local objective that clients minimise. ");
    part("pre_aggregation", strategy.parts.pre_aggregation, aggregation::pre_aggregation_catalog(),
         "What the rule combines: the updates, or means of groups of them. ");
    part("aggregator", strategy.parts.aggregator, aggregation::aggregator_catalog(),
         "The rule that combines the updates of a round into one. ");
    part("server", strategy.parts.server, aggregation::server_optimizer_catalog(),
         "The server's optimiser, which applies the combined update. ");
    visitor.end();
}

}  // namespace fedhive::sim
