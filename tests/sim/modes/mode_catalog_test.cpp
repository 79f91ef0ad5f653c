// The catalog of modes: each is described, builds, and agrees with its spec.
#include "sim/config/load_config.h"
#include "sim/modes/mode_spec.h"
#include "sim/strategies/strategy.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

/// The mode for four clients, with default keys.
Mode four_in(const ModeSpec& spec) { return spec.build({.values = completed({}, spec.keys), .cohort = 4}); }

bool is_key(const std::string& name) {
    const std::vector<std::string> keys = config_keys();
    return std::find(keys.begin(), keys.end(), name) != keys.end();
}

/// "| a | b |" -> a, b; empty for other lines.
std::vector<std::string> cells_of(const std::string& line) {
    std::vector<std::string> cells;
    if (!line.starts_with("| ")) return cells;
    for (std::size_t at = 2, end = 0; (end = line.find(" |", at)) != std::string::npos; at = end + 3)
        cells.push_back(line.substr(at, end - at));
    return cells;
}

/// The column `title` of a page's table, by the row's first cell.
std::map<std::string, std::string> column_of(const std::string& page, const std::string& title) {
    std::map<std::string, std::string> column;
    std::ifstream lines(fedhive::testing::source_folder() / page);
    std::size_t index = 0;  // of the column; 0: outside the table
    for (std::string line; std::getline(lines, line);) {
        const std::vector<std::string> cells = cells_of(line);
        if (!line.starts_with("|")) index = 0;
        if (index > 0 && index < cells.size()) column[cells[0]] = cells[index];
        const auto head = std::find(cells.begin(), cells.end(), title);
        if (head != cells.end()) index = static_cast<std::size_t>(head - cells.begin());
    }
    return column;
}

/// The names that a cell refers to: "`a` and `b`", "all", or "all but `a`".
std::vector<std::string> meant_by(const std::string& cell, const std::vector<std::string>& names) {
    const bool others = cell.starts_with("all");
    std::vector<std::string> meant;
    for (const std::string& name : names)
        if ((cell.find("`" + name + "`") != std::string::npos) != others) meant.push_back(name);
    return meant;
}

}  // namespace

