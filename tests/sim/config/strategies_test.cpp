// The catalog of strategies: each builds, and its parameters are read, checked and passed on.
#include "sim/config/fields.h"
#include "sim/modes/mode_spec.h"
#include "tests/aggregation/server_steps.h"
#include "tests/sim/config/config_files.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <set>

using namespace fedhive;
using namespace fedhive::sim;
using namespace fedhive::sim::testing;

namespace {

std::string with(const std::string& strategy, const std::string& parameter, const std::string& value) {
    return kMinimal + fmt::format("strategy: {{name: {}, {}: {}}}\n", strategy, parameter, value);
}

/// A global parameter of 0 after one and after two server steps with the update 1.
std::array<float, 2> two_steps(const Strategy& strategy) {
    std::vector<float> global = {0.0F};
    std::vector<float> next = {0.0F};
    const std::vector<float> update = {1.0F};
    std::array<float, 2> seen{};
    const auto server = aggregation::testing::server_by(strategy.on_server, aggregation::testing::scene_of(1));
    for (float& value : seen) {
        server->step(next, global, {update});
        value = next[0];
        global = next;
    }
    return seen;
}

}  // namespace

TEST_SUITE_BEGIN("Strategies");

TEST_CASE("CatalogInOrder") {
    std::vector<std::string> names;
    for (const StrategySpec& spec : strategy_catalog()) names.push_back(spec.name);
    CHECK(names == std::vector<std::string>{
                       "fedavg", "fedavgm", "fedprox",  "fedadam",      "fedyogi", "fedadagrad",   "scaffold",
                       "feddyn", "median",  "krum",     "trimmed_mean", "bulyan",  "rfa",          "centered_clipping",
                       "fedexp", "fednova", "qfedavg",  "term",         "afl",     "fedmgda_plus", "fedadp",
                       "fedfv",  "dnc",     "feddisco", "fltrust",      "zeno",    "dp_ftrl",      "foolsgold"});
    CHECK(names_of(mode_catalog()) == std::vector<std::string>{"synchronous", "semi_async", "async", "gradient_averaging",
                                                               "parameter_server", "hogwild", "split"});
    CHECK(names_of(local_rule_catalog()) == std::vector<std::string>{"plain", "prox", "scaffold", "dynamic"});
    CHECK_THROWS_AS(make_strategy("fedsgd", Weighting::Uniform), Fault);
}

TEST_CASE("EveryStrategyIsDescribedAndBuilds") {
    for (const StrategySpec& spec : strategy_catalog()) {
        CAPTURE(spec.name);
        CHECK((spec.source.find("arXiv:") != std::string::npos || spec.source.find("NDSS") != std::string::npos));
        CHECK_FALSE(spec.note.empty());
        CHECK_FALSE(modes_of(parts_of(spec.name)).empty());
        const RunConfig run =
            loaded(kMinimal, {"strategy.name=" + spec.name, "data.partition.clients=8", "data.root_examples=9",
                              spec.name == "dp_ftrl" ? "upload=[{name: clip}]" : "upload=[]"});
        CHECK((run.strategy.weighting == spec.default_weighting));
        CHECK_EQ(run.strategy.parts.local.name, spec.local);
        CHECK_EQ(run.strategy.parts.aggregator.name, spec.aggregator);
        CHECK_EQ(run.strategy.parts.server.name, spec.server);
        CHECK_EQ(run.strategy.parts.local.values.size(), local_rule_spec(spec.local).keys.size());
        CHECK_EQ(run.strategy.parts.server.values.size(), aggregation::server_optimizer_spec(spec.server).keys.size());
        const Strategy strategy = make_strategy(spec.name, run.strategy.weighting, run.strategy.parts);
        CHECK_EQ(strategy.name, spec.name);
        CHECK(strategy.aggregator != nullptr);
        CHECK(strategy.on_server.has(aggregation::formulas::Place::Server));
    }
}

