// Promise 1 with `training.clients_at_once`: config and cohort alone decide which clients share a step, so
// results depend on nothing else.
#include "tests/process/same_run.h"

#include <doctest/doctest.h>

#include <set>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

/// The small config with slots of eight, trained four at once; the last three of the cohort's eleven form a shorter batch.
std::vector<std::string> at_once(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"training.clients_per_slot=8", "training.clients_at_once=4", "training.local_epochs=2"});
    return set(more);
}

std::string sha_of_run(const std::vector<std::string>& options, const std::string& folder_of_whole = "") {
    FedhiveRun run(small_config(), options);
    CAPTURE(run.output());
    REQUIRE(run.end() == "exited with status 0");
    if (!folder_of_whole.empty()) CHECK(comparable(run.out() / "clients.csv") == folder_of_whole);
    return run.manifest()["model_sha256"];
}

std::string events_text(const FedhiveRun& run) { return read_text(run.out() / "events.jsonl"); }

}  // namespace

TEST_SUITE("AtOnce") {
    TEST_CASE("SameModelAndRowsForAnyNumberOfWorkers") {
        FedhiveRun alone(small_config(), at_once({"workers=0"}));
        REQUIRE(alone.end() == "exited with status 0");
        const std::string expected = alone.manifest()["model_sha256"], rows = comparable(alone.out() / "clients.csv");
        for (const char* workers : {"workers=1", "workers=2", "workers=4"})
            CHECK(sha_of_run(at_once({workers}), rows) == expected);
        // Slots of sixteen have the same batches of four.
        CHECK(sha_of_run(at_once({"training.clients_per_slot=16"})) == expected);
    }

    TEST_CASE("GraphHasNoEffectOnTheCpu") {
        FedhiveRun run(small_config(), at_once({"training.graph=true"}));
        REQUIRE(run.end() == "exited with status 0");
        CHECK(run.manifest()["model_sha256"] == sha_of_run(at_once()));
        CHECK(run.manifest()["graph"] == false);
    }

    TEST_CASE("Tf32IsF32OnTheCpu") { CHECK(sha_of_run(at_once({"training.precision=tf32"})) == sha_of_run(at_once())); }

    TEST_CASE("AccuracyAndRowsAreThoseOfOneAtATimeButForTheLastBits") {
        FedhiveRun one(small_config(), at_once({"training.clients_at_once=1"}));
        FedhiveRun four(small_config(), at_once());
        REQUIRE(one.end() == "exited with status 0");
        REQUIRE(four.end() == "exited with status 0");
        const auto a = read_csv(one.out() / "clients.csv"), b = read_csv(four.out() / "clients.csv");
        REQUIRE(a.size() == 3 * 11);
        REQUIRE(b.size() == a.size());
        for (std::size_t i = 0; i < a.size(); ++i)
            for (const char* column : {"round", "client_id", "slot", "num_examples", "steps", "train_loss", "update_norm"})
                CHECK(std::stod(a[i].at(column)) == doctest::Approx(std::stod(b[i].at(column))).epsilon(1e-3));
    }

    TEST_CASE("FailedMembersAreTriedAgainAndGiveTheBitsOfAFaultlessRun") {
        const std::string expected = sha_of_run(at_once());
        for (const std::string workers : {"workers=0", "workers=3"}) {
            CAPTURE(workers);
            FedhiveRun run(
                small_config(),
                at_once({workers, "failures={policy: retry, deadline_s: 1, attempts: 30}",
                         "faults=[{kind: kill, round: 1, client: 3}, {kind: hang, round: 2, client: 4}, {kind: throw, "
                         "round: 2, client: 7}, {kind: nan, round: 3, client: 1}, {kind: kill, round: 3, client: 9, "
                         "at: update}, {kind: oom, round: 1, client: 8}, {kind: slow, rate: 0.1, seconds: 0.01}]"}));
            CHECK_MESSAGE(run.end() == "exited with status 0", run.output());
            CHECK(run.manifest()["model_sha256"] == expected);
            for (const int client : {3, 4, 7, 1, 9})
                CHECK_MESSAGE(events_text(run).find(fmt::format("\"client\":{},", client)) != std::string::npos,
                              events_text(run));
            // Four clients trained together get four times the deadline.
            if (workers == "workers=3") CHECK(events_text(run).find("the limit is 4.0 s") != std::string::npos);
        }
    }

    TEST_CASE("DroppedMembersKeepTheirPlaces") {
        const std::string faults =
            "faults=[{kind: drop, rate: 0.2}, {kind: throw, rate: 0.1}, {kind: kill, round: 2, client: 6}, {kind: nan, rate: "
            "0.1}]";
        std::set<std::string> hashes;
        std::string rows;
        for (const char* workers : {"workers=0", "workers=1", "workers=3"}) {
            FedhiveRun run(small_config(), at_once({workers, "failures={policy: drop, deadline_s: 60}", faults}));
            CHECK_MESSAGE(run.end() == "exited with status 0", run.output());
            hashes.insert(run.manifest()["model_sha256"].get<std::string>());
            rows = comparable(run.out() / "clients.csv");
        }
        CHECK(hashes.size() == 1);
        CHECK_FALSE(hashes.contains(sha_of_run(at_once())));
        // In round 1 all clients start from the same model, so accepted ones have the same hash as without failures.
        FedhiveRun whole(small_config(), at_once());
        REQUIRE(whole.end() == "exited with status 0");
        std::istringstream with(rows), without(comparable(whole.out() / "clients.csv"));
        std::string a, b;
        int same = 0, failed = 0;
        for (int line = 0; line < 12 && std::getline(with, a) && std::getline(without, b); ++line)
            (a == b ? same : failed) += 1;
        CHECK(failed >= 1);
        CHECK(same + failed == 12);
        CHECK(same >= 6);
    }

    TEST_CASE("KilledWorkerAndResumedRunEndTheSame") {
        const auto options = [](std::vector<std::string> more) {
            more.insert(more.end(), {"rounds=40", "checkpoint.every=3", "failures={policy: retry}"});
            return at_once(std::move(more));
        };
        FedhiveRun whole(small_config(), options({}));
        REQUIRE(whole.end() == "exited with status 0");
        FedhiveRun run(small_config(), options({}));
        REQUIRE(eventually(30.0, [&] { return run.rounds() >= 4; }));
        kill(run.workers().front(), SIGKILL);
        REQUIRE(eventually(30.0, [&] { return run.rounds() >= 12; }));
        kill(run.pid(), SIGKILL);
        run.end();
        run.start({"run", "--resume", run.out().string()});
        CHECK_MESSAGE(run.end() == "exited with status 0", run.output());
        check_same_run(run.out(), whole.out());
    }
}
