// The race of worker counts before round 1, with real processes that run the toy trainer.
#include "sim/plan/worker_probe.h"
#include "sim/config/load_config.h"

#include "sim/plan/choice_cache.h"
#include "tests/support/golden_messages.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

struct Probed {
    explicit Probed(const std::vector<std::string>& overrides = {})
        : loaded(load(overrides)), run(Experiment::to_inspect(loaded)) {
        unsetenv("TOY_FAULT");
        setenv("XDG_CACHE_HOME", folder.path().c_str(), 1);
        run.resources.num_workers = run.resources.most_workers = 3;  // on any machine
    }
    ~Probed() { unsetenv("XDG_CACHE_HOME"); }

    LoadedConfig load(const std::vector<std::string>& overrides) const {
        const auto file = folder.path() / "auto.yaml";
        std::ofstream(file) << "data: {format: synthetic, num_train: 300, num_test: 20, num_features: 4, partition: {scheme: "
                               "contiguous, clients: 3}}\nmodel: {name: lr}\ndevice: cpu\n";
        return load_config(file, overrides);
    }
    bool cached() const { return std::filesystem::exists(folder.path() / "fedhive"); }

    testing::TemporaryFolder folder;
    LoadedConfig loaded;
    Experiment run;
};

constexpr std::int64_t kManyRounds = 100'000'000;

/// Probe methods with a step of one millisecond and these race results; counts the races.
ProbeMethods timed(std::vector<Throughput> measured, int& races, bool disturbed = false) {
    return {.time_step =
                [=](const Experiment&, double) {
                    return StepTime{1e-3, disturbed};
                },
            .race =
                [=, &races](const Experiment&, const std::vector<std::uint32_t>& candidates, double step_s, double budget_s,
                            bool mps) {
                    ++races;
                    CHECK(candidates == candidates_on_cores(3));
                    CHECK(step_s == 1e-3);
                    CHECK(budget_s > 0.5);
                    CHECK(budget_s < kMostProbe_s);
                    CHECK_FALSE(mps);
                    return measured;
                }};
}

const std::vector<Throughput> kTwoAreEnough{{3, false, 100.0}, {2, false, 99.0}, {1, false, 60.0}};

}  // namespace