TEST_CASE("EveryPartIsDescribed") {
    const auto check_keys = [](const auto& catalog) {
        for (const auto& spec : catalog) {
            CAPTURE(spec.name);
            CHECK_FALSE(spec.summary.empty());
            std::set<std::string> names;
            for (const KeySpec& key : spec.keys) {
                CAPTURE(key.name);
                CHECK(names.insert(key.name).second);
                CHECK_FALSE(key.doc.empty());
                if (std::holds_alternative<std::optional<std::int64_t>>(key.default_value)) continue;
                if (std::holds_alternative<std::optional<double>>(key.default_value)) continue;
                const auto* real = std::get_if<double>(&key.default_value);
                CHECK(key.range.contains(real != nullptr ? *real
                                                         : static_cast<double>(std::get<std::int64_t>(key.default_value))));
            }
        }
    };
    check_keys(local_rule_catalog());
    check_keys(aggregation::pre_aggregation_catalog());
    check_keys(aggregation::aggregator_catalog());
    check_keys(aggregation::server_optimizer_catalog());
}

TEST_CASE("EveryParameterIsReadAndChecked") {
    struct Row {
        std::string strategy, parameter;
        double default_value;
        std::string allowed, good, bad;
    };
    const std::vector<Row> rows = {
        {"fedavg", "server_lr", 1.0, "above 0", "0.5", "0"},
        {"fedavgm", "server_lr", 1.0, "above 0", "0.5", "0"},
        {"fedavgm", "server_momentum", 0.9, "0 or more, below 1", "0", "1"},
        {"fedprox", "server_lr", 1.0, "above 0", "0.5", "0"},
        {"fedprox", "proximal_mu", 0.01, "0 or more", "0", "-0.5"},
        {"fedadagrad", "server_lr", 0.01, "above 0", "0.5", "-1"},
        {"fedadagrad", "beta1", 0.0, "0 or more, below 1", "0.5", "1"},
        {"fedadagrad", "tau", 0.001, "above 0", "0.5", "0"},
        {"fedyogi", "server_lr", 0.01, "above 0", "0.5", "-1"},
        {"fedyogi", "beta1", 0.9, "0 or more, below 1", "0", "1"},
        {"fedyogi", "beta2", 0.99, "0 or more, below 1", "0", "1.5"},
        {"fedyogi", "tau", 0.001, "above 0", "0.5", "0"},
        {"fedadam", "server_lr", 0.01, "above 0", "0.5", "-1"},
        {"fedadam", "beta1", 0.9, "0 or more, below 1", "0", "1"},
        {"fedadam", "beta2", 0.99, "0 or more, below 1", "0", "1.5"},
        {"fedadam", "tau", 0.001, "above 0", "0.5", "0"},
        {"scaffold", "server_lr", 1.0, "above 0", "0.5", "0"},
        {"feddyn", "server_lr", 1.0, "above 0", "0.5", "0"},
        {"feddyn", "alpha", 0.01, "above 0", "0.1", "0"},
        {"median", "server_lr", 1.0, "above 0", "0.5", "0"},
        {"krum", "server_lr", 1.0, "above 0", "0.5", "0"},
        {"trimmed_mean", "server_lr", 1.0, "above 0", "0.5", "0"},
        {"bulyan", "server_lr", 1.0, "above 0", "0.5", "0"},
        {"rfa", "server_lr", 1.0, "above 0", "0.5", "0"},
        {"centered_clipping", "server_lr", 1.0, "above 0", "0.5", "0"},
        {"fedexp", "server_lr", 1.0, "above 0", "0.5", "0"},
        {"fednova", "server_lr", 1.0, "above 0", "0.5", "0"},
        {"qfedavg", "server_lr", 1.0, "above 0", "0.5", "0"},
        {"term", "server_lr", 1.0, "above 0", "0.5", "0"},
        {"afl", "server_lr", 1.0, "above 0", "0.5", "0"},
        {"fedmgda_plus", "server_lr", 1.0, "above 0", "0.5", "0"},
        {"fedadp", "server_lr", 1.0, "above 0", "0.5", "0"},
        {"fedfv", "server_lr", 1.0, "above 0", "0.5", "0"},
        {"dnc", "server_lr", 1.0, "above 0", "0.5", "0"},
        {"feddisco", "server_lr", 1.0, "above 0", "0.5", "0"},
        {"fltrust", "server_lr", 1.0, "above 0", "0.5", "0"},
        {"zeno", "server_lr", 1.0, "above 0", "0.5", "0"},
        {"dp_ftrl", "server_lr", 1.0, "above 0", "0.5", "0"},
        {"dp_ftrl", "server_momentum", 0.0, "0 or more, below 1", "0.9", "1"},
        {"foolsgold", "server_lr", 1.0, "above 0", "0.5", "0"},
    };
    std::size_t in_catalog = 0;
    for (const StrategySpec& spec : strategy_catalog())
        in_catalog += local_rule_spec(spec.local).keys.size() + aggregation::server_optimizer_spec(spec.server).keys.size();
    in_catalog -= 3;  // scaffold's option, and of dp_ftrl what may be left out: no real numbers
    CHECK_EQ(rows.size(), in_catalog);
    for (const Row& row : rows) {
        CAPTURE(row.strategy);
        CAPTURE(row.parameter);
        const auto value = [&](const RunConfig& run) {
            const Values& on_clients = run.strategy.parts.local.values;
            return (on_clients.find(row.parameter) != nullptr ? on_clients : run.strategy.parts.server.values)
                .number(row.parameter);
        };
        const std::string enough = "data.partition.clients=8";  // for Bulyan
        const std::string root = "data.root_examples=9";        // for FLTrust and Zeno
        const std::string clip = row.strategy == "dp_ftrl" ? "upload=[{name: clip}]" : "upload=[]";
        CHECK_EQ(value(loaded(kMinimal, {"strategy.name=" + row.strategy, enough, root, clip})), row.default_value);
        CHECK_EQ(value(loaded(with(row.strategy, row.parameter, row.good), {enough, root, clip})), std::stod(row.good));
        check_message("config", row.strategy + " " + row.parameter,
                      error_of(with(row.strategy, row.parameter, row.bad), {enough, root, clip}),
                      "c.yaml:7: strategy." + row.parameter);
    }
}

