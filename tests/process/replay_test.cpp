// Replays one client's training; the bits must match its row in clients.csv.
#include "tests/process/csv_rows.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

struct Row {
    std::string round, client, steps, failure;
};

std::vector<Row> rows_of(const std::filesystem::path& run) {
    std::vector<Row> rows;
    for (const auto& row : read_csv(run / "clients.csv"))
        rows.push_back({row.at("round"), row.at("client_id"), row.at("steps"), row.at("failure")});
    return rows;
}

/// How `fedhive replay` ended; its output is in `output`.
std::string replay(const std::filesystem::path& run, const std::string& round, const std::string& client, std::string& output) {
    FedhiveRun process;
    process.start({"replay", run.string(), "--round", round, "--client", client});
    const std::string end = process.end();
    output = process.output();
    return end;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The `which`-th accepted client of a round, from 0.
Row accepted(const std::vector<Row>& rows, int round, std::size_t which) {
    for (const Row& row : rows)
        if (row.round == std::to_string(round) && row.failure.empty() && which-- == 0) return row;
    FAIL("no such row");
    return {};
}

void replays(const std::filesystem::path& run, const Row& row) {
    std::string output;
    const std::string end = replay(run, row.round, row.client, output);
    CAPTURE(row.round);
    CAPTURE(row.client);
    CHECK_MESSAGE(end == "exited with status 0", output);
    CHECK_MESSAGE(has(output, ": the same bits as in the run\n"), output);
    std::size_t steps = 0;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) steps += line.find("step ") == 0 ? 1 : 0;
    CHECK(std::to_string(steps) == row.steps);
}

}  // namespace

