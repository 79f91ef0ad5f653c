// Diverging training: which client is blamed, and that no run finishes with a model that is not finite.
#include "tests/process/csv_rows.h"

#include <doctest/doctest.h>

#include <optional>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

/// Runs fedhive, expects status 1 and returns the output.
std::string failed(const Options& assignments, std::optional<std::size_t> after_rounds = std::nullopt) {
    FedhiveRun run(small_config(), set(assignments));
    CHECK_MESSAGE(run.end() == "exited with status 1", run.output());
    if (after_rounds) CHECK(run.rounds() == *after_rounds);
    CHECK(run.manifest()["exit_status"].get<std::string>().find("failed: ") == 0);
    CHECK(run.manifest()["diverged"] == true);
    CHECK(run.output().find("; resuming it would fail in the same way; start a new run with other values\n") !=
          std::string::npos);
    CHECK(run.output().find("--resume") == std::string::npos);
    CHECK_FALSE(std::filesystem::exists(run.out() / "model.safetensors"));
    return run.output();
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Every element that changes at all moves by ten times the server rate.
const std::string kFarTooFar = "strategy={name: fedadam, server_lr: 3e38, beta1: 0, tau: 1e-6}";

}  // namespace

TEST_SUITE("Divergence") {
    TEST_CASE("ModelThatIsNotFiniteEndsTheRunUnderEachPolicy") {
        for (const std::string policy : {"abort", "retry", "drop"})
            for (const std::string mode : {"{name: synchronous}", "{name: semi_async, quorum: 3}"}) {
                CAPTURE(policy);
                CAPTURE(mode);
                const std::string output =
                    failed({kFarTooFar, "mode=" + mode, "evaluation.every=100", "rounds=100", "failures.policy=" + policy});
                CHECK_MESSAGE(has(output, "strategy.server_lr (3e+38) or training.optimizer.lr (0.05)"), output);
                CHECK(has(output, "its global model (version "));
            }
    }

    TEST_CASE("EvaluatedModelThatHasDivergedEndsTheRunInThatRound") {
        const std::string output = failed({kFarTooFar, "rounds=1", "failures.policy=drop"}, 1);
        CHECK_MESSAGE(has(output, "the global model has diverged: after round 1 "), output);
        CHECK_MESSAGE(has(output, "strategy.server_lr (3e+38)"), output);
        // Finite, but so large that every client overflows.
        const std::string large = failed({"strategy={name: fedavgm, server_lr: 1e37, server_momentum: 0.5}", "rounds=4",
                                          "evaluation.every=3", "failures.policy=drop"},
                                         3);
        CHECK_MESSAGE(has(large, "has diverged: after round 3 its test loss is "), large);
        CHECK_MESSAGE(has(large, "strategy.server_lr (1e+37) or strategy.server_momentum (0.5) or training.optimizer.lr"),
                      large);
    }

    TEST_CASE("WhoWatchesADivergedRunIsOfferedNoResume") {
        FedhiveRun run(small_config(), set({kFarTooFar, "rounds=1"}));
        CHECK(run.end() == "exited with status 1");
        run.start({"watch", run.out().string()});
        CHECK(run.end() == "exited with status 1");
        CHECK_MESSAGE(has(run.output(), "usually helps; failures.max_update_norm"), run.output());
        CHECK_MESSAGE(has(run.output(), "of 1 rounds; resuming it would fail"), run.output());
        CHECK_FALSE(has(run.output(), "--resume"));
    }

    TEST_CASE("UpdateThatIsNotFiniteNamesTheKeysOfItsMode") {
        const std::string lr = "training.optimizer={name: sgd, lr: 1e30}";
        CHECK(has(failed({lr}, 0), "a smaller training.optimizer.lr (1e+30) usually helps"));
        CHECK(has(failed({lr, "mode={name: parameter_server}"}, 0),
                  "a smaller training.optimizer.lr (1e+30) or mode.max_staleness usually helps"));
        CHECK(has(failed({"strategy={name: fedprox, proximal_mu: 1e30}"}, 0),
                  "a smaller training.optimizer.lr (0.05) or training.optimizer.momentum (0.5) or strategy.proximal_mu (1e+30) "
                  "usually helps"));
        CHECK(has(failed({"mode={name: gradient_averaging}", "training.cohort=null", "workers=4",
                          "data.partition={scheme: iid, clients: 4}", lr},
                         0),
                  "a gradient holds a NaN"));
        const std::string injected = failed({"faults=[{kind: nan, round: 1, client: 1}]", "training.cohort=13"}, 0);
        CHECK_MESSAGE(has(injected, "injected: the update holds a NaN or an infinity"), injected);
        CHECK_FALSE(has(injected, "usually helps"));
    }
}
