// The catalog: each strategy builds, its parameters are read, checked and handed on.
#include "sim/config/fields.h"
#include "sim/modes/mode_spec.h"
#include "tests/sim/config/config_files.h"

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

/// Where a global parameter of 0 stands after one and after two server steps with the update 1.
std::array<float, 2> two_steps(const Strategy& strategy) {
    std::vector<float> global = {0.0F};
    std::vector<float> next = {0.0F};
    const std::vector<float> update = {1.0F};
    std::array<float, 2> seen{};
    for (float& value : seen) {
        strategy.server_optimizer->step(next, global, {update});
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
    CHECK(names == std::vector<std::string>{"fedavg", "fedavgm", "fedprox", "fedadam", "scaffold", "median"});
    CHECK(names_of(mode_catalog()) == std::vector<std::string>{"synchronous", "semi_async", "async", "gradient_averaging",
                                                               "parameter_server", "hogwild", "split"});
    CHECK_THROWS_AS(make_strategy("fedsgd", {}, Weighting::Uniform), Fault);
}

TEST_CASE("EveryStrategyIsDescribedAndBuilds") {
    for (const StrategySpec& spec : strategy_catalog()) {
        CAPTURE(spec.name);
        CHECK(spec.source.find("arXiv:") != std::string::npos);
        CHECK_FALSE(spec.note.empty());
        CHECK_FALSE(modes_of(spec).empty());
        std::set<std::string> names;
        for (const KeySpec& key : spec.keys) {
            CAPTURE(key.name);
            CHECK(names.insert(key.name).second);
            CHECK(key.range.contains(std::get<double>(key.default_value)));
            CHECK_FALSE(key.doc.empty());
        }
        const RunConfig run = loaded(kMinimal, {"strategy.name=" + spec.name});
        CHECK((run.strategy.weighting == spec.default_weighting));
        CHECK_EQ(run.strategy.values.size(), spec.keys.size());
        const Strategy strategy = make_strategy(spec.name, run.strategy.values, run.strategy.weighting);
        CHECK_EQ(strategy.name, spec.name);
        CHECK(strategy.aggregator != nullptr);
        CHECK(strategy.server_optimizer != nullptr);
        CHECK_EQ(run.strategy.aggregator.name, spec.aggregator);
    }
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
        {"fedadam", "server_lr", 0.01, "above 0", "0.5", "-1"},
        {"fedadam", "beta1", 0.9, "0 or more, below 1", "0", "1"},
        {"fedadam", "beta2", 0.99, "0 or more, below 1", "0", "1.5"},
        {"fedadam", "tau", 0.001, "above 0", "0.5", "0"},
        {"scaffold", "server_lr", 1.0, "above 0", "0.5", "0"},
        {"median", "server_lr", 1.0, "above 0", "0.5", "0"},
    };
    std::size_t in_catalog = 0;
    for (const StrategySpec& spec : strategy_catalog()) in_catalog += spec.keys.size();
    CHECK_EQ(rows.size(), in_catalog);
    for (const Row& row : rows) {
        CAPTURE(row.strategy);
        CAPTURE(row.parameter);
        CHECK_EQ(loaded(kMinimal, {"strategy.name=" + row.strategy}).strategy.values.number(row.parameter), row.default_value);
        CHECK_EQ(loaded(with(row.strategy, row.parameter, row.good)).strategy.values.number(row.parameter),
                 std::stod(row.good));
        CHECK_EQ(error_of(with(row.strategy, row.parameter, row.bad)),
                 fmt::format("c.yaml:7: strategy.{}: {} is out of range; allowed: {}", row.parameter, row.bad, row.allowed));
    }
}