TEST_SUITE("WorkerProbe") {
    TEST_CASE("RaceMeasuresEachCandidateAndLeavesTheModelAlone") {
        const Probed probed;
        const auto model = [&] {
            const auto view = probed.run.server.global_model();
            return std::vector<float>(view.host().begin(), view.host().end());
        };
        const std::vector<float> before = model();
        const std::vector<Throughput> measured = race_workers(probed.run, {3, 1}, 1e-3, 60.0, false);
        REQUIRE(measured.size() == 2);
        CHECK(measured[0].workers == 3);
        CHECK(measured[1].workers == 1);
        CHECK(measured[1].steps_per_s > 0.0);
        CHECK(model() == before);
        CHECK(race_workers(probed.run, {3, 1}, 1e-3, 0.0, false).empty());
    }

    TEST_CASE("LongRunIsProbedOnceAndTheNextOneKnows") {
        const Probed probed;
        int races = 0;
        const ProbeMethods methods = timed(kTwoAreEnough, races);
        const WorkerChoice first = choose_workers(probed.run, kManyRounds, std::nullopt, methods);
        CHECK(first.by == ChosenBy::Probe);
        CHECK(first.workers == 2);
        CHECK(first.cost_s > 0.0);
        CHECK(first.measured.size() == 3);
        CHECK_FALSE(first.disturbed);
        CHECK(probed.cached());
        const WorkerChoice second = choose_workers(probed.run, kManyRounds, std::nullopt, methods);
        CHECK(second.by == ChosenBy::Cache);
        CHECK(second.workers == 2);
        CHECK(second.cost_s == 0.0);
        CHECK(races == 1);
    }

    TEST_CASE("ProbeBesideOtherProgramsHoldsForItsRunAlone") {
        const Probed probed;
        int races = 0;
        const ProbeMethods methods = timed(kTwoAreEnough, races, true);
        for (int run = 1; run <= 2; ++run) {
            const WorkerChoice choice = choose_workers(probed.run, kManyRounds, std::nullopt, methods);
            CHECK(choice.by == ChosenBy::Probe);
            CHECK(choice.workers == 2);
            CHECK(choice.disturbed);
            CHECK_FALSE(probed.cached());
            CHECK(races == run);
        }
    }

    TEST_CASE("ProbeThatDidNotFitIntoItsBudgetLeavesTheChoiceToTheCores") {
        const Probed probed;
        int races = 0;
        const WorkerChoice choice = choose_workers(probed.run, kManyRounds, std::nullopt, timed({}, races));
        CHECK(races == 1);
        CHECK(choice.by == ChosenBy::Cores);
        CHECK(choice.workers == 3);
        CHECK(choice.cost_s > 0.0);
        CHECK_FALSE(probed.cached());
    }

    TEST_CASE("KnownChoiceIsTakenUnlessItIsImpossibleNow") {
        const Probed probed;
        WorkerChoice known{.by = ChosenBy::Probe, .workers = 2, .mps = false, .measured = {{2, false, 7.0}}, .cost_s = 1.0};
        ChoiceCache(race_key(probed.run)).write(known);
        const WorkerChoice choice = choose_workers(probed.run, 10, std::nullopt);
        CHECK(choice.by == ChosenBy::Cache);
        CHECK(choice.workers == 2);
        known.workers = 4;
        ChoiceCache(race_key(probed.run)).write(known);
        CHECK(choose_workers(probed.run, 10, std::nullopt).by == ChosenBy::Cores);
    }

    TEST_CASE("ShortRunIsNotProbed") {
        const Probed probed;
        const WorkerChoice choice = choose_workers(probed.run, 10, std::nullopt);
        CHECK(choice.by == ChosenBy::Cores);
        CHECK(choice.workers == 3);
        CHECK_FALSE(probed.cached());
    }

    TEST_CASE("GivenNumberStaysAndSoDoModesInWhichItMattersForMore") {
        for (const char* given : {"workers=3", "clock=wall"}) {
            std::vector<std::string> overrides{given};
            if (std::string(given) == "clock=wall") overrides.emplace_back("mode={name: async}");
            const Probed probed(overrides);
            const WorkerChoice choice = choose_workers(probed.run, kManyRounds, std::nullopt);
            CHECK(choice.by == (overrides.size() == 1 ? ChosenBy::Config : ChosenBy::Cores));
            CHECK(choice.workers == 3);
            CHECK_FALSE(probed.cached());
        }
    }

    TEST_CASE("ResumedRunKeepsItsNumberWhereItIsStillPossible") {
        const Probed probed;
        WorkerChoice before{.by = ChosenBy::Probe, .workers = 2, .mps = false, .measured = {{3, false, 5.0}}, .cost_s = 1.0};
        const WorkerChoice kept = choose_workers(probed.run, 10, before);
        CHECK(kept.by == ChosenBy::Before);
        CHECK(kept.workers == 2);
        CHECK(kept.measured.size() == 1);
        CHECK(kept.cost_s == 0.0);
        before.workers = 4;
        CHECK(choose_workers(probed.run, 10, before).by == ChosenBy::Cores);
        before.workers = 2;
        before.mps = true;
        CHECK(choose_workers(probed.run, 10, before).by == ChosenBy::Cores);
    }

    TEST_CASE("FailingClientLeavesTheChoiceToTheCores") {
        const Probed probed;
        setenv("TOY_FAULT", "throw", 1);
        setenv("TOY_CLIENT", "0", 1);
        int races = 0;
        ProbeMethods methods = timed({}, races);
        methods.race = [&](const Experiment& run, const std::vector<std::uint32_t>& candidates, double step_s, double,
                           bool mps) {
            ++races;
            return race_workers(run, candidates, step_s, 60.0, mps);
        };
        const WorkerChoice choice = choose_workers(probed.run, kManyRounds, std::nullopt, methods);
        unsetenv("TOY_FAULT");
        CHECK(races == 1);
        CHECK(choice.measured.empty());
        CHECK(choice.by == ChosenBy::Cores);
        CHECK(choice.workers == 3);
        CHECK_FALSE(probed.cached());
    }

    TEST_CASE("KeyOfARaceFollowsWhatCostsTimeOnly") {
        const std::string key = race_key(Probed().run);
        CHECK(race_key(Probed({"seed=7", "rounds=99", "evaluation.every=5", "training.optimizer.lr=0.5"}).run) == key);
        for (const char* other : {"training.batch_size=8", "threads=2", "data.num_features=5", "training.clients_per_slot=2"})
            CHECK_MESSAGE(race_key(Probed({other}).run) != key, other);
    }

    TEST_CASE("MpsThatIsAskedForAndImpossibleIsRefused") {
        CHECK_THROWN_MESSAGE("plan", "--set mps=on: mps: ", ConfigError, Probed({"mps=on"}));
    }
}
