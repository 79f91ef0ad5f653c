// The draws of `random`.
#include "tests/sim/config/sweep_files.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

using namespace fedhive;
using namespace fedhive::sim;
using namespace fedhive::sim::testing;

namespace {

using Texts = std::vector<std::string>;

Texts values_of_key(const SweepConfig& sweep, const std::string& key) {
    const auto index = std::find(sweep.keys.begin(), sweep.keys.end(), key) - sweep.keys.begin();
    Texts values;
    for (const SweepRun& run : sweep.runs) values.push_back(run.settings.at(static_cast<std::size_t>(index)).value);
    return values;
}

}  // namespace

TEST_SUITE_BEGIN("SweepDraws");

TEST_CASE("DrawsStayInsideTheirBounds") {
    const SweepFolder folder;
    const SweepConfig sweep = folder.load(
        "random:\n  runs: 400\n  draw:\n    training.optimizer.lr: {log_uniform: [0.001, 1]}\n"
        "    training.optimizer.momentum: {uniform: [0.2, 0.8]}\n    training.batch_size: {uniform: [1, 4]}\n"
        "    rounds: {log_uniform: [1, 1000]}\n    model: {choice: [{name: lr}, {name: mlp, hidden: 30}]}\n");
    CHECK_EQ(sweep.keys, Texts{"training.optimizer.lr", "training.optimizer.momentum", "training.batch_size", "rounds",
                               "model.name", "model.hidden"});
    std::map<std::int64_t, int> sizes;
    int small_rates = 0, few_rounds = 0, mlps = 0;
    double momentum = 0.0;
    for (const SweepRun& run : sweep.runs) {
        const TrainingConfig& training = run.config.training;
        const double lr = training.optimizer.values.number("lr");
        const double drawn_momentum = training.optimizer.values.number("momentum");
        CHECK_GE(lr, 0.001);
        CHECK_LE(lr, 1.0);
        CHECK_GE(drawn_momentum, 0.2);
        CHECK_LE(drawn_momentum, 0.8);
        ++sizes[training.batch_size];
        small_rates += lr < std::sqrt(0.001) ? 1 : 0;
        few_rounds += run.config.rounds < 32 ? 1 : 0;
        mlps += run.config.model.name == "mlp" ? 1 : 0;
        momentum += drawn_momentum / 400.0;
    }
    // Four standard deviations of 400 draws with probability 1/2: 40; with 1/4: 35; of a mean: 0.0346.
    for (const int half : {small_rates, few_rounds, mlps}) CHECK_LT(std::abs(half - 200), 40);
    CHECK_EQ(sizes.size(), 4);
    for (const auto& [size, count] : sizes) CHECK_LT(std::abs(count - 100), 35);
    CHECK_LT(std::abs(momentum - 0.5), 0.035);
}

TEST_CASE("DrawsDependOnSeedKeyAndPlaceAlone") {
    const SweepFolder folder;
    const std::string lr = "training.optimizer.lr: {log_uniform: [0.001, 1]}";
    const auto rates = [&](const std::string& random) {
        return values_of_key(folder.load("random: " + random + "\n"), "training.optimizer.lr");
    };
    const Texts three = rates("{runs: 3, draw: {" + lr + "}}");
    // Computed in Python from the definition: Philox, FNV-1a of the key, exp and log.
    CHECK_EQ(three, Texts{"0.309237", "0.00109183", "0.185454"});
    CHECK_EQ(rates("{runs: 3, seed: 1, draw: {" + lr + "}}"), three);
    CHECK_NE(rates("{runs: 3, seed: 2, draw: {" + lr + "}}"), three);
    CHECK_EQ(rates("{runs: 3, draw: {rounds: {uniform: [1, 1000]}, " + lr + "}}"), three);
    const Texts five = rates("{runs: 5, draw: {" + lr + "}}");
    CHECK(std::equal(three.begin(), three.end(), five.begin()));
    const Texts momenta = values_of_key(folder.load("random: {runs: 3, draw: {training.optimizer.momentum: {uniform: [0, "
                                                    "0.9]}, data.partition.clients: {uniform: [1, 1000000]}}}\n"
                                                    "set: {training.participation: 0.5}\n"),
                                        "training.optimizer.momentum");
    CHECK_EQ(momenta, Texts{"0.754221", "0.375764", "0.631082"});
}

TEST_SUITE_END();
