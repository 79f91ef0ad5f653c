// The promises on a CUDA device: the real binary, with the arena behind an IPC handle. Skipped, with fedhive's
// own reason, without one.
#include "tests/process/run_process.h"
#include "tests/support/skip.h"

#include <doctest/doctest.h>

using namespace fedhive::testing;

namespace {

/// Reason why `device: cuda` is refused; empty if it works.
std::string refusal_of_training() {
    FedhiveRun run(small_config(), {"--set", "device=cuda", "--set", "rounds=1"});
    return run.end() == "exited with status 2" ? run.output() : "";
}

std::string sha_on_cuda(const std::vector<std::string>& overrides) {
    std::vector<std::string> arguments{"--set", "device=cuda"};
    for (const std::string& text : overrides) arguments.insert(arguments.end(), {"--set", text});
    FedhiveRun run(small_config(), arguments);
    CHECK_MESSAGE(run.end() == "exited with status 0", run.output());
    return run.manifest()["model_sha256"];
}

}  // namespace

TEST_SUITE("Gpu") {
    TEST_CASE("Gpu: SameModelForAnyNumberOfWorkersOnCuda") {
        if (const std::string reason = refusal_of_training(); !reason.empty()) FEDHIVE_SKIP(reason);
        const std::string one = sha_on_cuda({"workers=1"});
        for (const char* workers : {"workers=0", "workers=2", "workers=4", "workers=8"}) CHECK(sha_on_cuda({workers}) == one);
        CHECK(sha_on_cuda({"training.clients_per_slot=4"}) == one);
    }

    TEST_CASE("Gpu: RecordedStepsGiveTheModelOfEagerOnesForAnyNumberOfWorkers") {
        if (const std::string reason = refusal_of_training(); !reason.empty()) FEDHIVE_SKIP(reason);
        const std::string cnn = "model={name: mnist_cnn}", cohort = "training.cohort=10";
        const std::string glyphs = "data={format: glyphs, num_train: 600, num_test: 100, partition: {clients: 10}}";
        for (const std::string strategy : {"strategy={name: fedavg}", "strategy={name: fedprox}"}) {
            const std::string eager = sha_on_cuda({cnn, glyphs, cohort, strategy, "training.engine=libtorch", "workers=1"});
            for (const char* workers : {"workers=0", "workers=1", "workers=2", "workers=4", "workers=8"})
                CHECK(sha_on_cuda({cnn, glyphs, cohort, strategy, "training.graph=true", workers}) == eager);
            CHECK(sha_on_cuda({cnn, glyphs, cohort, strategy, "training.graph=true", "training.clients_per_slot=4"}) == eager);
        }
    }

    TEST_CASE("Gpu: ClientsTrainedAtOnceGiveOneModelForAnyNumberOfWorkersRecordedOrNot") {
        if (const std::string reason = refusal_of_training(); !reason.empty()) FEDHIVE_SKIP(reason);
        for (const std::string strategy : {"strategy={name: fedavg}", "strategy={name: fedprox}"}) {
            for (const std::string graph : {"training.graph=false", "training.graph=true"}) {
                CAPTURE(graph);
                const auto sha = [&](std::vector<std::string> more) {
                    more.insert(more.begin(), {strategy, graph, "training.local_epochs=2", "training.clients_per_slot=8",
                                               "training.clients_at_once=4"});
                    return sha_on_cuda(more);
                };
                const std::string expected = sha({"workers=1"});
                for (const char* workers : {"workers=0", "workers=2", "workers=4"}) CHECK(sha({workers}) == expected);
                CHECK(sha({"training.clients_per_slot=16"}) == expected);
                CHECK(sha({"failures={policy: retry, attempts: 9}",
                           "faults=[{kind: nan, round: 1, client: 3}, {kind: kill, round: 2, client: 4}, {kind: throw, round: "
                           "3, client: 1}]"}) == expected);
            }
        }
    }

    TEST_CASE("Gpu: EveryModeButSplitRunsWithRecordedSteps") {
        if (const std::string reason = refusal_of_training(); !reason.empty()) FEDHIVE_SKIP(reason);
        for (const std::string mode : {"{name: semi_async, quorum: 3}", "{name: async}",
                                       "{name: parameter_server, max_staleness: 2}", "{name: gradient_averaging}"}) {
            CAPTURE(mode);
            const std::vector<std::string> eager{"mode=" + mode, "training.engine=libtorch", "workers=4", "training.cohort=4",
                                                 "data.partition={scheme: iid, clients: 4}"};
            std::vector<std::string> recorded = eager;
            recorded.emplace_back("training.graph=true");
            CHECK(sha_on_cuda(recorded) == sha_on_cuda(eager));
        }
        CHECK(sha_on_cuda({"mode={name: hogwild}", "workers=4", "training.graph=true"}).size() == 64);
    }

    TEST_CASE("Gpu: WorkersKilledInMidKernelAreReplacedWithTheSameBits") {
        if (const std::string reason = refusal_of_training(); !reason.empty()) FEDHIVE_SKIP(reason);
        for (const std::string graph : {"training.graph=false", "training.graph=true"}) {
            const std::string expected = sha_on_cuda({graph, "rounds=200"});
            FedhiveRun run(small_config(), {"--set", "device=cuda", "--set", "rounds=200", "--set", graph, "--set",
                                            "failures={policy: retry, attempts: 9}", "--set", "workers=2"});
            for (const std::size_t after : {2U, 5U, 9U}) {
                REQUIRE(eventually(120.0, [&] { return run.rounds() >= after; }));
                kill(run.workers()[0], SIGKILL);
            }
            CHECK_MESSAGE(run.end(120.0) == "exited with status 0", run.output());
            CHECK(run.manifest()["model_sha256"] == expected);
        }
    }

    TEST_CASE("Gpu: EveryPrecisionTrainsOnCuda") {
        if (const std::string reason = refusal_of_training(); !reason.empty()) FEDHIVE_SKIP(reason);
        const std::string f32 = sha_on_cuda({});
        CHECK(sha_on_cuda({"training.precision=bf16"}) != f32);
        for (const std::string precision : {"training.precision=bf16", "training.precision=tf32"})
            CHECK(sha_on_cuda({precision, "workers=4"}) == sha_on_cuda({precision, "workers=1"}));
        for (const std::string graph : {"training.graph=false", "training.graph=true"}) {
            const std::vector<std::string> at_once{"training.precision=tf32", graph, "training.clients_at_once=4"};
            CHECK(sha_on_cuda(at_once + Options{"workers=2"}) == sha_on_cuda(at_once + Options{"workers=1"}));
        }
    }

    TEST_CASE("Gpu: EveryStrategyRunsOnCuda") {
        if (const std::string reason = refusal_of_training(); !reason.empty()) FEDHIVE_SKIP(reason);
        for (const std::string name : {"fedavg", "fedavgm", "fedprox", "fedadam", "median"})
            CHECK(sha_on_cuda({"strategy={name: " + name + "}"}).size() == 64);
    }

    TEST_CASE("Gpu: EveryModeRunsOnCudaWithTheSameBitsForOtherWorkers") {
        if (const std::string reason = refusal_of_training(); !reason.empty()) FEDHIVE_SKIP(reason);
        const std::vector<std::string> four{"data.partition={scheme: iid, clients: 4}", "training.cohort=4"};
        const auto sha = [&](std::vector<std::string> overrides) {
            overrides.insert(overrides.end(), four.begin(), four.end());
            return sha_on_cuda(overrides);
        };
        for (const std::string mode : {"{name: synchronous, quorum: 3}", "{name: semi_async, quorum: 3}", "{name: async}",
                                       "{name: parameter_server, max_staleness: 2}", "{name: gradient_averaging}",
                                       "{name: gradient_averaging, all_reduce: ring}"}) {
            CAPTURE(mode);
            CHECK(sha({"mode=" + mode, "workers=4"}) == sha({"mode=" + mode, "workers=6"}));
        }
        CHECK(sha({"mode={name: split, cut: fc1}", "workers=4"}) == sha({"training.engine=libtorch"}));
        CHECK(sha({"mode={name: hogwild}", "workers=4"}).size() == 64);
    }

    TEST_CASE("Gpu: WorkerKilledWhileTrainingOnCudaEndsTheRun") {
        if (const std::string reason = refusal_of_training(); !reason.empty()) FEDHIVE_SKIP(reason);
        FedhiveRun run(small_config(), {"--set", "device=cuda", "--set", "rounds=100000"});
        REQUIRE(eventually(60.0, [&] { return run.rounds() >= 3; }));
        kill(run.workers()[0], SIGKILL);
        CHECK(run.end(10.0) == "exited with status 1");
        CHECK(run.output().find("worker 0") != std::string::npos);
    }

    TEST_CASE("Gpu: FailuresOnCudaAreGotOverWithTheSameBits") {
        if (const std::string reason = refusal_of_training(); !reason.empty()) FEDHIVE_SKIP(reason);
        const std::string expected = sha_on_cuda({});
        for (const std::string kind : {"kill", "kill, at: update", "hang", "throw", "nan", "oom"})
            CHECK(sha_on_cuda({"workers=4", "failures={policy: retry, deadline_s: 5}",
                               "faults=[{round: 2, client: 5, kind: " + kind + "}]"}) == expected);
    }

    TEST_CASE("Gpu: MoreWorkersThanTheDeviceHoldsAreRefusedBeforeTheRun") {
        if (const std::string reason = refusal_of_training(); !reason.empty()) FEDHIVE_SKIP(reason);
        FedhiveRun run(small_config(), {"--set", "device=cuda", "--set", "workers=1024"});
        CHECK(run.end() == "exited with status 2");
        CHECK_MESSAGE(run.output().find(" workers need ") != std::string::npos, run.output());
        CHECK_FALSE(std::filesystem::exists(run.out()));
    }

    TEST_CASE("Gpu: ResumedRunOnCudaHasTheSameBits") {
        if (const std::string reason = refusal_of_training(); !reason.empty()) FEDHIVE_SKIP(reason);
        const std::string expected = sha_on_cuda({"rounds=60", "strategy={name: fedadam}"});
        FedhiveRun run(small_config(), {"--set", "device=cuda", "--set", "rounds=60", "--set", "strategy={name: fedadam}"});
        REQUIRE(eventually(60.0, [&] { return run.rounds() >= 5; }));
        kill(run.pid(), SIGKILL);
        run.end(10.0);
        run.start({"run", "--resume", run.out().string()});
        CHECK_MESSAGE(run.end() == "exited with status 0", run.output());
        CHECK(run.manifest()["model_sha256"] == expected);
    }

    TEST_CASE("Gpu: RealMnistIsLearnedOnCuda") {
        if (const std::string reason = refusal_of_training(); !reason.empty()) FEDHIVE_SKIP(reason);
        const std::filesystem::path source = source_folder();
        if (!std::filesystem::exists(source / "data" / "mnist"))
            FEDHIVE_SKIP("data/mnist is not there; scripts/data mnist brings it");
        FedhiveRun run;
        run.start({"run", (source / "configs" / "mnist.yaml").string(), "--out", run.out().string(), "--set", "device=cuda"});
        REQUIRE(run.end(280.0) == "exited with status 0");
        CHECK(run.manifest()["test_accuracy"].get<double>() > 0.920);
    }
}