TEST_SUITE("ModeCatalog") {
    TEST_CASE("EveryModeIsDescribedAndHasKeysOfTheConfig") {
        std::set<std::string> names;
        for (const ModeSpec& spec : mode_catalog()) {
            CAPTURE(spec.name);
            CHECK(names.insert(spec.name).second);
            CHECK(&mode_spec(spec.name) == &spec);
            CHECK_FALSE(spec.summary.empty());
            for (const KeySpec& key : spec.keys) {
                CAPTURE(key.name);
                CHECK(is_key("mode." + key.name));
                CHECK_FALSE(key.doc.empty());
            }
            for (const KeyLimit& limit : spec.limits) CHECK_MESSAGE(is_key(limit.key), limit.key);
            if (!spec.rate_key.empty()) CHECK_MESSAGE(is_key(spec.rate_key), spec.rate_key);
        }
        CHECK_THROWS_AS(mode_spec("gossip"), Fault);
    }

    TEST_CASE("StrategiesRunWhereTheyHaveWhatTheyAskFor") {
        using Names = std::vector<std::string>;
        const auto of = [](const std::string& strategy) { return modes_of(parts_of(strategy)); };
        Names all;
        for (const ModeSpec& spec : mode_catalog()) all.push_back(spec.name);
        CHECK(of("fedavg") == all);
        CHECK(of("fedavgm") == Names{"synchronous", "semi_async", "split"});
        CHECK(of("fedadam") == Names{"synchronous", "semi_async", "split"});
        CHECK(of("fedprox") == Names{"synchronous", "semi_async", "async", "split"});
        CHECK(of("median") == Names{"synchronous", "split"});
        CHECK(of("krum") == Names{"synchronous", "split"});
        CHECK(of("scaffold") == Names{"synchronous"});
        CHECK(of("feddyn") == Names{"synchronous"});
        CHECK(modes_of(StrategyParts{.local = {"prox"}, .aggregator = {"mean"}, .server = {"adam"}}) ==
              Names{"synchronous", "semi_async", "split"});
    }

    TEST_CASE("PagesSayWhichStrategiesRunInWhichModes") {
        const auto of_modes = column_of("docs/modes.md", "Strategies");
        auto of_strategies = column_of("docs/strategies.md", "Modes");
        of_strategies.erase("–");  // rules without a strategy
        REQUIRE(of_modes.size() == mode_catalog().size());
        REQUIRE(of_strategies.size() == strategy_catalog().size());
        std::map<std::string, std::vector<std::string>> strategies_of;
        for (const StrategySpec& strategy : strategy_catalog()) {
            CAPTURE(strategy.name);
            const std::vector<std::string> modes = modes_of(parts_of(strategy.name));
            CHECK(meant_by(of_strategies.at("`" + strategy.name + "`"), names_of(mode_catalog())) == modes);
            for (const std::string& mode : modes) strategies_of[mode].push_back(strategy.name);
        }
        for (const ModeSpec& mode : mode_catalog()) {
            CAPTURE(mode.name);
            CHECK(meant_by(of_modes.at("`" + mode.name + "`"), names_of(strategy_catalog())) == strategies_of[mode.name]);
        }
    }

    TEST_CASE("TheValueIsWhatTheSpecSays") {
        for (const ModeSpec& spec : mode_catalog()) {
            CAPTURE(spec.name);
            const Mode mode = four_in(spec);
            CHECK(mode.in_flight == 4);
            CHECK(mode.quorum == (spec.steps_by_arrival ? 1 : 4));
            CHECK(spec.whole_cohort == (mode.trains_alone() && !mode.overlaps()));
            CHECK(spec.all_clients == (mode.group == WorkerGroup::Round));
            CHECK((spec.same_bits == SameBits::BySameOrder) == mode.overlaps());
            CHECK((spec.same_bits == SameBits::Never) == mode.in_place());
            CHECK(spec.any_workers == (mode.group == WorkerGroup::None && !mode.in_place()));
            CHECK(spec.discounts == mode.late_join);
            CHECK((spec.take_over != nullptr) == (!spec.rate_key.empty() && !mode.in_place()));
        }
    }

    TEST_CASE("KeysReachTheValue") {
        const auto built = [](const std::string& name, const Values& given, float momentum = 0.0F) {
            return mode_spec(name).build(
                {completed(given, mode_spec(name).keys), 4, aggregation::SgdOptions{.lr = 0.1F, .momentum = momentum}});
        };
        CHECK(built("synchronous", {{"quorum", std::optional<std::int64_t>(3)}}).quorum == 3);
        CHECK(built("semi_async", {{"quorum", std::optional<std::int64_t>(2)}}).quorum == 2);
        CHECK(built("async", {{"staleness", "hinge"}, {"staleness_a", 1.0}, {"staleness_b", 2.0}}).staleness.discount(3) ==
              0.5);
        CHECK(built("async", {{"at_end", "drain"}}).drain);
        CHECK_FALSE(built("semi_async", {}).drain);
        CHECK(built("gradient_averaging", {{"all_reduce", "star"}}).all_reduce == clients::AllReduce::Star);
        CHECK(built("gradient_averaging", {{"all_reduce", "ring"}}).all_reduce == clients::AllReduce::Ring);
        CHECK(built("gradient_averaging", {}).num_globals() == 2);
        CHECK(built("gradient_averaging", {}, 0.9F).num_globals() == 3);
        CHECK(built("parameter_server", {{"max_staleness", std::optional<std::int64_t>(0)}}).max_staleness == 0);
        CHECK_FALSE(built("parameter_server", {}).max_staleness);
        CHECK(built("hogwild", {{"data", "full"}}).pass == PassExamples::All);
        CHECK(built("split", {}).group_size() == 2);
    }

    TEST_CASE("TrafficIsThatOfThePage") {
        // Two steps of ten examples, a model of 100 bytes, updates of 60, 3 bytes of activations per example.
        const Trip trip{
            .examples = 20, .steps = 2, .model_bytes = 100, .update_bytes = 60, .activation_bytes = 3, .in_flight = 4};
        const auto traffic = [&](const char* name) {
            const Traffic bytes = four_in(mode_spec(name)).traffic(trip);
            return std::pair(bytes.down, bytes.up);
        };
        using Bytes = std::pair<std::uint64_t, std::uint64_t>;
        for (const char* name : {"synchronous", "semi_async", "async", "parameter_server"})
            CHECK(traffic(name) == Bytes(100, 60));
        CHECK(traffic("hogwild") == Bytes(200, 200));
        CHECK(traffic("split") == Bytes(160, 160));
        CHECK(traffic("gradient_averaging") == Bytes(100, 300));
    }
}
