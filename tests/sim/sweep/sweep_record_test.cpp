#include "sim/sweep/sweep_record.h"

#include "aggregation/base/error.h"
#include "tests/sim/sweep/sweeps.h"
#include "tests/support/golden_messages.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::sim;
using namespace fedhive::testing;

namespace {

constexpr const char* kPlannedBase = R"(
rounds: 4
data: {format: synthetic, num_train: 60, num_test: 10}
model: {name: lr}
)";

struct Planned {
    Planned() { write_text(base, kPlannedBase); }
    SweepConfig sweep(const std::vector<PlannedRun>& runs) const { return sweep_of(base, runs); }

    TemporaryFolder folder;
    std::filesystem::path base = folder.path() / "base.yaml";
};

}  // namespace

TEST_SUITE("SweepRecord") {
    TEST_CASE("HashIsOfAllButTheWorkers") {
        const Planned planned;
        const SweepConfig sweep = planned.sweep({{"a", {}}, {"b", {"workers=3"}}, {"c", {"seed=2"}}});
        CHECK(config_hash(sweep.runs[0].config) == config_hash(sweep.runs[1].config));
        CHECK(config_hash(sweep.runs[0].config) != config_hash(sweep.runs[2].config));
        CHECK(config_hash(sweep.runs[0].config).size() == 64);
        RunConfig begun = sweep.runs[0].config;
        begun.model.file_sha256 = "1";  // set by the run
        CHECK(config_hash(begun) == config_hash(sweep.runs[0].config));
        RunConfig natural = begun;
        natural.data.partition.scheme = "natural";
        natural.data.partition.clients.reset();
        begun = natural;
        begun.data.partition.clients = 17;
        CHECK(config_hash(begun) == config_hash(natural));
        natural.data.partition.scheme = begun.data.partition.scheme = "iid";
        CHECK(config_hash(begun) != config_hash(natural));
    }

    TEST_CASE("WhatIsWrittenIsReadBack") {
        const Planned planned;
        SweepConfig sweep = planned.sweep({{"a", {}}, {"b", {"training.optimizer.lr=0.5", "seed=9"}}});
        sweep.targets["accuracy"] = 0.75;
        sweep.early_stopping = {StoppingRule::Halving, 2, 4};
        SweepRecord record = plan_sweep(sweep, {{100, 1.5}, {200, 2.5}});
        record.decided = 8;
        record.wall_s = 12.25;
        record.jobs = 3;
        record.gone = {"old"};
        record.runs[1].status = RunState::Failed;
        record.runs[1].reason = "fedhive: \xff is not UTF-8";
        record.runs[1].workers = 2;
        record.runs[1].peak_bytes = 1U << 20U;
        write_sweep(planned.folder.path(), record);
        const SweepRecord read = read_sweep(planned.folder.path());
        CHECK(read.runs[1].reason == "fedhive: \uFFFD is not UTF-8");
        record.runs[1].reason = read.runs[1].reason;
        CHECK(to_json(read) == to_json(record));
        CHECK(read.count(RunState::Waiting) == 1);

        const auto json = to_json(record);
        CHECK(json["kind"] == "sweep");
        CHECK(json["schema"] == 1);
        CHECK(json["exit_status"] == "running");
        CHECK(json["finished"].is_null());
        CHECK(json["early_stopping"].dump() == R"({"rule":"halving","first_round":2,"factor":4,"decided":8})");
        CHECK(json["runs"][0]["workers"].is_null());
        CHECK(json["runs"][0]["estimate_s"] == 1.5);
        CHECK(json["runs"][1]["status"] == "failed");
        CHECK(json["runs"][1]["seed"] == 9);
        CHECK(json["runs"][1]["settings"].dump() == R"({"training.optimizer.lr":"0.5"})");
    }

    TEST_CASE("EveryStatusHasItsWord") {
        for (const auto& [status, word] : std::vector<std::pair<RunState, std::string>>{{RunState::Waiting, "waiting"},
                                                                                        {RunState::Running, "running"},
                                                                                        {RunState::Paused, "paused"},
                                                                                        {RunState::Finished, "finished"},
                                                                                        {RunState::Stopped, "stopped"},
                                                                                        {RunState::Failed, "failed"}})
            CHECK(word_of(status) == word);
    }

    TEST_CASE("FolderWithoutASweepIsRefused") {
        const Planned planned;
        const auto refused = [&](const char* text, const char* part) {
            write_text(planned.folder.path() / "sweep.json", text);
            CHECK_THROWS_WITH_AS(read_sweep(planned.folder.path()), doctest::Contains(part), ConfigError);
        };
        const auto read_back = [&](const auto& json) {
            write_text(planned.folder.path() / "sweep.json", json.dump());
            CHECK_NOTHROW(read_sweep(planned.folder.path()));
        };
        CHECK_THROWN_MESSAGE("sweep", "", ConfigError, read_sweep(planned.folder.path()));
        refused("{", "sweep.json: is damaged");
        refused("[]", "sweep.json: is damaged");
        refused(R"({"schema": 2})", "has schema 2, but this fedhive supports 1");
        auto json = to_json(plan_sweep(planned.sweep({{"a", {}}}), {{}}));
        json["runs"][0]["status"] = "lost";
        refused(json.dump().c_str(), "status 'lost' is unknown");
        json["runs"][0].erase("status");
        refused(json.dump().c_str(), "sweep.json: is damaged: it has no 'status'");
        json["runs"][0]["status"] = "waiting";
        read_back(json);
        // Replaces each value in turn by one of another type.
        for (const auto& [key, value] : json.items()) {
            auto changed = json;
            changed[key] = nlohmann::json::array({nlohmann::json::object()});
            if (key != "kind") refused(changed.dump().c_str(), "sweep.json: ");
        }
        for (const auto& [key, value] : json["runs"][0].items()) {
            auto changed = json;
            changed["runs"][0][key] = nlohmann::json::array({1});
            refused(changed.dump().c_str(), key == "settings"
                                                ? "sweep.json: is damaged"
                                                : ("sweep.json: is damaged: its '" + key + "' is of type array").c_str());
        }
    }

    TEST_CASE("RunWhoseIdLeadsElsewhereIsRefusedByName") {
        const Planned planned;
        auto json = to_json(plan_sweep(planned.sweep({{"a", {}}}), {{}}));
        for (const char* id : {"../../other", "/etc", "..", ""}) {
            json["runs"][0]["id"] = id;
            write_text(planned.folder.path() / "sweep.json", json.dump());
            const std::string text = fmt::format("sweep.json: is damaged: id of a run: '{}' is not a valid run name; ", id);
            CHECK_THROWS_WITH_AS(read_sweep(planned.folder.path()), doctest::Contains(text.c_str()), ConfigError);
        }
    }

    TEST_CASE("NameOfACaseAndWeightingAreKeptAndMayBeMissing") {
        const Planned planned;
        SweepConfig sweep = planned.sweep({{"a", {}}});
        sweep.runs[0].case_name = "plain, \"as it is\"";
        auto json = to_json(plan_sweep(sweep, {{}}));
        CHECK(json["runs"][0]["case"] == sweep.runs[0].case_name);
        const auto from_file = [&] {
            write_text(planned.folder.path() / "sweep.json", json.dump());
            return read_sweep(planned.folder.path()).runs[0];
        };
        const auto read = [&] { return from_file().case_name; };
        CHECK(read() == sweep.runs[0].case_name);
        json["runs"][0].erase("case");
        CHECK(read().empty());
        CHECK(json["runs"][0]["weighting"] == "examples");
        CHECK(from_file().weighting == "examples");
        json["runs"][0].erase("weighting");
        CHECK(from_file().weighting.empty());
    }

    TEST_CASE("RunsKeepTheNamesThatTheirSweepBeganWith") {
        const Planned planned;
        const std::vector<std::string> fast{"training.optimizer.lr=0.5"};
        const std::vector<std::string> fast_again{"training.optimizer.lr=0.5", "seed=2"};
        const std::vector<std::string> longer{"training.optimizer.lr=0.5", "rounds=7"};
        const SweepRecord before =
            plan_sweep(planned.sweep({{"lr=0.5,seed=1", fast}, {"lr=0.5,seed=2", fast_again}, {"same", {}}}), {{}, {}, {}});
        SweepConfig now =
            planned.sweep({{"lr-0.5+seed-2", fast_again}, {"lr-0.5+seed-1", fast}, {"same", {}}, {"new", {"seed=3"}}});
        keep_ids(before, now);
        const auto ids = [&] {
            std::vector<std::string> all;
            for (const SweepRun& run : now.runs) all.push_back(run.id);
            return all;
        };
        CHECK(ids() == std::vector<std::string>{"lr=0.5,seed=2", "lr=0.5,seed=1", "same", "new"});
        CHECK(find_changes(before, now).describe() == "1 run is new (new)");
        // A changed run remains the same run.
        now = planned.sweep({{"lr-0.5+seed-1", longer}});
        keep_ids(before, now);
        CHECK(ids() == std::vector<std::string>{"lr=0.5,seed=1"});
        CHECK(find_changes(before, now).changed == std::vector<std::string>{"lr=0.5,seed=1"});
        // Two runs with equal settings are distinguished by their config, or not at all.
        const SweepRecord alike = plan_sweep(planned.sweep({{"old-1", fast}, {"old-2", longer}}), {{}, {}});
        now = planned.sweep({{"new-1", longer}, {"new-2", {"training.optimizer.lr=0.5", "rounds=9"}}});
        keep_ids(alike, now);
        CHECK(ids() == std::vector<std::string>{"old-2", "old-1"});
    }

    TEST_CASE("CasesMayBeCalledOtherwiseWithoutARunAnew") {
        const Planned planned;
        const std::vector<std::string> slow{"training.optimizer.lr=0.25"};
        const std::vector<std::string> fast{"training.optimizer.lr=0.5"};
        const std::vector<std::string> other{"training.optimizer.lr=0.75"};
        const auto record = [&](const std::vector<PlannedRun>& runs) {
            return plan_sweep(planned.sweep(runs), std::vector<RunEstimate>(runs.size()));
        };
        const auto ids = [](const SweepConfig& now) { return std::vector<std::string>{now.runs[0].id, now.runs[1].id}; };
        // A record from before run names contained cases.
        SweepConfig now = planned.sweep({{"plain", slow}, {"wrong_way", fast}});
        keep_ids(record({{"lr-0.25", slow}, {"lr-0.5", fast}}), now);
        CHECK(ids(now) == std::vector<std::string>{"lr-0.25", "lr-0.5"});
        // Two runs swap their names: the configs determine their folders.
        now = planned.sweep({{"b", slow}, {"a", fast}});
        keep_ids(record({{"a", slow}, {"b", fast}}), now);
        CHECK(ids(now) == std::vector<std::string>{"a", "b"});
        // One run is renamed, and a new one takes its old name: two folders, also at the next resume.
        const SweepRecord before = record({{"a", slow}});
        now = planned.sweep({{"old", slow}, {"a", other}});
        keep_ids(before, now);
        CHECK(now.runs[0].id == "a");
        const std::string apart = now.runs[1].id;
        CHECK(apart.size() == std::string("a-12345678").size());
        CHECK(find_changes(before, now).describe() == "1 run is new (" + apart + ")");
        const SweepRecord after = record({{"a", slow}, {apart, other}});
        now = planned.sweep({{"old", slow}, {"a", other}});
        keep_ids(after, now);
        CHECK(ids(now) == std::vector<std::string>{"a", apart});
        CHECK(find_changes(after, now).none());
    }

    TEST_CASE("ChangesAreTold") {
        const Planned planned;
        const SweepConfig before = planned.sweep({{"a", {}}, {"b", {"seed=2"}}, {"c", {"seed=3"}}});
        const SweepRecord record = plan_sweep(before, {{}, {}, {}});
        CHECK(find_changes(record, before).none());
        CHECK(find_changes(record, planned.sweep({{"c", {"seed=3"}}, {"a", {"workers=2"}}, {"b", {"seed=2"}}})).none());
        const SweepChanges changes = find_changes(record, planned.sweep({{"a", {}}, {"c", {"seed=4"}}, {"d", {}}, {"e", {}}}));
        CHECK(changes.added == std::vector<std::string>{"d", "e"});
        CHECK(changes.gone == std::vector<std::string>{"b"});
        CHECK(changes.changed == std::vector<std::string>{"c"});
        CHECK(changes.describe() == "2 runs are new (d; e), 1 run is gone (b), 1 run is changed (c)");
        const SweepChanges many{{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}, {}, {}};
        CHECK(many.describe() == "11 runs are new (0; 1; 2; 3; 4; 5; 6; 7; 8; 9; …)");
    }
}
