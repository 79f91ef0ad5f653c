// Failures in modes where workers cooperate or where each step counts: after retries the model equals that
// of a run without failures.
#include "tests/process/mode_runs.h"

using namespace fedhive;
using namespace fedhive::testing;

namespace {

Options gradients_averaged(const std::string& all_reduce = "tree") {
    return {"mode={name: gradient_averaging, all_reduce: " + all_reduce + "}", "workers=4"};
}
const Options kSplit{"mode={name: split, cut: fc1}", "workers=3"};
const Options kServer{"mode={name: parameter_server, max_staleness: 1}", "workers=3"};

/// Every kind of failure, each in its own round and for another client. A hanging client is detected by a deadline, which on a
/// busy machine may pass for other clients, too; it has a run of its own, where only its failure counts.
void check_retried(const Options& mode, int deadline_s = 2) {
    const Options more = mode + Options{"rounds=4"};
    const std::string expected = mode_hash(more);
    const ModeRun run(more + Options{"failures={policy: retry, deadline_s: 300}",
                                     "faults=[{kind: kill, round: 1, client: 0}, {kind: throw, round: 2, client: 1}, {kind: "
                                     "nan, round: 3, client: 2}, {kind: kill, round: 4, client: 1, at: update}]"});
    CHECK(run.hash() == expected);
    CHECK(run.events_with("\"retried\"") == 4);
    for (const char* failure :
         {R"(0,"kind":"signalled")", R"(1,"kind":"exception")", R"(2,"kind":"non_finite")", R"(1,"kind":"signalled")"})
        CHECK_MESSAGE(run.events_with(fmt::format("\"client\":{}", failure)) == 1, read_text(run.out() / "events.jsonl"));
    const ModeRun hung(more + Options{fmt::format("failures={{policy: retry, deadline_s: {}, attempts: 30}}", deadline_s),
                                      "faults=[{kind: hang, round: 4, client: 3}]"});
    CHECK(hung.hash() == expected);
    CHECK_MESSAGE(hung.events_with(R"("client":3,"kind":"hung")") >= 1, read_text(hung.out() / "events.jsonl"));
}

/// Expects status 1 and a message that names client 2 and round 2; the round before must be kept.
void check_aborted(const Options& mode, const std::string& fault) {
    FedhiveRun run(mode_config(),
                   set(mode + Options{"failures={policy: abort}", "faults=[{kind: " + fault + ", round: 2, client: 2}]"}));
    CHECK(run.end() == "exited with status 1");
    CHECK_MESSAGE(run.output().find("(client 2, round 2)") != std::string::npos, run.output());
    CHECK(run.manifest()["exit_status"].get<std::string>().find("failed") == 0);
    CHECK(run.rounds() == 1);
    CHECK_FALSE(std::filesystem::exists(run.out() / "model.safetensors"));
}

}  // namespace

TEST_SUITE("ModesFailures") {
    TEST_CASE("ReplicasTriedAgainGiveTheSameBits") { check_retried(gradients_averaged()); }
    TEST_CASE("HalvesTriedAgainGiveTheSameBits") { check_retried(kSplit, 5); }  // LibTorch must be loaded, too
    TEST_CASE("GradientsTriedAgainGiveTheSameBits") { check_retried(kServer); }

    TEST_CASE("AbortNamesTheClient") {
        check_aborted(gradients_averaged(), "kill");
        check_aborted(gradients_averaged("ring"), "nan");
        check_aborted(kSplit, "throw");
        check_aborted(kServer, "kill");
        check_aborted({"mode.name=hogwild"}, "kill");
    }

    TEST_CASE("ClientOfTwoHalvesIsDroppedAndTheOthersGoOn") {
        const ModeRun run(kSplit + Options{"failures.policy=drop", "faults=[{kind: kill, round: 2, client: 2}]"});
        CHECK(run.column("rounds.csv", "accepted") == std::vector<std::string>{"4", "3", "4"});
        CHECK(run.column("clients.csv", "failure")[4 + 2] == "signalled");
        // The same model as without the split.
        CHECK(run.hash() ==
              mode_hash({"training.engine=libtorch", "failures.policy=drop", "faults=[{kind: drop, round: 2, client: 2}]"}));
    }
}
