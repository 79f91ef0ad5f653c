// Promise 1 over ranks: mpirun with any number of coordinators gives the bits and tables of one, and all
// end when one of them ends.
#include "tests/process/rank_runs.h"
#include "tests/process/same_run.h"
#include "tests/support/skip.h"

#include <doctest/doctest.h>

#include <set>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

void same_in_ranks(const std::vector<int>& numbers, const Options& options) {
    FedhiveRun whole(small_config(), options);
    REQUIRE_MESSAGE(whole.end() == "exited with status 0", whole.output());
    for (const int ranks : numbers) {
        CAPTURE(ranks);
        CAPTURE(options.back());
        RankedRun run(ranks, small_config(), options);
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        check_same_run(run.out(), whole.out());
        CHECK(run.manifest()["ranks"].size() == static_cast<std::size_t>(ranks));
    }
}

/// Many short rounds, so that a rank can be hit in the middle.
Options long_run(const Options& more = {}) {
    return set({"rounds=100000", "checkpoint.every=20", "evaluation.every=50"}) + set(more) + Options{"--quiet"};
}

void wait_for_rounds(const RankedRun& run, std::size_t rounds) {
    REQUIRE_MESSAGE(eventually(60.0, [&] { return run.rounds() >= rounds; }), run.output());
}

/// Resumes the run with that many ranks for a few rounds; it must equal a run without interruption.
void goes_on(RankedRun& run, int ranks, const Options& same = {}) {
    const auto round = run.manifest()["round"].get<std::int64_t>();
    const std::string rounds = fmt::format("rounds={}", round + 5);
    run.start_ranks(ranks, Options{"run", "--quiet", "--resume", run.out().string()} + set({rounds}));
    REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
    FedhiveRun whole(small_config(), long_run(same + Options{rounds}));
    REQUIRE(whole.end() == "exited with status 0");
    check_same_run(run.out(), whole.out());
}

void refused(const Options& options, const std::vector<std::string>& texts) {
    RankedRun run(2, small_config(), options);
    CHECK_MESSAGE(run.end() == "exited with status 2", run.output());
    for (const std::string& text : texts) CHECK_MESSAGE(run.times_said(text) == 1, text << "\n" << run.output());
    CHECK_FALSE(std::filesystem::exists(run.out()));
}

}  // namespace