TEST_CASE("ParametersReachTheirParts") {
    const auto locally = [](const std::string& name, const Values& values) {
        return make_strategy(name, Weighting::Examples, {.local = {"", values}}).method.keys;
    };
    const auto steps = [](const std::string& name, const Values& values) {
        return two_steps(make_strategy(name, Weighting::Examples, {.server = {"", values}}));
    };
    CHECK_EQ(locally("fedprox", {{"proximal_mu", 0.5}}).at("proximal_mu"), 0.5);
    CHECK_EQ(locally("fedprox", {}).at("proximal_mu"), 0.01);
    CHECK(locally("fedavg", {}).empty());
    CHECK_EQ(make_strategy("feddyn", Weighting::Uniform, {.local = {"", {{"alpha", 0.5}}}}).method.keys.at("alpha"), 0.5);
    using aggregation::formulas::Place;
    const auto end_of = [](std::int64_t option) {
        return make_strategy("scaffold", Weighting::Uniform, {.local = {"", {{"option", option}}}}).method.lines.at(Place::End);
    };
    CHECK(end_of(1) == aggregation::formulas::Lines{"d = g_t - c_k", "c_k = g_t"});
    CHECK(end_of(2).back() == "c_k = c_k + change");
    CHECK((steps("fedavg", {{"server_lr", 0.5}}) == std::array<float, 2>{0.5F, 1.0F}));
    CHECK((steps("fedprox", {}) == std::array<float, 2>{1.0F, 2.0F}));
    CHECK((steps("median", {{"server_lr", 0.5}}) == std::array<float, 2>{0.5F, 1.0F}));
    CHECK((steps("fedavgm", {{"server_lr", 0.5}, {"server_momentum", 0.5}}) == std::array<float, 2>{0.5F, 1.25F}));
    // v begins at 1/4. m = 1/2, v = 7/16; then m = 3/4, v = 37/64.
    const std::array<float, 2> adam = steps("fedadam", {{"server_lr", 8.0}, {"beta1", 0.5}, {"beta2", 0.75}, {"tau", 0.5}});
    const double first = 8 * 0.5 / (std::sqrt(0.4375) + 0.5);
    CHECK_EQ(static_cast<double>(adam[0]), doctest::Approx(first));
    CHECK_EQ(static_cast<double>(adam[1]), doctest::Approx(first + 8 * 0.75 / (std::sqrt(0.578125) + 0.5)));
    // Here v is 5/4.
    CHECK_EQ(static_cast<double>(steps("fedadagrad", {{"server_lr", 8.0}, {"tau", 0.5}})[0]),
             doctest::Approx(8 / (std::sqrt(1.25) + 0.5)));
    // Here v is 1/4 + 1/4.
    CHECK_EQ(static_cast<double>(steps("fedyogi", {{"server_lr", 8.0}, {"beta1", 0.0}, {"beta2", 0.75}, {"tau", 0.5}})[0]),
             doctest::Approx(8 / (std::sqrt(0.5) + 0.5)));
}

