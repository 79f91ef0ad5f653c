// The wall clock: real arrivals are recorded, and replaying the record gives the same bits.
#include "tests/process/same_run.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

std::vector<std::string> on_the_wall_clock(const std::string& mode, const std::string& workers) {
    return set({"mode=" + mode, "workers=" + workers, "clock=wall", "rounds=6"});
}

void follow(const FedhiveRun& run, const std::string& mode, const std::string& workers) {
    std::vector<std::string> options = on_the_wall_clock(mode, workers);
    options.insert(options.end(), {"--arrivals", (run.out() / "arrivals.csv").string()});
    FedhiveRun again(small_config(), options);
    REQUIRE_MESSAGE(again.end() == "exited with status 0", again.output());
    check_same_run(again.out(), run.out());
    CHECK(read_text(again.out() / "arrivals.csv") == read_text(run.out() / "arrivals.csv"));
}

}  // namespace

TEST_SUITE("WallClock") {
    TEST_CASE("RecordedArrivalsGiveTheBitsAgainWithAnyNumberOfWorkers") {
        for (const char* mode : {"{name: semi_async, quorum: 3}", "{name: semi_async, quorum: 11}", "{name: async}",
                                 "{name: synchronous, quorum: 8}", "{name: parameter_server, max_staleness: 2}"}) {
            CAPTURE(mode);
            // Without occasional pauses, clients would arrive in the order of sending.
            std::vector<std::string> options = on_the_wall_clock(mode, "3");
            for (const std::string& option : set({"faults=[{kind: slow, rate: 0.3, seconds: 0.05}]"}))
                options.push_back(option);
            FedhiveRun run(small_config(), options);
            REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
            CHECK(read_csv(run.out() / "rounds.csv").front().at("virtual_s").empty());
            for (const char* workers : {"0", "2"}) follow(run, mode, workers);
        }
    }

    TEST_CASE("ArrivalsAreWrittenInOrderOnePerArrival") {
        FedhiveRun run(small_config(), on_the_wall_clock("{name: semi_async, quorum: 3}", "2"));
        REQUIRE(run.end() == "exited with status 0");
        const auto lines = read_lines(run.out() / "arrivals.csv");
        REQUIRE(lines.size() == 1 + 6 * 3);
        CHECK(lines[0] == "round,client_id");
        for (std::size_t i = 1; i < lines.size(); ++i) CHECK(lines[i].starts_with(std::to_string((i + 2) / 3) + ","));
    }

    TEST_CASE("SemiAsyncStepsByItsQuorumWhileTheOthersAreInFlightAndGrowStale") {
        const std::vector<std::string> options = on_the_wall_clock("{name: semi_async, quorum: 3}", "3");
        FedhiveRun run(small_config(), options + set({"faults=[{kind: slow, rate: 0.3, seconds: 0.05}]"}));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        const auto rounds = read_csv(run.out() / "rounds.csv");
        REQUIRE(rounds.size() == 6);
        double oldest = 0.0;
        for (const auto& round : rounds) {
            CHECK(round.at("accepted") == "3");
            CHECK(round.at("version") == round.at("round"));
            CHECK(round.at("virtual_s").empty());
            CHECK(round.at("in_flight") == "10");  // two of three replaced at once, one next round
            oldest = std::max(oldest, std::stod(round.at("staleness_mean")));
        }
        CHECK(rounds[0].at("staleness_mean") == "0");  // all of them started from the first model
        CHECK(oldest > 0.0);
        // A client's staleness is the number of versions since its sending; the round's mean is over its clients.
        for (const auto& client : read_csv(run.out() / "clients.csv"))
            if (client.at("failure").empty())
                CHECK(std::stoi(client.at("staleness")) == std::stoi(client.at("round")) - std::stoi(client.at("sent_round")));
    }

    TEST_CASE("InterruptedRunHasWholeArrivals") {
        FedhiveRun run(small_config(), set({"mode={name: async}", "clock=wall", "rounds=2000", "evaluation.every=2000"}));
        REQUIRE(eventually(30.0, [&] { return run.rounds() >= 20; }));
        kill(run.pid(), SIGINT);
        REQUIRE(run.end() == "exited with status 130");
        run.start({"run", "--resume", run.out().string(), "--set", "rounds=2000"});
        REQUIRE(run.end() == "exited with status 0");
        CHECK(read_lines(run.out() / "arrivals.csv").size() == 2001);
    }

    TEST_CASE("RecordThatDoesNotFitIsRefused") {
        FedhiveRun run(small_config(), on_the_wall_clock("{name: async}", "2"));
        REQUIRE(run.end() == "exited with status 0");
        const std::string log = (run.out() / "arrivals.csv").string();
        const auto refused = [&](std::vector<std::string> options, int status, const std::string& text) {
            options.insert(options.end(), {"--arrivals", log});
            FedhiveRun other(small_config(), options);
            CHECK(other.end() == "exited with status " + std::to_string(status));
            CHECK_MESSAGE(other.output().find(text) != std::string::npos, other.output());
            CHECK_FALSE(std::filesystem::exists(other.out()));  // refused before the start
        };
        refused(set({"mode={name: async}", "clock=wall", "rounds=7"}), 2, "records 6 rounds, but the run has 7");
        refused(set({"mode={name: async}", "rounds=6"}), 2, "'arrivals' belongs to clock 'wall'");
        refused(set({"mode={name: semi_async, quorum: 3}", "clock=wall", "rounds=6"}), 2,
                "arrivals.csv: round 1 has 1 arrivals, but the run");
        const std::string record = read_text(run.out() / "arrivals.csv");
        std::ofstream(run.out() / "arrivals.csv") << "round,client_id\n1,13\n" << record.substr(record.find("\n2,") + 1);
        refused(set({"mode={name: async}", "clock=wall", "rounds=6"}), 2, "arrivals.csv: round 1 names client 13, which");
        std::ofstream(run.out() / "arrivals.csv") << record << "6,0\n";
        refused(set({"mode={name: async}", "clock=wall", "rounds=6"}), 2, "round 6 ");
        std::ofstream(run.out() / "arrivals.csv") << "round,client_id\n1,0\n3,0\n";
        refused(set({"mode={name: async}", "clock=wall", "rounds=2"}), 2, "arrivals.csv:3: round 3 follows round 1");
        std::ofstream(run.out() / "arrivals.csv") << "round,client_id\n1,x\n";
        refused(set({"mode={name: async}", "clock=wall", "rounds=1"}), 2, "arrivals.csv:2: client_id 'x' is not a number");
    }
}