TEST_SUITE("Ranks") {
    TEST_CASE("GiveTheModelAndTheTablesOfOneProcess") {
        FEDHIVE_NEEDS_RANKS();
        same_in_ranks({2, 3}, set({"strategy={name: fedavg}"}));
        same_in_ranks({2}, set({"rounds=5", "training.clients_per_slot=4", "strategy={name: fedadam}"}));
        same_in_ranks({2}, set({"training.cohort=5", "training.optimizer={name: sgd, lr: 0.05}",
                                "strategy={name: scaffold, option: 1, server: yogi}"}));
        same_in_ranks({3}, set({"clock=wall", "strategy={name: median}"}));
        same_in_ranks({3}, set({"training.cohort=5", "model={name: mlp, hidden: 32, local: [\"fc3.*\"]}", "rounds=5",
                                "data.partition.holdout=0.25", "evaluation.clients={every: 2, personalized: true}"}));
        same_in_ranks({3}, set({"strategy={name: krum, byzantine: 2, chosen: 4}"}));
        same_in_ranks({2},
                      set({"rounds=6", "checkpoint.every=2", "training.optimizer.momentum=0", "strategy={name: scaffold}"}));
    }

    TEST_CASE("WhatClientsKeepGoesOnWithAnyNumberOfThem") {
        FEDHIVE_NEEDS_RANKS();
        const Options options =
            set({"checkpoint.every=2", "workers=1", "strategy={name: scaffold}", "training.optimizer={name: sgd, lr: 0.05}"});
        RankedRun run(2, small_config(), options + set({"rounds=4"}));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        // Counted over all ranks, whichever trained.
        std::set<std::string> workers;
        for (const auto& row : read_csv(run.out() / "clients.csv")) workers.insert(row.at("worker"));
        CHECK(workers == std::set<std::string>{"0", "1"});
        const Options resume{"run", "--quiet", "--resume", run.out().string()};
        run.start_ranks(3, resume + set({"rounds=6"}));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        run.start(resume + set({"rounds=8"}));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        FedhiveRun whole(small_config(), options + set({"rounds=8"}));
        REQUIRE_MESSAGE(whole.end() == "exited with status 0", whole.output());
        check_same_run(run.out(), whole.out());
    }

    TEST_CASE("GiveThatOfOneWhereTheFirstToArriveCount") {
        FEDHIVE_NEEDS_RANKS();
        const Options devices = set({"rounds=12", "devices={compute: {distribution: lognormal, sigma: 1.0}}"});
        same_in_ranks({3}, devices + set({"mode={name: semi_async, quorum: 4}"}));
        same_in_ranks({3}, devices + set({"rounds=25", "checkpoint.every=6", "mode={name: async}"}));
        same_in_ranks({2}, devices + set({"mode={name: synchronous, quorum: 7}",
                                          "upload=[{name: error_feedback}, {name: top_k, kept: 0.1}]"}));
    }

    TEST_CASE("GiveThatOfOneWhereClientsFail") {
        FEDHIVE_NEEDS_RANKS();
        const Options drop =
            set({"rounds=8", "failures={policy: drop}", "faults=[{kind: nan, rate: 0.3}, {kind: drop, rate: 0.1}]"});
        same_in_ranks({3}, drop);
        same_in_ranks({2}, set({"rounds=8", "failures={policy: retry}", "faults=[{kind: throw, rate: 0.1}]"}));
        FedhiveRun alone(small_config(), drop);
        RankedRun ranked(3, small_config(), drop);
        REQUIRE(alone.end() == "exited with status 0");
        REQUIRE(ranked.end() == "exited with status 0");
        CHECK(alone.manifest()["failures"]["dropped"] == ranked.manifest()["failures"]["dropped"]);
        CHECK(events_of(alone.out()).size() == events_of(ranked.out()).size());
    }

    TEST_CASE("ThatHaveNothingToDoAreReportedAndHarmNothing") {
        FEDHIVE_NEEDS_RANKS();
        const Options two = set({"training.cohort=2", "evaluation.chunk_size=30",
                                 "evaluation.clients={every: 2, personalized: true}", "data.partition.holdout=0.2"});
        same_in_ranks({4}, two);
        RankedRun run(4, small_config(), two);
        REQUIRE(run.end() == "exited with status 0");
        CHECK(run.times_said("2 idle") == 1);
    }

    TEST_CASE("OneThatIsKilledEndsAllAndTheRunGoesOnWithMore") {
        FEDHIVE_NEEDS_RANKS();
        RankedRun run(2, small_config(), long_run());
        wait_for_rounds(run, 100);
        kill(run.coordinator(1), SIGKILL);
        CHECK(run.end().find("exited with status") == 0);
        goes_on(run, 3);
    }

    TEST_CASE("OneThatHangsIsNamedAndTheRunGoesOnWithoutIt") {
        FEDHIVE_NEEDS_RANKS();
        // A short deadline keeps waits short; on a busy machine a slow client may exceed it and end the run instead.
        const Options second{"failures.deadline_s=1"};
        for (int again = 0; again < 4; ++again) {
            RankedRun run(3, small_config(), long_run(second));
            REQUIRE(eventually(60.0, [&] { return run.rounds() >= 50 || run.end(0.0) != "still running"; }));
            if (run.end(0.0) == "still running") kill(run.coordinator(2), SIGSTOP);
            CHECK_MESSAGE(run.end() == "exited with status 1", run.output());
            if (again < 3 && !run.said("rank 2 (host ")) continue;
            CHECK_MESSAGE(run.said("rank 2 (host "), run.output());
            CHECK(std::string(run.manifest()["exit_status"]).find("failed: rank 2 (host ") == 0);
            return goes_on(run, 1, second);
        }
    }

    TEST_CASE("AnInterruptOfAnyIsThatOfAllAtARoundsEnd") {
        FEDHIVE_NEEDS_RANKS();
        RankedRun run(3, small_config(), long_run());
        wait_for_rounds(run, 50);
        kill(run.coordinator(1), SIGTERM);
        CHECK_MESSAGE(run.end() == "exited with status 130", run.output());
        CHECK(run.manifest()["exit_status"] == "interrupted by SIGTERM");
        goes_on(run, 2);
    }

    TEST_CASE("EachMeasuresForItselfHowManyWorkersItTakes") {
        FEDHIVE_NEEDS_RANKS();
        // Three ranks: with two on two processors each has one, and nothing is measured. The run is long enough for a probe.
        RankedRun run(3, small_config(),
                      set({"workers=auto", "rounds=1000000", "checkpoint.every=1000", "failures.deadline_s=20",
                           "evaluation.every=1000"}));
        wait_for_rounds(run, 10);
        kill(run.coordinator(1), SIGTERM);
        CHECK_MESSAGE(run.end() == "exited with status 130", run.output());
    }

    TEST_CASE("AClientThatFailsEndsAllWithItsMessageAndRank") {
        FEDHIVE_NEEDS_RANKS();
        RankedRun run(2, small_config(),
                      set({"training.cohort=13", "faults=[{kind: throw, round: 2, client: 12}]"}) + Options{"--quiet"});
        CHECK_MESSAGE(run.end() == "exited with status 1", run.output());
        CHECK_MESSAGE(run.times_said("rank 1 (host ") == 1, run.output());
        CHECK(run.said("client 12, round 2"));
        CHECK(std::string(run.manifest()["exit_status"]).find("failed: rank 1 (host ") == 0);
    }

    TEST_CASE("WhatCannotWorkAcrossThemIsRefusedOnce") {
        FEDHIVE_NEEDS_RANKS();
        refused(set({"mode.name=parameter_server"}), {"mode.name: parameter_server supports only one rank", "synchronous"});
        refused(set({"mode={name: semi_async, quorum: 4}", "clock=wall"}), {"on the wall clock, mode semi_async"});
        refused(set({"mode={name: async}", "clock=wall"}), {"on the wall clock, mode async"});
        refused(set({"modle=1"}), {"modle: unknown key"});
    }

    TEST_CASE("ValidateRefusesForThemWhatARunWould") {
        FedhiveRun run;
        const std::string config = (run.folder() / "test.yaml").string();
        std::ofstream(config) << small_config();
        const auto validate = [&](const Options& more) {
            run.start(Options{"validate", config} + more);
            return run.end();
        };
        CHECK(validate({"--ranks", "4"}) == "exited with status 0");
        CHECK_MESSAGE(run.output().ends_with("training examples, 4 ranks\n"), run.output());
        const Options steps = set({"mode.name=parameter_server"});
        CHECK(validate(steps) == "exited with status 0");
        CHECK(validate(steps + Options{"--ranks", "2"}) == "exited with status 2");
        CHECK_MESSAGE(run.output().find("mode.name: parameter_server supports only one rank") != std::string::npos,
                      run.output());
        CHECK(validate(set({"mode.name=hogwild"}) + Options{"--ranks", "2", "--json"}) == "exited with status 2");
        CHECK_MESSAGE(run.output().find("mode.name: hogwild supports only one rank") != std::string::npos, run.output());
    }

    TEST_CASE("ValidateStartedAsRanksComparesThemAndSpeaksOnce") {
        FEDHIVE_NEEDS_RANKS();
        RankedRun run;
        const std::string config = (run.folder() / "test.yaml").string();
        std::ofstream(config) << small_config();
        run.start_ranks(3, {"validate", config});
        CHECK_MESSAGE(run.end() == "exited with status 0", run.output());
        CHECK_MESSAGE(run.times_said("valid; ") == 1, run.output());
        CHECK(run.times_said(", 3 ranks") == 1);
        run.start_ranks(3, {"validate", config, "--ranks", "2"});
        CHECK(run.end() == "exited with status 2");
        CHECK_MESSAGE(run.times_said("--ranks 2: 3 ranks were started") == 1, run.output());
        run.start_two(Options{"validate", config} + set({"seeds.data=1"}), Options{"validate", config} + set({"seeds.data=2"}));
        CHECK(run.end() == "exited with status 2");
        CHECK_MESSAGE(run.times_said("): seeds.data is 2, but on rank 0 (host ") == 1, run.output());
    }

    TEST_CASE("ThatAreNotAlikeAreRefusedByKeyAndRank") {
        FEDHIVE_NEEDS_RANKS();
        RankedRun run;
        const std::string config = (run.folder() / "test.yaml").string();
        std::ofstream(config) << small_config();
        const Options each{"run", config, "--out", run.out().string()};
        run.start_two(each + set({"seeds.data=1"}), each + set({"seeds.data=2"}));
        CHECK_MESSAGE(run.end() == "exited with status 2", run.output());
        CHECK(run.times_said("): seeds.data is 2, but on rank 0 (host ") == 1);
        CHECK(run.times_said("): data fingerprint is ") == 1);
        CHECK_FALSE(std::filesystem::exists(run.out()));
    }

    TEST_CASE("OneWithoutDataGetsThoseOfTheFirst") {
        FEDHIVE_NEEDS_RANKS();
        RankedRun run;
        std::ofstream(run.folder() / "test.yaml") << small_config();
        std::ofstream table(run.folder() / "data.csv");
        table << "a,b,label\n";
        for (int i = 0; i < 400; ++i) table << fmt::format("{},{},{}\n", i % 7 * 0.5, i % 11 * 0.25, i % 3);
        table.close();
        const auto with = [&](const char* shared, const std::string& file) {
            return Options{"run", (run.folder() / "test.yaml").string(), "--out", run.out().string(), "--overwrite"} +
                   set({fmt::format("data={{format: csv, train: {}, test: {}, target: label, shared: {}, partition: {{scheme: "
                                    "iid, clients: 13, "
                                    "holdout: 0.25}}}}",
                                    file, file, shared),
                        "evaluation.clients={every: 1}"});
        };
        const std::string here = (run.folder() / "data.csv").string();
        run.start(with("own", here));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        const auto alone = run.manifest();
        run.start_two(with("rank0", here), with("rank0", "/nowhere/data.csv"));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        for (const char* same : {"model_sha256", "data_fingerprint", "partition_fingerprint"})
            CHECK(run.manifest()[same] == alone[same]);
        // Only the first rank reports and sets the status: mpirun would end it if another rank left earlier
        // with a status of its own.
        const std::string status = (run.folder() / "status").string();
        run.start_two(with("own", here), with("own", "/nowhere/data.csv"),
                      {"/bin/sh", "-c", "trap '' TERM; \"$@\"; echo $? > " + status, "sh"});  // mpirun ends what is left
        CHECK(run.end() == "exited with status 2");
        CHECK_MESSAGE(run.said("/nowhere/data.csv"), run.output());
        CHECK(read_text(status) == "0\n");
        run.start_two(with("rank0", "/nowhere/data.csv"), with("rank0", here));
        CHECK(run.end() == "exited with status 2");
        CHECK_MESSAGE(run.said("/nowhere/data.csv"), run.output());
        run.start_two(with("own", here), with("rank0", here));
        CHECK(run.end() == "exited with status 2");
        CHECK_MESSAGE(run.times_said("): data.shared is rank0, but on rank 0 (host ") == 1, run.output());
    }

    TEST_CASE("OfOtherCpuCapabilityAreNamed") {
        FEDHIVE_NEEDS_RANKS();
        FedhiveRun alone(small_config(), set({"rounds=1"}));
        REQUIRE(alone.end() == "exited with status 0");
        const std::string here = alone.manifest()["cpu_capability"];
        if (here == "DEFAULT") FEDHIVE_SKIP("this processor has no other capability to begin with");
        RankedRun run;
        const std::string config = (run.folder() / "test.yaml").string();
        std::ofstream(config) << small_config();
        const Options each{"run", config, "--out", run.out().string()};
        run.start_two(each, each, {"/usr/bin/env", "ATEN_CPU_CAPABILITY=default"});
        CHECK_MESSAGE(run.end() == "exited with status 2", run.output());
        CHECK_MESSAGE(run.times_said("): CPU capability is DEFAULT, but on rank 0 (host ") == 1, run.output());
        CHECK(run.said(fmt::format("it is {}; use hosts of one kind", here)));
        CHECK_FALSE(std::filesystem::exists(run.out()));
    }

    TEST_CASE("OnlyTheFirstNeedsTheFolderForResults") {
        FEDHIVE_NEEDS_RANKS();
        RankedRun run;
        const std::string config = (run.folder() / "test.yaml").string();
        std::ofstream(config) << small_config();
        const auto each = [&](const std::string& out) { return Options{"run", config, "--out", out}; };
        // Not even root can create a folder there.
        run.start_two(each(run.out().string()), each("/proc/nowhere/out"));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        CHECK(run.manifest()["model_sha256"] == sha_with({}));
        const auto resume = [](const std::string& folder) { return Options{"run", "--resume", folder} + set({"rounds=5"}); };
        run.start_two(resume(run.out().string()), resume("/proc/nowhere/out"));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        CHECK(run.manifest()["model_sha256"] == sha_with({"rounds=5"}));
        run.start_two(each("/proc/nowhere/out"), each((run.folder() / "other").string()));
        CHECK_MESSAGE(run.end() == "exited with status 2", run.output());
        CHECK(run.said("/proc/nowhere/out"));
    }

    TEST_CASE("OneProcessAloneLoadsNoMpi") {
        FEDHIVE_NEEDS_RANKS();
        const auto loads_mpi = [](pid_t pid) {
            return read_text(fmt::format("/proc/{}/maps", pid)).find("libfedhive_mpi") != std::string::npos;
        };
        FedhiveRun alone(small_config(), long_run());
        REQUIRE(eventually(60.0, [&] { return alone.rounds() >= 1; }));
        CHECK_FALSE(loads_mpi(alone.pid()));
        kill(alone.pid(), SIGTERM);
        CHECK(alone.end() == "exited with status 130");
        RankedRun ranked(2, small_config(), long_run());
        wait_for_rounds(ranked, 1);
        CHECK(loads_mpi(ranked.coordinator(0)));
        kill(ranked.coordinator(0), SIGTERM);
        CHECK(ranked.end() == "exited with status 130");
    }

    TEST_CASE("StartedWithoutMpiAreRefusedByTheFirstOfThemAndTorchrunByWhatToType") {
        TemporaryFolder folder;
        const std::filesystem::path program = folder.path() / "fedhive";
        std::filesystem::copy(fedhive_program(), program);  // a copy without the library beside it
        FedhiveRun run;
        std::ofstream(run.folder() / "test.yaml") << small_config();
        const Options arguments{"run", (run.folder() / "test.yaml").string(), "--out", run.out().string()};
        const auto start = [&](const std::vector<std::pair<std::string, std::string>>& environment) {
            run.start(arguments, environment, program.string());
            return run.end();
        };
        CHECK(start({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "1"}}) == "exited with status 2");
        CHECK(run.output().empty());
        CHECK(start({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "0"}}) == "exited with status 2");
        CHECK(run.output().find("this is one of 4 processes that mpirun started") != std::string::npos);
        CHECK(start({{"WORLD_SIZE", "2"}, {"RANK", "0"}, {"MASTER_ADDR", "localhost"}}) == "exited with status 2");
        CHECK(run.output().find("mpirun -n 2 fedhive run ") != std::string::npos);
        CHECK_FALSE(std::filesystem::exists(run.out()));
        CHECK(start({{"OMPI_COMM_WORLD_SIZE", "1"}}) == "exited with status 0");
    }
}