TEST_CASE("AggregatorIsTheStrategysOwnOrAnother") {
    CHECK_EQ(loaded(kMinimal).strategy.parts.aggregator.name, "mean");
    CHECK_EQ(loaded(kMinimal + "strategy: {name: median}\n").strategy.parts.aggregator.name, "median");
    CHECK_EQ(loaded(kMinimal + "strategy: {name: fedavgm, aggregator: median}\n").strategy.parts.aggregator.name, "median");
    const auto middle_of = [](const Chosen& aggregator) {
        const Strategy strategy = make_strategy("fedavg", Weighting::Uniform, {.aggregator = aggregator});
        strategy.aggregator->zero_init(1, aggregation::MemorySpace::Host);
        const std::vector<std::vector<float>> updates = {{0.0F}, {1.0F}, {8.0F}};
        for (std::size_t i = 0; i < updates.size(); ++i) strategy.aggregator->aggregate({updates[i], i});
        return strategy.aggregator->finish().values.data[0];
    };
    CHECK_EQ(middle_of({}), 3.0F);
    CHECK_EQ(middle_of({"median"}), 1.0F);
    CHECK_EQ(middle_of({"trimmed_mean", {{"trim", 0.4}}}), 1.0F);
    CHECK_THROWS_AS(middle_of({"middle"}), Fault);
    CHECK_ERROR_AT(error_of(kMinimal + "strategy: {aggregator: meen}\n"), "c.yaml:7: strategy.aggregator");
    check_message("config", "median in semi_async",
                  error_of(kMinimal + "strategy: {aggregator: median}\nmode: {name: semi_async, quorum: 2}\n"),
                  "c.yaml:7: strategy.aggregator");
    check_message("config", "median in hogwild", error_of(kMinimal + "strategy: {aggregator: median}\nmode: {name: hogwild}\n"),
                  "c.yaml:7: strategy.aggregator");
}

