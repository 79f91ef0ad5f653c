// fairness.csv and client_accuracy.csv: contents, and equality for any number of workers and after a kill, a stop and a resume.
#include "tests/process/same_run.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

/// 13 clients that hold out a quarter, evaluated in every second round, with and without a local epoch.
const Options kEvaluated = set({"data.partition.holdout=0.25", "data.partition.alpha=0.2",
                                "evaluation.clients={every: 2, personalized: true}", "rounds=5"});

using Row = std::map<std::string, std::string>;

double number(const Row& row, const char* column) { return std::stod(row.at(column)); }

std::vector<Row> rows_of(const std::vector<Row>& table, const std::string& model) {
    std::vector<Row> rows;
    for (const Row& row : table)
        if (row.at("model") == model) rows.push_back(row);
    return rows;
}

/// Bytes of both tables, which do not depend on time.
std::string tables_of(const std::filesystem::path& run) {
    return read_text(run / "fairness.csv") + read_text(run / "client_accuracy.csv");
}

std::string tables_with(const Options& more) {
    FedhiveRun run(small_config(), kEvaluated + more);
    CAPTURE(run.output());
    REQUIRE(run.end() == "exited with status 0");
    return tables_of(run.out());
}

void resume_to_the_end(FedhiveRun& run, const Options& more = {}) {
    run.start(Options{"run", "--resume", run.out().string()} + more);
    CHECK_MESSAGE(run.end() == "exited with status 0", run.output());
}

}  // namespace