TEST_CASE("ParametersReachTheirParts") {
    const auto build = [](const std::string& name, const Values& values) {
        return make_strategy(name, values, Weighting::Examples);
    };
    const auto steps = [&](const std::string& name, const Values& values) { return two_steps(build(name, values)); };
    CHECK_EQ(build("fedprox", {{"proximal_mu", 0.5}}).objective.proximal_mu, 0.5F);
    CHECK_EQ(build("fedprox", {}).objective.proximal_mu, 0.01F);
    CHECK_EQ(build("fedavg", {}).objective.proximal_mu, 0.0F);
    CHECK((steps("fedavg", {{"server_lr", 0.5}}) == std::array<float, 2>{0.5F, 1.0F}));
    CHECK((steps("fedprox", {}) == std::array<float, 2>{1.0F, 2.0F}));
    CHECK((steps("fedprox", {{"server_lr", 0.5}}) == std::array<float, 2>{0.5F, 1.0F}));
    CHECK((steps("median", {}) == std::array<float, 2>{1.0F, 2.0F}));
    CHECK((steps("median", {{"server_lr", 0.5}}) == std::array<float, 2>{0.5F, 1.0F}));
    CHECK((steps("fedavgm", {{"server_lr", 0.5}, {"server_momentum", 0.5}}) == std::array<float, 2>{0.5F, 1.25F}));
    // v begins at 1/4. m = 1/2, v = 7/16; then m = 3/4, v = 37/64.
    const std::array<float, 2> adam = steps("fedadam", {{"server_lr", 8.0}, {"beta1", 0.5}, {"beta2", 0.75}, {"tau", 0.5}});
    const double first = 8 * 0.5 / (std::sqrt(0.4375) + 0.5);
    CHECK_EQ(static_cast<double>(adam[0]), doctest::Approx(first));
    CHECK_EQ(static_cast<double>(adam[1]), doctest::Approx(first + 8 * 0.75 / (std::sqrt(0.578125) + 0.5)));
}

TEST_CASE("AggregatorIsTheStrategysOwnOrAnother") {
    CHECK_EQ(loaded(kMinimal).strategy.aggregator.name, "mean");
    CHECK_EQ(loaded(kMinimal + "strategy: {name: median}\n").strategy.aggregator.name, "median");
    CHECK_EQ(loaded(kMinimal + "strategy: {name: fedavgm, aggregator: median}\n").strategy.aggregator.name, "median");
    const auto middle_of = [](const AggregatorChoice& aggregator) {
        const Strategy strategy = make_strategy("fedavg", {}, Weighting::Uniform, aggregator);
        strategy.aggregator->zero_init(1, aggregation::MemorySpace::Host);
        const std::vector<std::vector<float>> updates = {{0.0F}, {1.0F}, {8.0F}};
        for (std::size_t i = 0; i < updates.size(); ++i) strategy.aggregator->aggregate({updates[i], i});
        return strategy.aggregator->finish().values.data[0];
    };
    CHECK_EQ(middle_of({}), 3.0F);
    CHECK_EQ(middle_of({"median"}), 1.0F);
    CHECK_THROWS_AS(middle_of({"middle"}), Fault);
    CHECK_EQ(error_of(kMinimal + "strategy: {aggregator: meen}\n"),
             "c.yaml:7: strategy.aggregator: unknown value 'meen'; allowed: " + names_in(aggregation::aggregator_catalog()) +
                 "; did you mean 'mean'?");
    CHECK_EQ(error_of(kMinimal + "strategy: {aggregator: median}\nmode: {name: semi_async, quorum: 2}\n"),
             "c.yaml:7: strategy.aggregator: aggregator 'median' does not go with mode 'semi_async'; allowed: mean, or modes "
             "synchronous, split");
    CHECK_EQ(error_of(kMinimal + "strategy: {aggregator: median}\nmode: {name: hogwild}\n"),
             "c.yaml:7: strategy.aggregator: aggregator 'median' does not go with mode 'hogwild'; allowed: mean, or modes "
             "synchronous, split");
}

TEST_CASE("WeightingIsExamplesOrUniform") {
    CHECK_EQ(make_strategy("fedavg", {}, Weighting::Examples).weight(7), 7.0);
    CHECK_EQ(make_strategy("fedavg", {}, Weighting::Uniform).weight(7), 1.0);
    CHECK((loaded(kMinimal + "strategy: {weighting: uniform}\n").strategy.weighting == Weighting::Uniform));
    CHECK((loaded(kMinimal + "strategy: {name: median}\n").strategy.weighting == Weighting::Uniform));
    CHECK((loaded(kMinimal + "strategy: {name: median, weighting: examples}\n").strategy.weighting == Weighting::Examples));
}

TEST_SUITE_END();