TEST_CASE("PartsAreTheStrategysOwnOrOthersWithTheirKeys") {
    const RunConfig run =
        loaded(kMinimal + "strategy: {name: fedprox, proximal_mu: 0.5, aggregator: median, server: adam, beta1: 0.5}\n");
    CHECK_EQ(run.strategy.parts.local.name, "prox");
    CHECK_EQ(run.strategy.parts.local.values.number("proximal_mu"), 0.5);
    CHECK_EQ(run.strategy.parts.server.values.number("beta1"), 0.5);
    CHECK_EQ(run.strategy.parts.server.values.number("server_lr"), 0.01);
    CHECK(to_yaml(run).find("local: prox, proximal_mu: 0.5, pre_aggregation: none, aggregator: median, server: adam, "
                            "server_lr: 0.01, beta1: 0.5") != std::string::npos);
    CHECK_ERROR_AT(error_of(kMinimal + "strategy: {server: adamm}\n"), "c.yaml:7: strategy.server");
    CHECK_ERROR_AT(error_of(kMinimal + "strategy: {aggregator: median, pre_aggregation: buckets}\n"),
                   "c.yaml:7: strategy.pre_aggregation");
    CHECK_ERROR_AT(error_of(kMinimal + "strategy: {aggregator: median, bucket_size: 3}\n"), "c.yaml:7: strategy.bucket_size");
    check_message("config", "bucketing before the mean", error_of(kMinimal + "strategy: {pre_aggregation: bucketing}\n"),
                  "c.yaml:7: strategy.pre_aggregation");
    check_message("config", "more buckets than updates",
                  error_of(kMinimal + "strategy: {name: krum, pre_aggregation: bucketing, bucket_size: 3, byzantine: 0}\n"),
                  "c.yaml: training.cohort");
    CHECK_ERROR_AT(error_of(kMinimal + "strategy: {name: median, pre_aggregation: nearest_neighbors, mixed_without: 4}\n"),
                   "c.yaml: training.cohort");
    CHECK_ERROR_AT(error_of(kMinimal + "strategy: {local: proxy}\n"), "c.yaml:7: strategy.local");
    CHECK_ERROR_AT(error_of(kMinimal + "strategy: {name: fedadam, server: sgd, beta1: 0.5}\n"), "c.yaml:7: strategy.beta1");
    check_message("config", "adam in async", error_of(kMinimal + "strategy: {server: adam}\nmode: {name: async}\n"),
                  "c.yaml:7: strategy.server");
    check_message("config", "prox in hogwild", error_of(kMinimal + "strategy: {local: prox}\nmode: {name: hogwild}\n"),
                  "c.yaml:7: strategy.local");
    CHECK_EQ(loaded(kMinimal + "strategy: {name: fedadam, server: sgd}\nmode: {name: async}\n").mode.name, "async");
    CHECK_ERROR_AT(error_of(kMinimal + "strategy: {local: scaffold, weighting: uniform, aggregator: median}\n"),
                   "c.yaml:7: strategy.aggregator");
    CHECK_ERROR_AT(error_of(kMinimal + "strategy: {local: scaffold}\n"), "c.yaml: strategy.weighting");
}

TEST_CASE("WeightingIsExamplesOrUniform") {
    CHECK_EQ(make_strategy("fedavg", Weighting::Examples).weight(7), 7.0);
    CHECK_EQ(make_strategy("fedavg", Weighting::Uniform).weight(7), 1.0);
    CHECK((loaded(kMinimal + "strategy: {weighting: uniform}\n").strategy.weighting == Weighting::Uniform));
    CHECK((loaded(kMinimal + "strategy: {name: median}\n").strategy.weighting == Weighting::Uniform));
    CHECK((loaded(kMinimal + "strategy: {name: median, weighting: examples}\n").strategy.weighting == Weighting::Examples));
}

TEST_CASE("StrategyThatDoesNotRunInTheMode") {
    const auto error = [](const std::string& strategy, const std::string& mode) {
        return error_of(kMinimal + "strategy: {name: " + strategy + "}\nmode: {name: " + mode + "}\n");
    };
    check_message("config", "fedprox", error("fedprox", "hogwild"), "c.yaml:8: mode.name");
    check_message("config", "fedavgm", error("fedavgm", "async"), "c.yaml:8: mode.name");
    check_message("config", "median", error("median", "semi_async, quorum: 2"), "c.yaml:8: mode.name");
}

TEST_SUITE_END();