TEST_SUITE("ClientFairness") {
    TEST_CASE("TableSaysWhatTheClientsOfTheLastRoundAddUpTo") {
        FedhiveRun run(small_config(), kEvaluated);
        CAPTURE(run.output());
        REQUIRE(run.end() == "exited with status 0");
        CHECK(run.output().find("of 13 of 13 clients, every 2 rounds, also after a local epoch") != std::string::npos);
        const auto table = read_csv(run.out() / "fairness.csv");
        REQUIRE(table.size() == 6);  // rounds 2, 4 and the last, two models each
        const std::vector<std::string> rounds{"2", "2", "4", "4", "5", "5"};
        for (std::size_t i = 0; i < table.size(); ++i) CHECK(table[i].at("round") == rounds[i]);
        const auto partition = read_csv(run.out() / "partition.csv");
        const auto clients = read_csv(run.out() / "client_accuracy.csv");
        for (const std::string model : {"global", "personalized"}) {
            const auto of_model = rows_of(clients, model);
            const Row last = rows_of(table, model).back();
            REQUIRE(of_model.size() == 13);
            double sum = 0.0, squares = 0.0, examples = 0.0, right = 0.0;
            for (std::size_t client = 0; client < 13; ++client) {
                const Row& row = of_model[client];
                CHECK(row.at("round") == "5");
                CHECK(row.at("client_id") == std::to_string(client));
                CHECK(row.at("examples") == partition[client].at("held_out"));
                const double correct = number(row, "accuracy") * number(row, "examples");
                CHECK(std::abs(correct - std::round(correct)) < 1e-9);
                sum += number(row, "accuracy");
                squares += number(row, "accuracy") * number(row, "accuracy");
                examples += number(row, "examples");
                right += correct;
            }
            CHECK(number(last, "clients") == 13);
            CHECK(number(last, "examples") == examples);
            CHECK(number(last, "accuracy_mean") == doctest::Approx(sum / 13).epsilon(1e-12));
            CHECK(number(last, "accuracy_std") == doctest::Approx(std::sqrt(squares / 13 - sum * sum / 169)).epsilon(1e-9));
            CHECK(number(last, "accuracy_by_examples") == doctest::Approx(right / examples).epsilon(1e-12));
            CHECK(number(last, "accuracy_worst_10") <= number(last, "accuracy_p10"));
            CHECK(number(last, "accuracy_p90") <= number(last, "accuracy_best_10"));
        }
        // Labels are skewed, so an epoch on a client's own data improves its accuracy.
        CHECK(number(table[5], "accuracy_mean") > number(table[4], "accuracy_mean"));
        CHECK(number(table[4], "accuracy_worst_10") < number(table[4], "accuracy_mean"));
    }

    TEST_CASE("SameTablesForAnyNumberOfWorkersByBothEngines") {
        for (const char* engine : {"training.engine=auto", "training.engine=libtorch"}) {
            const std::string tables = tables_with(set({engine, "workers=1"}));
            CHECK(tables_with(set({engine, "workers=4"})) == tables);
            CHECK(tables_with(set({engine, "workers=0"})) == tables);
        }
    }

    TEST_CASE("SameTablesForTwoAndThreeWorkersInEveryModeThatHoldsOut") {
        const Options modes{
            "mode={name: synchronous, quorum: 4}", "mode={name: semi_async, quorum: 3}", "mode={name: async}",
            "mode={name: parameter_server}",       "mode={name: split, cut: fc1}",       "strategy={name: scaffold}",
            "training.clients_at_once=4"};
        for (const std::string& mode : modes) {
            CAPTURE(mode);
            const Options options = set({mode, "training.optimizer.momentum=0", "rounds=3"});
            const std::string tables = tables_with(options + set({"workers=2"}));
            CHECK(tables.find("\n3,personalized,13,") != std::string::npos);
            CHECK(tables_with(options + set({"workers=3"})) == tables);
        }
    }

    TEST_CASE("TrainingHasTheBitsThatItHasWithoutEvaluationOfClients") {
        FedhiveRun with(small_config(), kEvaluated);
        FedhiveRun without(small_config(), kEvaluated + set({"evaluation.clients={every: never, personalized: false}"}));
        REQUIRE(with.end() == "exited with status 0");
        REQUIRE(without.end() == "exited with status 0");
        CHECK(with.manifest()["model_sha256"] == without.manifest()["model_sha256"]);
        CHECK_FALSE(std::filesystem::exists(without.out() / "fairness.csv"));
        CHECK_FALSE(std::filesystem::exists(without.out() / "client_accuracy.csv"));
    }

    TEST_CASE("SampleIsOfTheSameClientsInEveryRound") {
        const auto sampled = [](const Options& more) {
            FedhiveRun run(small_config(), kEvaluated + set({"evaluation.clients.sample=4"}) + more);
            REQUIRE(run.end() == "exited with status 0");
            std::vector<std::string> ids;
            for (const Row& row : rows_of(read_csv(run.out() / "client_accuracy.csv"), "global"))
                ids.push_back(row.at("client_id"));
            for (const Row& row : read_csv(run.out() / "fairness.csv")) CHECK(row.at("clients") == "4");
            return ids;
        };
        const auto ids = sampled({});
        CHECK(ids.size() == 4);
        CHECK(sampled(set({"rounds=2", "workers=3"})) == ids);
        CHECK(sampled(set({"seeds.sampling=9"})) != ids);
    }

    TEST_CASE("RunThatStopsEarlyEvaluatesItsClientsInItsLastRound") {
        FedhiveRun run(small_config(), kEvaluated + set({"stop.test_accuracy=0.001", "evaluation.clients.every=1000"}));
        REQUIRE(run.end() == "exited with status 0");
        const auto table = read_csv(run.out() / "fairness.csv");
        REQUIRE(table.size() == 2);
        CHECK(table[0].at("round") == "1");
    }

    TEST_CASE("WorkersKilledAgainAndAgainLeaveTheTablesOfARunWithoutFailures") {
        const Options long_one =
            set({"rounds=60", "evaluation.clients.every=1", "failures={policy: retry, attempts: 1000}", "data.num_train=3000"});
        const std::string tables = tables_with(long_one);
        FedhiveRun run(small_config(), kEvaluated + long_one);
        for (const std::size_t rounds : {3U, 12U, 21U, 30U, 39U}) {
            REQUIRE(eventually(60.0, [&] { return run.rounds() >= rounds; }));
            for (const pid_t worker : run.workers()) kill(worker, SIGKILL);
        }
        CHECK_MESSAGE(run.end() == "exited with status 0", run.output());
        CHECK(run.manifest()["failures"]["workers_replaced"].get<int>() >= 5);
        CHECK(tables_of(run.out()) == tables);
    }

    TEST_CASE("RunKilledPausedAndResumedHasEachRowOnce") {
        const Options options = set({"rounds=120", "evaluation.clients.every=3", "checkpoint.every=4"});
        const std::string tables = tables_with(options);
        FedhiveRun run(small_config(), kEvaluated + options);
        for (const std::size_t rounds : {10U, 40U, 70U}) {
            REQUIRE(eventually(60.0, [&] { return run.rounds() >= rounds; }));
            kill(run.pid(), SIGKILL);
            CHECK(run.end() == "killed by SIGKILL (Killed)");
            run.start({"run", "--resume", run.out().string()});
        }
        CHECK_MESSAGE(run.end() == "exited with status 0", run.output());
        CHECK(tables_of(run.out()) == tables);

        FedhiveRun paused(small_config(), kEvaluated + options + Options{"--until", "6"});
        REQUIRE(paused.end() == "exited with status 0");
        resume_to_the_end(paused, {"--until", "7"});
        // No evaluation since round 6; its clients are still in the table.
        CHECK(read_csv(paused.out() / "client_accuracy.csv").front().at("round") == "6");
        resume_to_the_end(paused);
        CHECK(tables_of(paused.out()) == tables);
    }

    TEST_CASE("ChangedTableIsNotGoneOnWith") {
        FedhiveRun run(small_config(), kEvaluated + Options{"--until", "4"});
        REQUIRE(run.end() == "exited with status 0");
        std::string table = read_text(run.out() / "fairness.csv");
        const std::size_t digit = table.find("\n4,global,13,") + 12;
        table[digit] = table[digit] == '1' ? '2' : '1';
        std::ofstream(run.out() / "fairness.csv", std::ios::trunc) << table;
        run.start({"run", "--resume", run.out().string()});
        CHECK(run.end() == "exited with status 2");
        CHECK_MESSAGE(run.output().find("fairness.csv: its first") != std::string::npos, run.output());
        std::filesystem::remove(run.out() / "fairness.csv");
        run.start({"run", "--resume", run.out().string()});
        CHECK(run.end() == "exited with status 2");
        CHECK_MESSAGE(run.output().find("fairness.csv: ") != std::string::npos, run.output());
    }

    TEST_CASE("ClientsThatHaveNothingToHoldOutAreNotEvaluatedAndIfThereIsNobodyElseItIsRefused") {
        const std::string one_each =
            "data={format: synthetic, num_train: 13, num_test: 5, num_classes: 2, num_features: 4, partition: {scheme: iid, "
            "clients: 13, holdout: 0.25}}";
        FedhiveRun run(small_config(), set({one_each, "evaluation.clients.every=1"}));
        CHECK(run.end() == "exited with status 2");
        CHECK_MESSAGE(run.output().find("evaluation.clients.every: no client holds out an example") != std::string::npos,
                      run.output());
    }
}