TEST_SUITE("Replay") {
    TEST_CASE("RoundsBeforeAndAfterTheCheckpointsHaveTheirBits") {
        FedhiveRun run(small_config(),
                       {"--set", "rounds=5", "--set", "strategy={name: fedadam}", "--set", "checkpoint.every=2"});
        REQUIRE(run.end() == "exited with status 0");
        const auto rows = rows_of(run.out());
        for (const int round : {1, 2, 3, 5}) replays(run.out(), accepted(rows, round, static_cast<std::size_t>(round)));
        std::string output;
        const Row last = accepted(rows, 5, 0);
        replay(run.out(), last.round, last.client, output);
        CHECK(has(output, "from round-00000004.safetensors\n"));
        const Row third = accepted(rows, 3, 0);
        replay(run.out(), third.round, third.client, output);
        CHECK(has(output, "from the beginning, after running rounds 1 to 2 again\n"));
    }

    TEST_CASE("ClientOfAnEarlierRoundHasItsBitsInSemiAsync") {
        FedhiveRun run(small_config(), {"--set", "rounds=6", "--set", "mode={name: semi_async, quorum: 3}", "--set",
                                        "devices={compute: {distribution: zipf, exponent: 1}}", "--set", "checkpoint.every=2"});
        REQUIRE(run.end() == "exited with status 0");
        const auto rows = rows_of(run.out());
        for (const int round : {2, 4, 6}) replays(run.out(), accepted(rows, round, 2));
    }

    TEST_CASE("ClientThatCameTwiceInARoundIsTrainedTwice") {
        FedhiveRun run(
            small_config(),
            set({"rounds=6", "mode={name: semi_async, quorum: 11}", "devices={compute: {distribution: zipf, exponent: 1}}",
                 "faults=[{kind: throw, rate: 0.2}]", "failures.policy=drop", "checkpoint.every=2"}));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        std::map<std::pair<std::string, std::string>, int> came;
        for (const Row& row : rows_of(run.out()))
            if (row.failure.empty()) ++came[{row.round, row.client}];
        const auto twice = std::find_if(came.rbegin(), came.rend(), [](const auto& one) { return one.second > 1; });
        REQUIRE(twice != came.rend());
        std::string output;
        const auto& [round, client] = twice->first;
        CHECK_MESSAGE(replay(run.out(), round, client, output) == "exited with status 0", output);
        int same = 0;
        for (std::size_t at = 0; (at = output.find(": the same bits as in the run\n", at)) != std::string::npos; ++at) ++same;
        CHECK_MESSAGE(same == twice->second, output);
    }

    TEST_CASE("DroppedClientsAndSkippedRoundsAreFollowed") {
        // Whole slots, single members, and in round 2 nearly all clients fail: too few for a step.
        FedhiveRun run(
            small_config(),
            {"--set", "rounds=4", "--set", "checkpoint.every=100", "--set", "training.clients_per_slot=4", "--set",
             "strategy={name: fedavgm, server_momentum: 0.9}", "--set", "failures={policy: drop, min_updates: 5}", "--set",
             "faults=[{kind: nan, round: 2, rate: 0.9}, {kind: throw, rate: 0.3}, {kind: kill, round: 1, client: 3}]"});
        REQUIRE(run.end() == "exited with status 0");
        REQUIRE(has(read_text(run.out() / "rounds.csv"), "\n2,1,11,"));  // the version did not change
        const auto rows = rows_of(run.out());
        for (const int round : {2, 3, 4}) replays(run.out(), accepted(rows, round, 0));
        std::string output;
        const auto failed = std::find_if(rows.begin(), rows.end(), [](const Row& row) { return row.failure == "non_finite"; });
        REQUIRE(failed != rows.end());
        CHECK(replay(run.out(), failed->round, failed->client, output) == "exited with status 2");
        CHECK_MESSAGE(has(output, fmt::format("client {} failed in round 2 (non_finite), so it has no", failed->client)),
                      output);
    }

    TEST_CASE("ClientIsTrainedWithThoseItWasTrainedAtOnceWith") {
        FedhiveRun run(small_config(), {"--set", "rounds=2", "--set", "checkpoint.every=100", "--set",
                                        "training.clients_per_slot=8", "--set", "training.clients_at_once=4", "--set",
                                        "failures={policy: drop}", "--set", "faults=[{kind: throw, rate: 0.2}]"});
        REQUIRE(run.end() == "exited with status 0");
        const auto rows = rows_of(run.out());
        for (const std::size_t place : {0U, 3U, 6U}) replays(run.out(), accepted(rows, 2, place));
    }

    TEST_CASE("ClientThatWasTriedAgainAndARunFromAModelFile") {
        FedhiveRun first(small_config());
        REQUIRE(first.end() == "exited with status 0");
        const auto model = first.out() / "model.safetensors";
        FedhiveRun run(small_config(), {"--init", model.string(), "--set", "faults=[{kind: throw, rate: 0.5}]", "--set",
                                        "failures.policy=retry", "--set", "checkpoint.every=100"});
        REQUIRE(run.end() == "exited with status 0");
        std::filesystem::remove(model);
        const auto rows = rows_of(run.out());
        for (const int round : {1, 2}) replays(run.out(), accepted(rows, round, 1));
    }

    TEST_CASE("OtherBitsNameBothHashesAndWhereTheyBegin") {
        FedhiveRun run(small_config(), {"--set", "checkpoint.every=100"});
        REQUIRE(run.end() == "exited with status 0");
        std::string table = read_text(run.out() / "clients.csv");
        // Changes the hash of the last row, and of the first.
        const auto spoil = [&](std::size_t begin) {
            std::size_t comma = begin;
            for (int i = 0; i < 8; ++i) comma = table.find(',', comma + 1);
            table.replace(comma + 1, 16, "0123456789abcdef");
        };
        const auto rows = rows_of(run.out());
        spoil(table.rfind('\n', table.size() - 2) + 1);
        std::ofstream(run.out() / "clients.csv") << table;
        std::string output;
        CHECK(replay(run.out(), "3", rows.back().client, output) == "exited with status 1");
        CHECK_MESSAGE(has(output, ", but 0123456789abcdef in the run: different bits\n"), output);
        spoil(table.find('\n') + 1);
        std::ofstream(run.out() / "clients.csv") << table;
        CHECK(replay(run.out(), "3", rows.back().client, output) == "exited with status 1");
        CHECK_MESSAGE(has(output, "; the first different result is that of round 1, client " + rows.front().client), output);
    }

    TEST_CASE("WhatIsNotInTheRecordIsRefused") {
        FedhiveRun run(small_config());
        REQUIRE(run.end() == "exited with status 0");
        const auto refused = [&](const std::filesystem::path& folder, const std::string& round, const std::string& client,
                                 const std::string& message) {
            std::string output;
            CHECK(replay(folder, round, client, output) == "exited with status 2");
            CHECK_MESSAGE(has(output, message), output);
        };
        refused(run.out(), "4", "1", "round 4 is not recorded; allowed: 1 to 3");
        refused(run.out(), "0", "1", "round 0 is not recorded; allowed: 1 to 3");
        refused(run.out(), "2", "77", "client 77 did not train in round 2; its cohort: ");
        refused(run.folder(), "1", "1", "is not the folder of a run");
        std::string config = read_text(run.out() / "config.yaml");
        config.replace(config.find("lr: 0.05"), 8, "lr: 0.04");
        std::ofstream(run.out() / "config.yaml") << config;
        const Row row = accepted(rows_of(run.out()), 3, 0);
        refused(run.out(), row.round, row.client, "training.optimizer.lr: 0.05 -> 0.04");
    }
}
