// Modes parameter_server and async: a single client at a time gives sequential training; with several, the result depends on
// simulated time and not on workers.
#include "tests/process/mode_runs.h"

using namespace fedhive;
using namespace fedhive::testing;

namespace {

Options server(const std::string& max_staleness) {
    return {"mode={name: parameter_server, max_staleness: " + max_staleness + "}"};
}

/// Client i of a random order takes i times as long as the first.
const char* const kSlowAndFast = "devices={compute: {distribution: zipf, exponent: 1}}";

/// Reference: one model and one optimiser over all rounds; clients take turns, one batch each, until they have none left.
std::vector<float> in_turns(const Options& assignments) {
    const Rehearsal rehearsal(assignments);
    clients::TrainingStep& step = rehearsal.begin();
    for (std::uint32_t round = 0; round < rehearsal.run.config.rounds; ++round) {
        std::vector<Batches> of_client;
        std::size_t most = 0;
        for (std::uint32_t client = 0; client < rehearsal.run.data.dataset.map().num_clients; ++client) {
            of_client.push_back(rehearsal.batches(round, client));
            most = std::max(most, of_client.back().size());
        }
        for (std::size_t turn = 0; turn < most; ++turn)
            for (const Batches& batches : of_client)
                if (turn < batches.size()) step.step(batches[turn]);
    }
    return rehearsal.parameters();
}

void check_in_turns(const Options& assignments) {
    const auto expected = in_turns(assignments);
    const Rehearsal rehearsal(assignments);
    CHECK((ModeRun(assignments).model(rehearsal.run.model.layout) == expected));
    CHECK((expected != rehearsal.model));
}

double largest(const std::vector<double>& values) { return *std::max_element(values.begin(), values.end()); }

}  // namespace

TEST_SUITE("ModesParameterServer") {
    TEST_CASE("SameRunForAnyNumberOfWorkersWithEqualDevicesAndWithSlowAndFastOnes") {
        const auto hash_of = [](const Options& devices, const Options& others) {
            const ModeRun alone(server("null") + devices + Options{"workers=0"});
            for (const std::string& workers : others) {
                CAPTURE(workers);
                const ModeRun run(server("null") + devices + Options{workers});
                CHECK(run.hash() == alone.hash());
                CHECK(comparable(run.out() / "rounds.csv") == comparable(alone.out() / "rounds.csv"));
                CHECK(comparable(run.out() / "clients.csv") == comparable(alone.out() / "clients.csv"));
            }
            return alone.hash();
        };
        CHECK(hash_of({}, {"workers=1", "workers=2", "workers=4"}) != hash_of({kSlowAndFast}, {"workers=1", "workers=3"}));
    }

    TEST_CASE("WithoutStalenessClientsTakeTurnsInOneSequentialTraining") {
        check_in_turns(server("0") + Options{"workers=3"});
        check_in_turns(server("0") + Options{"data.partition={scheme: dirichlet, alpha: 1}", "training.local_epochs=2",
                                             "training.optimizer={lr: 0.05, momentum: 0.9, nesterov: true, weight_decay: 0.01}",
                                             kSlowAndFast});
        check_in_turns(server("0") + Options{"model={name: mnist_cnn, dropout: false}", "rounds=2", "clock=wall"});
    }

    TEST_CASE("OneClientIsSequentialTrainingWhateverTheBound") {
        check_in_turns(server("null") + Options{"data.partition.clients=1", "training.local_epochs=2"});
    }

    TEST_CASE("NobodyIsStalerThanTheBoundAndEveryGradientIsAStep") {
        double before = -1.0;
        for (const int bound : {0, 1, 2, 3}) {
            CAPTURE(bound);
            const ModeRun run(server(std::to_string(bound)) + Options{kSlowAndFast, "rounds=2"});
            CHECK(run.column("rounds.csv", "version") == std::vector<std::string>{"40", "80"});
            CHECK(largest(run.numbers("clients.csv", "staleness")) <= bound);
            const double mean = run.numbers("rounds.csv", "staleness_mean").back();
            CHECK(mean <= bound);
            CHECK(mean > before);
            before = mean;
        }
        CHECK(before > 2.0);
    }

    TEST_CASE("BoundHoldsOnTheWallClockToo") {
        const ModeRun run(server("1") + Options{"clock=wall", "workers=4", "faults=[{kind: slow, client: 2, seconds: 0.2}]"});
        CHECK(largest(run.numbers("clients.csv", "staleness")) <= 1);
        CHECK(largest(run.numbers("rounds.csv", "staleness_mean")) <= 1);
        CHECK(run.column("rounds.csv", "version") == std::vector<std::string>{"40", "80", "120"});
    }

    TEST_CASE("ServerKilledInARoundEndsAsTheOneThatWasNot") {
        const Options options =
            server("1") + Options{kSlowAndFast, "rounds=12", "training.local_epochs=10", "checkpoint.every=2"};
        const ModeRun whole(options);
        const KilledRun killed(options, 3);
        check_same_run(killed.out(), whole.out());
    }
}

TEST_SUITE("ModesAsync") {
    TEST_CASE("OneClientAtATimeWithAlphaOneIsSequentialTraining") {
        const Options options{"mode={name: async, alpha: 1}", "training.cohort=1", "rounds=8", "evaluation.every=3"};
        const ModeRun run(options);
        Rehearsal rehearsal(options);
        const auto clients = run.numbers("clients.csv", "client_id");
        REQUIRE(clients.size() == 8);
        CHECK(std::set<double>(clients.begin(), clients.end()).size() > 1);
        for (std::uint32_t round = 0; round < clients.size(); ++round)
            rehearsal.train(round, static_cast<std::uint32_t>(clients[round]));
        CHECK((run.model(rehearsal.run.model.layout) == rehearsal.model));
        CHECK(largest(run.numbers("clients.csv", "staleness")) == 0);
    }
}
