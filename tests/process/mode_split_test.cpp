// Mode split: a model split over two processes equals the model in one.
#include "tests/process/mode_runs.h"

using namespace fedhive;
using namespace fedhive::testing;

namespace {

struct Split {
    std::string cut, workers;
};

/// The split runs' model and rows of clients.csv must equal those of the run in which every client has the whole
/// model. Returns its hash.
std::string check_same_as_whole(const std::vector<std::string>& assignments, const std::vector<Split>& splits) {
    const ModeRun whole(assignments + Options{"training.engine=libtorch"});  // the engine that computes the halves
    const std::string rows = comparable(whole.out() / "clients.csv");
    CHECK(whole.numbers("clients.csv", "update_norm").front() > 0.0);
    for (const Split& split : splits) {
        auto with_mode = assignments;
        with_mode.insert(with_mode.end(), {"mode={name: split, cut: " + split.cut + "}", "workers=" + split.workers});
        CAPTURE(split.cut);
        CAPTURE(split.workers);
        const ModeRun run(with_mode);
        CHECK(run.hash() == whole.hash());
        CHECK(comparable(run.out() / "clients.csv") == rows);  // hash, norm, loss and steps of every client
        CHECK(run.column("rounds.csv", "test_loss") == whole.column("rounds.csv", "test_loss"));
    }
    return whole.hash();
}

std::vector<std::string> cnn(const std::string& dropout) {
    return {"model={name: mnist_cnn, dropout: " + dropout + "}", "rounds=2", "training.local_epochs=2", "data.num_train=202"};
}

}  // namespace

TEST_SUITE("ModesSplit") {
    TEST_CASE("EqualsSynchronousWithMomentumAtAnyCutForAnyNumberOfWorkers") {
        check_same_as_whole({}, {{"fc1", "2"}, {"fc2", "4"}});
    }

    TEST_CASE("EqualsSynchronousWithFedProx") {
        auto assignments = cnn("false");
        assignments.emplace_back("strategy={name: fedprox, proximal_mu: 0.1}");
        check_same_as_whole(assignments, {{"conv1", "3"}, {"conv2", "4"}});
    }

    TEST_CASE("EqualsSynchronousWithTheGradientOfAFile") {
        auto assignments = cnn("false");
        assignments.emplace_back("strategy={file: " + (source_folder() / "configs/methods/fedprox.py").string() + ", mu: 0.1}");
        check_same_as_whole(assignments, {{"conv1", "3"}});
    }

    TEST_CASE("EqualsSynchronousWithFedAdamNesterovAndWeightDecay") {
        check_same_as_whole({"strategy={name: fedadam}", "training.cohort=3",
                             "training.optimizer={lr: 0.02, momentum: 0.9, nesterov: true, weight_decay: 0.01}"},
                            {{"fc1", "3"}});
    }

    TEST_CASE("DropoutBelowTheCutIsTheWholeModelsAndAboveItRepeatable") {
        const std::string whole = check_same_as_whole(cnn("true"), {{"fc1", "3"}});
        auto above = cnn("true");
        above.emplace_back("mode={name: split, cut: conv1}");
        auto with_four = above;
        with_four.emplace_back("workers=4");
        const std::string hash = mode_hash(above);
        CHECK(hash == mode_hash(with_four));
        CHECK(hash != whole);
    }
}
