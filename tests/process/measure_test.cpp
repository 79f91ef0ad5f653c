// What clients measure of the model that they are sent (training.measure), from the config to the last columns of clients.csv.
#include "tests/clients/data/npz_fixture.h"
#include "tests/process/finished_run.h"
#include "tests/process/rank_runs.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

const Options kMeasure{"training.measure=[loss, accuracy]"};
const Options kMeasureAll{"training.measure=[loss, accuracy, gradient_norm]"};

void ends_well(FedhiveRun& run) { REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output()); }

double sum_of_rounds(const FedhiveRun& run, const char* column) {
    double sum = 0.0;
    for (const auto& row : read_csv(run.out() / "rounds.csv")) sum += std::stod(row.at(column));
    return sum;
}

void refuses_measure(const Options& more, const std::vector<std::string>& texts) {
    FedhiveRun run(small_config(), set(more));
    CHECK(run.end() == "exited with status 2");
    for (const std::string& text : texts) CHECK_MESSAGE(run.output().find(text) != std::string::npos, run.output());
    CHECK_FALSE(std::filesystem::exists(run.out()));
}

}  // namespace

TEST_SUITE("Measure") {
    TEST_CASE("LossAndAccuracyAreThoseOfTheModelThatWasSent") {
        // A step that changes nothing: the loss during training is that of the model that was sent.
        const Options still{"training.optimizer={name: sgd, lr: 1.0e-30}", "rounds=1"};
        for (const Options& engine :
             {Options{"training.engine=direct"}, {"training.engine=libtorch"}, {"training.clients_at_once=4"}}) {
            CAPTURE(engine.front());
            FedhiveRun run(small_config(), set(still + kMeasure + engine));
            ends_well(run);
            const auto head = read_lines(run.out() / "clients.csv").front();
            CHECK_MESSAGE(head.ends_with(",gather_s,update_s,sent_loss,sent_accuracy"), head);
            for (const auto& row : read_csv(run.out() / "clients.csv")) {
                CHECK(std::stod(row.at("sent_loss")) == doctest::Approx(std::stod(row.at("train_loss"))).epsilon(1e-5));
                const double right = std::stod(row.at("sent_accuracy")) * std::stod(row.at("num_examples"));
                CHECK(right == doctest::Approx(std::round(right)).epsilon(1e-9));
            }
        }
    }

    TEST_CASE("GradientNormIsThatOfAStepAlongTheGradientOfAllExamples") {
        const Options one_step{"training.optimizer={name: sgd, lr: 0.25}", "training.batch_size=1000",
                               "training.local_epochs=1", "rounds=2"};
        const Options passes{"training.optimizer={name: sgd, lr: 0.25}", "training.batch_size=7", "rounds=1"};
        for (const Options& engine :
             {Options{"training.engine=direct"}, {"training.engine=libtorch"}, {"training.clients_at_once=4"}}) {
            CAPTURE(engine.front());
            FedhiveRun step(small_config(), set(kMeasureAll + one_step + engine)),
                pass(small_config(), set(kMeasureAll + passes + engine));
            ends_well(step);
            ends_well(pass);
            std::map<std::string, double> first;
            for (const auto& row : read_csv(step.out() / "clients.csv")) {
                const double norm = std::stod(row.at("sent_gradient_norm"));
                CHECK(norm == doctest::Approx(std::stod(row.at("update_norm")) / 0.25).epsilon(1e-5));
                if (row.at("round") == "1") first[row.at("client_id")] = norm;
            }
            for (const auto& row : read_csv(pass.out() / "clients.csv"))
                CHECK(std::stod(row.at("sent_gradient_norm")) == doctest::Approx(first.at(row.at("client_id"))).epsilon(1e-5));
        }
    }

    // One client whose training examples are everybody's: its model of round r is the one that it is sent in round r + 1.
    TEST_CASE("AccuracyOfTheNextRoundIsThatOfTheModelOfThisOne") {
        FedhiveRun run(small_config(),
                       set(kMeasure + Options{"data={format: glyphs, num_train: 2000, num_test: 600, partition: {scheme: iid, "
                                              "clients: 1}}",
                                              "training.cohort=1", "training.local_epochs=3", "rounds=5"}));
        ends_well(run);
        const auto clients = read_csv(run.out() / "clients.csv"), rounds = read_csv(run.out() / "rounds.csv");
        for (std::size_t round = 1; round < 5; ++round) {
            const double sent = std::stod(clients[round].at("sent_accuracy"));
            CHECK(sent > std::stod(clients.front().at("sent_accuracy")) + 0.2);  // it learns
            CHECK(std::abs(sent - std::stod(rounds[round - 1].at("test_accuracy"))) < 0.25);
            CHECK(std::stod(clients[round].at("sent_loss")) < std::stod(clients.front().at("sent_loss")));
        }
    }

    TEST_CASE("ModelHasTheBitsOfARunThatMeasuresNothing") {
        const std::string norms = "model={layers: [flatten, {linear: 12}, batch_norm, relu, {dropout: 0.5}, linear]}";
        for (const Options& config :
             {Options{"training.engine=direct"},
              {"training.engine=libtorch"},
              {"training.clients_at_once=4"},
              {"training.clients_per_slot=8"},
              {norms, "training.engine=libtorch"},
              {norms, "training.optimizer={name: adam}"},
              {"training.optimizer={name: sgd, lr: 0.05}", "strategy={name: scaffold, option: 1}"},
              {"mode={name: semi_async, quorum: 3}"},
              {"mode={name: async}"},
              {"data.partition.holdout=0.2", "evaluation.clients={every: 1, personalized: true}", "model.local=[\"fc2*\"]"}}) {
            CAPTURE(config.front());
            // The time of a pass makes every trip longer by the same factor, so that clients arrive in the same order.
            const Options alike =
                config + Options{"devices={compute: {seconds_per_example: 1}, link: {upload: 1.0e+12, download: 1.0e+12}}"};
            FedhiveRun plain(small_config(), set(alike)), measures(small_config(), set(alike + kMeasure));
            ends_well(plain);
            ends_well(measures);
            CHECK(measures.manifest()["model_sha256"] == plain.manifest()["model_sha256"]);
            FedhiveRun gradients(small_config(), set(alike + kMeasureAll));
            ends_well(gradients);
            CHECK(gradients.manifest()["model_sha256"] == plain.manifest()["model_sha256"]);
            const auto rows = read_csv(gradients.out() / "clients.csv"), without = read_csv(measures.out() / "clients.csv");
            REQUIRE(rows.size() == without.size());
            for (std::size_t i = 0; i < rows.size(); ++i) CHECK(rows[i].at("sent_loss") == without[i].at("sent_loss"));
        }
    }

    TEST_CASE("TablesAreTheSameForAnyNumberOfWorkersAndAfterAResume") {
        Finished run(set(kMeasureAll + Options{"rounds=3"}));
        for (const char* workers : {"workers=0", "workers=1", "workers=3"}) {
            FedhiveRun other(small_config(), set(kMeasureAll + Options{workers}));
            ends_well(other);
            CHECK(comparable(other.out() / "clients.csv") == comparable(run.out() / "clients.csv"));
            CHECK(comparable(other.out() / "rounds.csv") == comparable(run.out() / "rounds.csv"));
        }
        run.refuses(set({"training.measure=[loss]"}), {"training.measure"});
        REQUIRE_MESSAGE(run.resume(set({"rounds=5"})) == "exited with status 0", run.output());
        FedhiveRun whole(small_config(), set(kMeasureAll + Options{"rounds=5"}));
        ends_well(whole);
        check_same_run(run.out(), whole.out());
    }

    TEST_CASE("NamesOfClientsStayBeforeTheReports") {
        const TemporaryFolder folder;
        const std::string text = "x,y,who\n1,0,ada\n2,1,ada\n3,0,bob\n4,1,bob\n";
        clients::write_content(folder.path() / "t.csv", text);
        const Options data{
            fmt::format("data={{format: csv, train: {0}, test: {0}, target: y, client: who, partition: {{scheme: "
                        "natural}}}}",
                        (folder.path() / "t.csv").string()),
            "training.cohort=2"};
        Finished run(set(data + kMeasure));
        const auto head = read_lines(run.out() / "clients.csv").front();
        CHECK_MESSAGE(head.ends_with(",update_s,owner,sent_loss,sent_accuracy"), head);
        REQUIRE_MESSAGE(run.resume(set({"rounds=5"})) == "exited with status 0", run.output());
        for (const auto& row : read_csv(run.out() / "clients.csv"))
            CHECK((row.at("owner") == "ada" || row.at("owner") == "bob"));
    }

    TEST_CASE("RanksExchangeReports") {
        FEDHIVE_NEEDS_RANKS();
        const Options options = set(kMeasureAll + Options{"faults=[{kind: throw, rate: 0.2}]", "failures.policy=drop"});
        FedhiveRun whole(small_config(), options);
        ends_well(whole);
        RankedRun run(2, small_config(), options);
        ends_well(run);
        check_same_run(run.out(), whole.out());
    }

    TEST_CASE("WhoIsTriedAgainReportsTheSameAndWhoIsDroppedReportsNothing") {
        const Options fault{"faults=[{kind: throw, round: 1, client: 4}]"},
            faults{"faults=[{kind: kill, round: 2, client: 3}, {kind: throw, round: 1, client: 4}]"};
        const Options everybody = kMeasureAll + Options{"training.cohort=13"};
        FedhiveRun plain(small_config(), set(everybody)),
            again(small_config(), set(everybody + faults + Options{"failures.policy=retry"})),
            dropped(small_config(), set(everybody + fault + Options{"failures.policy=drop", "rounds=1"}));
        for (FedhiveRun* run : {&plain, &again, &dropped}) ends_well(*run);
        CHECK(again.manifest()["failures"]["retried"] == 2);
        CHECK(comparable(again.out() / "clients.csv") == comparable(plain.out() / "clients.csv"));
        std::size_t failed = 0;
        for (const auto& row : read_csv(dropped.out() / "clients.csv")) {
            CHECK(row.at("sent_loss").empty() == !row.at("failure").empty());
            CHECK(row.at("sent_accuracy").empty() == !row.at("failure").empty());
            if (!row.at("failure").empty()) ++failed;
        }
        CHECK(failed == 1);
    }

    // A rate that spoils the model in round 1: its loss is finite, the perplexity exp(loss) is not.
    TEST_CASE("ReportThatIsNotFiniteIsAFailureOfItsClient") {
        const TemporaryFolder folder;
        std::string text;
        for (int speaker = 0; speaker < 3; ++speaker)
            text += fmt::format("S{}:\nabcdefghijabcdefghij\njihgfedcbajihgfedcba\n\n", speaker);
        clients::write_content(folder.path() / "play.txt", text);
        const Options play{
            "task=next_token",
            fmt::format("data={{format: text, train: {}, sequence: 4, partition: {{scheme: natural, clients: 3}}}}",
                        (folder.path() / "play.txt").string()),
            "model={layers: [{embedding: 4}, flatten, linear]}", "rounds=2",
            "training={cohort: 3, optimizer: {name: sgd, lr: 30000}, measure: [perplexity]}"};
        FedhiveRun aborted(small_config(), set(play));
        CHECK(aborted.end() == "exited with status 1");
        const std::string problem = "non_finite: the report sent_perplexity is inf, though the update is finite; ";
        CHECK_MESSAGE(aborted.output().find(problem) != std::string::npos, aborted.output());
        FedhiveRun drops(small_config(), set(play + Options{"failures.policy=drop"}));
        ends_well(drops);
        for (const auto& row : read_csv(drops.out() / "clients.csv")) {
            CHECK(row.at("failure") == (row.at("round") == "1" ? "" : "non_finite"));
            CHECK(row.at("sent_perplexity").empty() == (row.at("round") == "2"));
        }
        CHECK(read_csv(drops.out() / "rounds.csv").back().at("version") == "1");
    }

    TEST_CASE("EightBytesAReportComeUpAndAPassTakesAThirdOfItsTrainingsTime") {
        const Options slow{"devices={compute: {seconds_per_example: 1}, link: {upload: 1.0e+12, download: 1.0e+12}}",
                           "data.partition={scheme: iid, clients: 12}", "training.cohort=12", "rounds=2"};
        FedhiveRun plain(small_config(), set(slow)), measures(small_config(), set(slow + kMeasure)),
            gradients(small_config(), set(slow + Options{"training.measure=[gradient_norm]"}));
        ends_well(plain);
        ends_well(measures);
        ends_well(gradients);
        CHECK(sum_of_rounds(gradients, "bytes_up") == sum_of_rounds(plain, "bytes_up") + 2 * 12 * 8);
        CHECK(std::stod(read_csv(gradients.out() / "rounds.csv").back().at("virtual_s")) ==
              doctest::Approx(200.0).epsilon(1e-6));
        CHECK(sum_of_rounds(measures, "bytes_down") == sum_of_rounds(plain, "bytes_down"));
        CHECK(sum_of_rounds(measures, "bytes_up") == sum_of_rounds(plain, "bytes_up") + 2 * 12 * 2 * 8);
        CHECK(std::stod(read_csv(plain.out() / "rounds.csv").back().at("virtual_s")) == doctest::Approx(100.0).epsilon(1e-6));
        CHECK(std::stod(read_csv(measures.out() / "rounds.csv").back().at("virtual_s")) ==
              doctest::Approx(134.0).epsilon(1e-6));
    }

    TEST_CASE("ReplayComparesReports") {
        FedhiveRun run(small_config(), set(kMeasureAll + Options{"training.clients_per_slot=8", "training.clients_at_once=4"}));
        ends_well(run);
        const auto row = read_csv(run.out() / "clients.csv").back();
        const auto replay = [&] {
            FedhiveRun process;
            process.start({"replay", run.out().string(), "--round", row.at("round"), "--client", row.at("client_id")});
            const std::string ended = process.end();
            return std::pair(ended, process.output());
        };
        const auto [end, text] = replay();
        CHECK_MESSAGE(end == "exited with status 0", text);
        CHECK(text.find(": the same bits as in the run\n") != std::string::npos);
        std::string table = read_text(run.out() / "clients.csv");
        const std::size_t cell = table.rfind(row.at("sent_loss"));
        table.replace(cell, row.at("sent_loss").size(), "0.125");
        std::ofstream(run.out() / "clients.csv") << table;
        const auto [other_end, other] = replay();
        CHECK_MESSAGE(other_end == "exited with status 1", other);
        CHECK_MESSAGE(other.find(fmt::format("sent_loss {}, but 0.125 in the run: different bits\n", row.at("sent_loss"))) !=
                          std::string::npos,
                      other);
    }

    TEST_CASE("WhatCannotBeMeasuredIsRefusedWithWhatCan") {
        refuses_measure({"training.measure=[los]"}, {"training.measure[0]", "did you mean 'loss'?"});
        refuses_measure({"training.measure=[loss, mse]"}, {"training.measure[1]: task 'classification' has no measure 'mse'; "
                                                           "allowed with it: loss, accuracy, gradient_norm"});
        for (const std::string mode :
             {"{name: parameter_server}", "{name: hogwild}", "{name: split, cut: fc1}", "{name: gradient_averaging}"})
            refuses_measure(kMeasure + Options{"mode=" + mode}, {"training.measure: in mode ", "(loss, accuracy)",
                                                                 "remove it, or use mode synchronous or semi_async or async"});
    }
}
