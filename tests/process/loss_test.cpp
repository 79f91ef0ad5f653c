// Losses of local training and metrics by class: runs from their config to their tables.
#include "tests/process/finished_run.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

double last_of(const FedhiveRun& run, const char* column) {
    return std::stod(read_csv(run.out() / "rounds.csv").back().at(column));
}

const std::vector<std::string>& losses() {
    static const std::vector<std::string> all{"{label_smoothing: 0.2}", "{name: focal, gamma: 2}", "{balanced: true}",
                                              "{name: focal, class_weights: [1, 2, 0.5, 4, 1]}"};
    return all;
}

std::string with(const std::string& loss) { return "training.loss=" + loss; }

void refuses_loss(const Options& more, const std::vector<std::string>& texts) {
    FedhiveRun run(small_config(), set(more));
    CHECK(run.end() == "exited with status 2");
    for (const std::string& text : texts) CHECK_MESSAGE(run.output().find(text) != std::string::npos, run.output());
    CHECK_FALSE(std::filesystem::exists(run.out()));
}

const Options kByClass{"evaluation={metrics: [balanced_accuracy, macro_f1], confusion: true}"};

/// Recalls and F1 from the rows of confusion.csv, label by label.
std::pair<double, double> by_hand(const std::filesystem::path& run, std::size_t classes, const std::string& round) {
    std::vector<std::vector<double>> counts(classes, std::vector<double>(classes));
    double all = 0.0;
    for (const auto& row : read_csv(run / "confusion.csv")) {
        CHECK(row.at("round") == round);
        counts.at(std::stoul(row.at("label"))).at(std::stoul(row.at("predicted"))) = std::stod(row.at("targets"));
        all += std::stod(row.at("targets"));
    }
    CHECK(all == 100.0);
    double recall = 0.0, f1 = 0.0;
    for (std::size_t c = 0; c < classes; ++c) {
        double labels = 0.0, predicted = 0.0;
        for (std::size_t other = 0; other < classes; ++other) {
            labels += counts[c][other];
            predicted += counts[other][c];
        }
        recall += counts[c][c] / labels;
        f1 += 2.0 * counts[c][c] / (labels + predicted);
    }
    return {recall / static_cast<double>(classes), f1 / static_cast<double>(classes)};
}

}  // namespace

TEST_SUITE("LossRun") {
    TEST_CASE("EveryLossTrainsWithTheSameBitsForAnyNumberOfWorkers") {
        const std::string plain = sha_with({});
        CHECK(sha_with({with("{name: cross_entropy, label_smoothing: 0}")}) == plain);
        for (const std::string& loss : losses()) {
            const std::string two = sha_with({with(loss)});
            CHECK_MESSAGE(two != plain, loss);
            CHECK_MESSAGE(sha_with({with(loss), "workers=0"}) == two, loss);
        }
    }

    TEST_CASE("EnginesComeToTheSameLossUpToRounding") {
        for (const std::string& loss : losses()) {
            FedhiveRun direct(small_config(), set({with(loss)})),
                libtorch(small_config(), set({with(loss), "training.engine=libtorch"})),
                rows(small_config(), set({with(loss), "training.clients_at_once=4"}));
            for (FedhiveRun* run : {&direct, &libtorch, &rows})
                REQUIRE_MESSAGE(run->end() == "exited with status 0", run->output());
            for (const char* column : {"train_loss", "test_loss"}) {
                CHECK_MESSAGE(last_of(libtorch, column) == doctest::Approx(last_of(direct, column)).epsilon(1e-4), loss);
                CHECK_MESSAGE(last_of(rows, column) == doctest::Approx(last_of(direct, column)).epsilon(1e-4), loss);
            }
        }
    }

    TEST_CASE("MetricsByClassAreThoseOfTheConfusionCountsForAnyNumberOfWorkersAndAfterAResume") {
        Finished run(set(kByClass));
        const std::string head = read_lines(run.out() / "rounds.csv").front();
        CHECK_MESSAGE(head.ends_with(",started_s,test_top5_accuracy,test_balanced_accuracy,test_macro_f1"), head);
        const auto [recall, f1] = by_hand(run.out(), 5, "3");
        CHECK(last_of(run, "test_balanced_accuracy") == doctest::Approx(recall).epsilon(1e-12));
        CHECK(last_of(run, "test_macro_f1") == doctest::Approx(f1).epsilon(1e-12));
        FedhiveRun alone(small_config(), set(kByClass + Options{"workers=0", "evaluation.chunk_size=7"}));
        REQUIRE_MESSAGE(alone.end() == "exited with status 0", alone.output());
        CHECK(read_text(alone.out() / "confusion.csv") == read_text(run.out() / "confusion.csv"));
        REQUIRE_MESSAGE(run.resume(set({"rounds=5"})) == "exited with status 0", run.output());
        const auto [recall_on, f1_on] = by_hand(run.out(), 5, "5");
        CHECK(last_of(run, "test_balanced_accuracy") == doctest::Approx(recall_on).epsilon(1e-12));
        CHECK(last_of(run, "test_macro_f1") == doctest::Approx(f1_on).epsilon(1e-12));
    }

    TEST_CASE("RunStopsAtAMetricByClass") {
        FedhiveRun run(small_config(), set(kByClass + Options{"rounds=20", "stop.test_macro_f1=0.05"}));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        const auto rows = read_csv(run.out() / "rounds.csv");
        CHECK(rows.size() < 20);
        CHECK(std::stod(rows.back().at("test_macro_f1")) >= 0.05);
    }

    TEST_CASE("LossesAndMetricsThatAreNotThereAreRefusedWithThoseThatAre") {
        refuses_loss({with("{name: focl}")},
                     {"training.loss.name", "unknown value 'focl'; allowed: cross_entropy, focal", "did you mean 'focal'?"});
        refuses_loss({with("{name: squared_error}")}, {"training.loss.name", "classification", ": cross_entropy, focal"});
        refuses_loss({with("{label_smoothing: 1}")}, {"training.loss.label_smoothing", "out of range"});
        refuses_loss({with("{class_weights: [1, 2]}")}, {"training.loss.class_weights", "2 weights for 5 classes"});
        refuses_loss({with("{class_weights: [0, 0, 0, 0, 0]}")}, {"training.loss.class_weights", "all weights are 0"});
        refuses_loss({with("{class_weights: [1, 1, 1, 1, -1]}")}, {"training.loss.class_weights[4]", "out of range"});
        refuses_loss({with("{balanced: true, class_weights: [1, 1, 1, 1, 1]}")}, {"training.loss.balanced", "keep one"});
        refuses_loss({"evaluation.metrics=[macro_f2]"}, {"evaluation.metrics[0]", "did you mean 'macro_f1'?"});
        refuses_loss({"evaluation={confusion: true, clients: {every: 1}}", "data.partition.holdout=0.2",
                      "model={name: mlp, local: [\"fc2*\"]}"},
                     {"evaluation.confusion", "model.local"});
        refuses_loss({"stop.test_macro_f1=0.5"}, {"stop.test_macro_f1", "add evaluation.metrics: [macro_f1]"});
        refuses_loss({"task=regression",
                      "data={format: synthetic_linear, num_train: 400, num_test: 100, num_features: 4, "
                      "num_targets: 2, partition: {scheme: iid, clients: 8}}",
                      "training.cohort=4", "evaluation.metrics=[macro_f1]"},
                     {"evaluation.metrics[0]", "task 'regression' has no macro_f1"});
    }
}
