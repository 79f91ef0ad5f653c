// A run's output files: names and columns are a contract with other programs.
#include "tests/process/csv_rows.h"

#include <doctest/doctest.h>

using namespace fedhive;
using namespace fedhive::testing;

TEST_SUITE("Results") {
    TEST_CASE("TablesHaveTheirColumnsAndOneRowARoundAndAClient") {
        FedhiveRun run(small_config(), {"--set", "evaluation.every=2"});
        REQUIRE(run.end() == "exited with status 0");
        CHECK(
            read_lines(run.out() / "rounds.csv")[0] ==
            "round,version,cohort,accepted,failed,train_loss,test_loss,test_accuracy,bytes_down,bytes_up,staleness_mean,wall_s,"
            "pull_down_s,train_s,barrier_s,aggregate_s,server_step_s,evaluate_s,left_behind,in_flight,virtual_s,"
            "started_s,test_top5_accuracy");
        CHECK(read_lines(run.out() / "clients.csv")[0] ==
              "round,client_id,worker,slot,num_examples,steps,train_loss,update_norm,update_hash,seconds,failure,sent_round,"
              "staleness,started_s,gather_s,update_s");
        const auto rounds = read_csv(run.out() / "rounds.csv");
        REQUIRE(rounds.size() == 3);
        for (std::size_t i = 0; i < 3; ++i) {
            CHECK(rounds[i].at("round") == std::to_string(i + 1));
            CHECK(rounds[i].at("version") == std::to_string(i + 1));
            CHECK(rounds[i].at("accepted") == "11");
            CHECK(rounds[i].at("test_accuracy").empty() == (i == 0));  // evaluated every second round, and after the last
        }
        const auto clients = read_csv(run.out() / "clients.csv");
        REQUIRE(clients.size() == 33);
        for (const auto& client : clients) {
            const int examples = std::stoi(client.at("num_examples"));
            CHECK(std::stoi(client.at("steps")) == (examples + 15) / 16);
            CHECK(std::stod(client.at("update_norm")) > 0.0);
            CHECK(client.at("failure").empty());
            CHECK(std::stoi(client.at("worker")) < 2);
        }
    }

    TEST_CASE("TopFiveIsThereOfMoreThanFiveClassesAlone") {
        FedhiveRun run(small_config(), {"--set", "data.num_classes=8"});
        REQUIRE(run.end() == "exited with status 0");
        CHECK(read_csv(run.out() / "rounds.csv").front().at("test_top5_accuracy") != "");
        const auto last = read_csv(run.out() / "rounds.csv").back();
        const double top5 = std::stod(last.at("test_top5_accuracy"));
        CHECK(top5 >= std::stod(last.at("test_accuracy")));
        CHECK(run.manifest()["test_top5_accuracy"] == top5);
        std::filesystem::remove(run.folder() / "output");
        run.start({"evaluate", run.out().string()});
        CHECK(run.end() == "exited with status 0");
        CHECK_MESSAGE(run.output().find(fmt::format("test_top5_accuracy {}\n", top5)) != std::string::npos, run.output());
        FedhiveRun five(small_config());
        REQUIRE_MESSAGE(five.end() == "exited with status 0", five.output());
        CHECK(read_csv(five.out() / "rounds.csv").back().at("test_top5_accuracy").empty());
        CHECK_FALSE(five.manifest().contains("test_top5_accuracy"));
        FedhiveRun never(small_config(), {"--set", "stop.test_top5_accuracy=0.9"});
        CHECK(never.end() == "exited with status 2");
        CHECK_MESSAGE(never.output().find("stop.test_top5_accuracy: needs more than 5 classes") != std::string::npos,
                      never.output());
    }

    TEST_CASE("PhasesAddUpToTheRound") {
        FedhiveRun run(small_config());
        REQUIRE(run.end() == "exited with status 0");
        for (const auto& row : read_csv(run.out() / "rounds.csv")) {
            double sum = 0.0;
            for (const char* phase : {"pull_down_s", "train_s", "barrier_s", "aggregate_s", "server_step_s", "evaluate_s"}) {
                CHECK(std::stod(row.at(phase)) >= 0.0);
                sum += std::stod(row.at(phase));
            }
            const double wall = std::stod(row.at("wall_s"));
            CHECK(std::abs(sum - wall) < 1e-3 * wall + 5e-6);  // times are written in microseconds
        }
    }

    TEST_CASE("StartsAreInsideTheirRoundAndOneAfterTheOther") {
        FedhiveRun run(small_config(),
                       {"--set", "faults=[{kind: drop, round: 2, client: 3}]", "--set", "failures.policy=drop"});
        REQUIRE(run.end() == "exited with status 0");
        const auto rounds = read_csv(run.out() / "rounds.csv");
        double end = 0.0;
        for (const auto& round : rounds) {
            CHECK(std::stod(round.at("started_s")) >= end);
            end = std::stod(round.at("started_s")) + std::stod(round.at("wall_s"));
        }
        CHECK(end <= run.manifest()["wall_s"]["total"].get<double>());
        std::size_t started = 0;
        for (const auto& client : read_csv(run.out() / "clients.csv")) {
            for (const char* column : {"started_s", "gather_s", "update_s"})
                CHECK(client.at(column).empty() == !client.at("failure").empty());
            if (client.at("started_s").empty()) continue;
            const auto& round = rounds.at(static_cast<std::size_t>(std::stoi(client.at("round")) - 1));
            const double start = std::stod(client.at("started_s"));
            const double finish = start + std::stod(client.at("seconds"));
            CHECK(start >= std::stod(round.at("started_s")) - 1e-6);
            CHECK(finish <= std::stod(round.at("started_s")) + std::stod(round.at("wall_s")) + 1e-6);
            ++started;
        }
        CHECK(started >= 30);
    }

    TEST_CASE("GatheringAndUpdatesArePartsOfTheSecondsInEveryMode") {
        using Settings = std::vector<std::string>;
        for (const Settings& settings :
             {Settings{}, Settings{"training.clients_per_slot=4"}, Settings{"training.clients_at_once=4"},
              Settings{"mode={name: async}"}, Settings{"mode={name: parameter_server}"},
              Settings{"mode={name: gradient_averaging}", "training.cohort=2", "data.partition={scheme: iid, clients: 2}"},
              Settings{"mode={name: hogwild}"}, Settings{"mode={name: split, cut: fc1}"}}) {
            const std::string mode = settings.empty() ? "" : settings.front();
            CAPTURE(mode);
            FedhiveRun run(small_config(), set(settings));
            const std::string end = run.end();
            REQUIRE_MESSAGE(end == "exited with status 0", run.output());
            for (const auto& client : read_csv(run.out() / "clients.csv")) {
                const double gather = std::stod(client.at("gather_s")), update = std::stod(client.at("update_s"));
                CHECK(gather > 0.0);
                CHECK((update > 0.0) == (mode != "mode={name: hogwild}"));
                CHECK(gather + update < std::stod(client.at("seconds")));
            }
        }
    }

    TEST_CASE("PartitionTableAddsUpToTheTrainingExamples") {
        FedhiveRun run(small_config());
        REQUIRE(run.end() == "exited with status 0");
        const auto clients = read_csv(run.out() / "partition.csv");
        REQUIRE(clients.size() == 13);
        int all = 0;
        for (const auto& client : clients) {
            int of_client = 0;
            for (int label = 0; label < 5; ++label) of_client += std::stoi(client.at(fmt::format("label_{}", label)));
            CHECK(of_client == std::stoi(client.at("num_examples")));
            all += of_client;
        }
        CHECK(all == 600);
        for (const auto& row : read_csv(run.out() / "clients.csv"))
            CHECK(row.at("num_examples") ==
                  clients.at(static_cast<std::size_t>(std::stoi(row.at("client_id")))).at("num_examples"));
    }

    TEST_CASE("HeldOutExamplesAreOfTheClientsAndNotTrainedOn") {
        FedhiveRun run(small_config(), set({"data.partition.holdout=0.25"}));
        CAPTURE(run.output());
        REQUIRE(run.end() == "exited with status 0");
        const auto clients = read_csv(run.out() / "partition.csv");
        int all = 0;
        for (const auto& client : clients) {
            const int trained = std::stoi(client.at("num_examples")), held_out = std::stoi(client.at("held_out"));
            CHECK(std::abs(held_out - 0.25 * (trained + held_out)) <= 0.5);
            all += trained + held_out;
        }
        CHECK(all == 600);
        for (const auto& row : read_csv(run.out() / "clients.csv")) {
            const auto& client = clients.at(static_cast<std::size_t>(std::stoi(row.at("client_id"))));
            CHECK(row.at("num_examples") == client.at("num_examples"));
            CHECK(std::stoi(row.at("steps")) == (std::stoi(client.at("num_examples")) + 15) / 16);
        }
        const std::string sha = run.manifest()["model_sha256"];
        CHECK(sha != sha_with({}));
        for (const char* workers : {"workers=0", "workers=3"}) CHECK(sha_with({"data.partition.holdout=0.25", workers}) == sha);
    }

    TEST_CASE("ManifestNamesWhatAResultDependsOn") {
        FedhiveRun run(small_config());
        REQUIRE(run.end() == "exited with status 0");
        const auto manifest = run.manifest();
        for (const char* key : {"schema",
                                "fedhive",
                                "commit",
                                "libtorch",
                                "cpu_capability",
                                "device",
                                "workers",
                                "workers_auto",
                                "mps",
                                "threads",
                                "seed",
                                "layout_fingerprint",
                                "data_fingerprint",
                                "partition_fingerprint",
                                "precision",
                                "graph",
                                "model_sha256",
                                "wall_s",
                                "exit_status",
                                "started",
                                "finished"})
            CHECK_MESSAGE(manifest.contains(key), key);
        CHECK(manifest["exit_status"] == "finished");
        CHECK(manifest["workers_auto"].is_null());  // a number, 2, was given
        CHECK(manifest["mps"] == false);
        CHECK(manifest["version"] == 3);
        CHECK(manifest["num_parameters"] == 16 * 32 + 32 + 32 * 32 + 32 + 32 * 5 + 5);
    }

    TEST_CASE("EvaluateGivesTheMetricsOfTheLastRound") {
        FedhiveRun run(small_config());
        REQUIRE(run.end() == "exited with status 0");
        const auto rounds = read_csv(run.out() / "rounds.csv");
        const std::string sha = run.manifest()["model_sha256"];
        run.start({"evaluate", run.out().string()});
        REQUIRE(run.end() == "exited with status 0");
        CHECK(run.output().find("test_accuracy " + rounds.back().at("test_accuracy") + "\n") != std::string::npos);
        CHECK(run.output().find("test_loss " + rounds.back().at("test_loss") + "\n") != std::string::npos);
        CHECK(run.output().find("model_sha256 " + sha) != std::string::npos);
    }

    TEST_CASE("RunStopsOnceTheAccuracyIsReached") {
        FedhiveRun run(small_config(), {"--set", "stop.test_accuracy=0.01", "--set", "rounds=50"});
        REQUIRE(run.end() == "exited with status 0");
        CHECK(run.rounds() == 1);
        CHECK(read_text(run.out() / "model.safetensors").find(R"("round":"1")") != std::string::npos);
    }

    TEST_CASE("QuietRunPrintsNothing") {
        FedhiveRun run(small_config(), {"--quiet"});
        REQUIRE(run.end() == "exited with status 0");
        CHECK(run.output().empty());
    }

    TEST_CASE("PipedOutputIsPlainLines") {
        FedhiveRun run(small_config());
        REQUIRE(run.end() == "exited with status 0");
        CHECK(run.output().find('\r') == std::string::npos);
        CHECK(run.output().find('\x1b') == std::string::npos);
        CHECK(run.output().find("results in " + run.out().string()) != std::string::npos);
    }
}
