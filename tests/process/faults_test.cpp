// Recovered failures: the model equals that of a run without failures, or that of a run that lacks exactly the dropped clients,
// for any number of workers. Real processes; faults by the config's key and by real signals.
#include "tests/process/csv_rows.h"

#include <doctest/doctest.h>

#include <set>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

std::string final_hash(const std::vector<std::string>& assignments) {
    FedhiveRun run(small_config(), set(assignments));
    const std::string end = run.end();
    CHECK_MESSAGE(end == "exited with status 0", run.output());
    return run.manifest()["model_sha256"].get<std::string>();
}

std::size_t count_events(const FedhiveRun& run, const std::string& text) {
    const auto lines = read_lines(run.out() / "events.jsonl");
    return static_cast<std::size_t>(std::count_if(
        lines.begin(), lines.end(), [&](const std::string& line) { return line.find(text) != std::string::npos; }));
}

}  // namespace

TEST_SUITE("Faults") {
    TEST_CASE("RetriedClientsGiveTheBitsOfAFaultlessRun") {
        const std::string expected = final_hash({});
        for (const std::string workers : {"0", "3"})
            for (const std::string per_slot : {"1", "4"}) {
                CAPTURE(workers);
                CAPTURE(per_slot);
                FedhiveRun run(
                    small_config(),
                    set({"workers=" + workers, "training.clients_per_slot=" + per_slot,
                         "failures={policy: retry, deadline_s: 2, attempts: 30}",
                         "faults=[{kind: kill, round: 1, client: 3}, {kind: hang, round: 2, client: 4}, {kind: throw, "
                         "round: 2, client: 7}, {kind: nan, round: 3, client: 1}, {kind: kill, round: 3, client: 9, at: "
                         "update}, {kind: drop, rate: 0.2}, {kind: slow, rate: 0.1, seconds: 0.01}]"}));
                CHECK_MESSAGE(run.end() == "exited with status 0", run.output());
                CHECK(run.manifest()["model_sha256"] == expected);
                CHECK(count_events(run, "\"retried\"") >= 4);
                CHECK(run.manifest()["failures"]["failures"].get<int>() >= 4);
            }
    }

    TEST_CASE("OutOfMemoryGivesTheSameBitsWithFewerWorkers") {
        const std::string expected = final_hash({});
        FedhiveRun run(small_config(), set({"workers=4", "faults=[{kind: oom, round: 2, client: 5}]"}));
        CHECK(run.end() == "exited with status 0");
        CHECK(run.manifest()["model_sha256"] == expected);
        CHECK(count_events(run, "tried again with 2 workers") == 1);
    }

    TEST_CASE("DroppedClientsAreTheSameForAnyNumberOfWorkersAndSlots") {
        std::set<std::string> hashes;
        const std::string faults =
            "faults=[{kind: drop, rate: 0.2}, {kind: throw, rate: 0.1}, {kind: kill, round: 2, client: 6}, {kind: nan, rate: "
            "0.1}]";
        for (const std::string workers : {"0", "1", "2", "4"})
            for (const std::string per_slot : {"1", "4"})
                hashes.insert(final_hash({"workers=" + workers, "training.clients_per_slot=" + per_slot,
                                          "failures={policy: drop, deadline_s: 60}", faults}));
        CHECK(hashes.size() == 1);
        CHECK_FALSE(hashes.contains(final_hash({})));
        CHECK_FALSE(hashes.contains(final_hash({"failures={policy: drop}", faults, "seed=2"})));
    }

    TEST_CASE("TablesTellWhoWasDropped") {
        FedhiveRun run(small_config(), set({"failures={policy: drop}", "training.cohort=13",
                                            "faults=[{kind: throw, round: 2, client: 6}, {kind: "
                                            "drop, round: 2, client: 7}]"}));
        REQUIRE(run.end() == "exited with status 0");
        const auto rounds = read_csv(run.out() / "rounds.csv");
        REQUIRE(rounds.size() == 3);
        CHECK(rounds[1].at("cohort") == "13");
        CHECK(rounds[1].at("accepted") == "11");
        CHECK(rounds[1].at("failed") == "2");
        CHECK(rounds[2].at("failed") == "0");
        const auto clients = read_csv(run.out() / "clients.csv");
        REQUIRE(clients.size() == 39);
        CHECK(clients[13 + 6].at("failure") == "exception");
        CHECK(clients[13 + 6].at("update_hash").empty());
        CHECK(clients[13 + 7].at("failure") == "dropped");
        CHECK(clients[13 + 8].at("failure").empty());
    }

    TEST_CASE("RoundWithTooFewUpdatesIsSkipped") {
        FedhiveRun run(small_config(), set({"failures={policy: drop, min_updates: 5}", "training.cohort=6",
                                            "faults=[{kind: drop, round: 2, rate: 0.7}]", "seed=3"}));
        REQUIRE(run.end() == "exited with status 0");
        const auto rounds = read_csv(run.out() / "rounds.csv");
        REQUIRE(rounds.size() == 3);
        CHECK(std::stoi(rounds[1].at("accepted")) < 5);
        CHECK(rounds[1].at("version") == "1");
        CHECK(rounds[2].at("version") == "2");
        FedhiveRun all(small_config(), set({"failures={policy: drop}", "faults=[{kind: drop, round: 2}]"}));
        REQUIRE(all.end() == "exited with status 0");
        CHECK(read_csv(all.out() / "rounds.csv")[1].at("train_loss").empty());
    }

    TEST_CASE("RunInWhichNoUpdateIsEverAcceptedHasFailed") {
        for (const char* mode : {"mode={name: synchronous}", "mode={name: semi_async, quorum: 3}", "mode={name: async}",
                                 "mode={name: parameter_server}", "mode={name: hogwild}"}) {
            CAPTURE(mode);
            FedhiveRun run(small_config(), set({mode, "failures={policy: drop}", "faults=[{kind: drop, attempts: all}]",
                                                "checkpoint.every=1"}));
            CHECK_MESSAGE(run.end() == "exited with status 1", run.output());
            const std::string why = "no update was accepted in any of 3 rounds, so the model has not changed";
            CHECK_MESSAGE(run.output().find(why) != std::string::npos, run.output());
            CHECK(run.manifest()["exit_status"].get<std::string>().find("failed: " + why) == 0);
            CHECK(run.manifest()["last_step"] == 0);
            CHECK_FALSE(std::filesystem::exists(run.out() / "model.safetensors"));
            CHECK(run.rounds() == 3);
            run.start({"run", "--resume", run.out().string()});
            CHECK_MESSAGE(run.end() == "exited with status 1", run.output());
            run.start({"run", "--resume", run.out().string(), "--set", "rounds=4"});
            CHECK_MESSAGE(run.end() == "exited with status 1", run.output());
            CHECK(run.manifest()["exit_status"].get<std::string>().find("failed: no update was accepted in any of 4 rounds") ==
                  0);
        }
        FedhiveRun few(small_config(), set({"failures={policy: drop, min_updates: 5}", "training.cohort=6",
                                            "faults=[{kind: drop, rate: 0.7}]", "seed=3", "rounds=1"}));
        CHECK_MESSAGE(few.end() == "exited with status 1", few.output());
        CHECK_MESSAGE(few.output().find("fewer than 5 updates were accepted in any of 1 rounds") != std::string::npos,
                      few.output());
    }

    TEST_CASE("RunWhoseLastRoundsHadNoUpdateSaysWhichRoundItsModelIs") {
        const Options last{"failures={policy: drop}", "faults=[{kind: drop, round: 3}, {kind: drop, round: 4}]",
                           "checkpoint.every=1"};
        const std::string why = "no update was accepted after round 2 of 4; ";
        FedhiveRun run(small_config(), set(last + Options{"rounds=4"}));
        CHECK(run.end() == "exited with status 0");
        CHECK_MESSAGE(run.output().find(why) != std::string::npos, run.output());
        CHECK(run.manifest()["exit_status"] == "finished");
        CHECK(run.manifest()["last_step"] == 2);
        FedhiveRun resumed(small_config(), set(last + Options{"rounds=4"}) + Options{"--until", "3"});
        CHECK(resumed.end() == "exited with status 0");
        resumed.start({"run", "--resume", resumed.out().string()});
        CHECK(resumed.end() == "exited with status 0");
        CHECK_MESSAGE(resumed.output().find(why) != std::string::npos, resumed.output());
        CHECK(final_hash({"rounds=2"}) == resumed.manifest()["model_sha256"]);
        FedhiveRun whole(small_config(), set({}));
        CHECK(whole.end() == "exited with status 0");
        CHECK(whole.output().find("the model is that") == std::string::npos);
        CHECK(whole.manifest()["last_step"] == 3);
    }

    TEST_CASE("UpdateThatExplodesIsRefusedWhenItArrives") {
        FedhiveRun run(small_config(), set({"failures.max_update_norm=0.0001"}));
        CHECK(run.end() == "exited with status 1");
        CHECK_MESSAGE(run.output().find("above failures.max_update_norm 0.0001") != std::string::npos, run.output());
    }

    TEST_CASE("WorkersKilledFromOutsideAreReplacedAndTheBitsStay") {
        const std::string expected = final_hash({"rounds=400", "evaluation.every=50"});
        FedhiveRun run(small_config(), set({"rounds=400", "evaluation.every=50", "failures={policy: retry}"}));
        for (int kills = 0; kills < 3; ++kills) {
            const std::size_t before = run.rounds();
            REQUIRE(eventually(30.0, [&] { return run.rounds() > before + 5 && run.workers().size() == 2; }));
            kill(run.workers()[static_cast<std::size_t>(kills % 2)], SIGKILL);
            REQUIRE(eventually(60.0, [&] { return count_events(run, "signalled") == static_cast<std::size_t>(kills) + 1; }));
        }
        CHECK(run.end() == "exited with status 0");
        CHECK(run.manifest()["model_sha256"] == expected);
        CHECK(run.manifest()["failures"]["workers_replaced"] == 3);
    }

    TEST_CASE("StoppedGroupSuspendsDeadlines") {
        // Clients pause for some seconds; meanwhile all processes are stopped for longer than the deadline.
        FedhiveRun run(small_config(),
                       set({"rounds=1", "training.cohort=2", "failures.deadline_s=8", "faults=[{kind: slow, seconds: 6}]"}));
        REQUIRE(eventually(20.0, [&] { return run.workers().size() == 2; }));
        std::this_thread::sleep_for(std::chrono::milliseconds(2500));
        auto group = run.workers();
        group.push_back(run.pid());
        for (const pid_t pid : group) kill(pid, SIGSTOP);
        std::this_thread::sleep_for(std::chrono::milliseconds(9000));
        CHECK(run.rounds() == 0);  // it was stopped during training
        for (const pid_t pid : group) kill(pid, SIGCONT);
        CHECK_MESSAGE(run.end() == "exited with status 0", run.output());
        CHECK(count_events(run, "failure") == 0);
    }
}
