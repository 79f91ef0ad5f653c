// LossOfClient of updates on the examples of each other's clients, k.their_loss of a mixture: values, bits for any number of workers, after a
// kill and a resume; and FedFomo, which mixes by them.
#include "tests/process/method_files.h"
#include "tests/process/rank_runs.h"
#include "tests/process/same_run.h"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

const Options kAllThirteen{"training.cohort=13"};

/// Each client keeps the model of client 3, and its loss on the client's own examples; it tells the loss in the next round.
const std::string kKeepsThird =
    "memories: [{name: third, owner: client, first: w_t}, {name: last, owner: client, shape: number}]\n"
    "reports: [{name: told}]\nend: told = last\njudge: third\n"
    "peers: [weight = k.id == 3, its_loss = sum_k((k.id == 3) * k.their_loss)]\nmix: [third = w_t + u, last = its_loss]\n";

using LossOfClient = std::map<std::string, double>;  // by client

LossOfClient told_losses(const FedhiveRun& run, const std::string& round) {
    LossOfClient losses;
    for (const auto& row : read_csv(run.out() / "clients.csv"))
        if (row.at("round") == round) losses[row.at("client_id")] = std::stod(row.at("told"));
    REQUIRE(losses.size() == 13);
    return losses;
}

/// The losses on held-out examples of the clients' models after two rounds; client_accuracy.csv has the last round.
LossOfClient judged_losses(const Options& options, const std::string& model) {
    FedhiveRun run(small_config(), set(options + Options{"rounds=2"}));
    method_ended_well(run);
    LossOfClient losses;
    for (const auto& row : read_csv(run.out() / "client_accuracy.csv"))
        if (row.at("model") == model) losses[row.at("client_id")] = std::stod(row.at("loss"));
    return losses;
}

std::string all_tables_of(const FedhiveRun& run) {
    return comparable(run.out() / "clients.csv") + comparable(run.out() / "rounds.csv") +
           read_text(run.out() / "fairness.csv") + run.manifest()["model_sha256"].get<std::string>();
}

std::string all_tables_with(const Options& options) {
    FedhiveRun run(small_config(), set(options));
    method_ended_well(run);
    return all_tables_of(run);
}

}  // namespace

TEST_SUITE("CrossLosses") {
    TEST_CASE("TheyAreTheLossesOfTheOthersModelsOnHeldOutExamples") {
        const MethodFile method(kKeepsThird);
        for (const Options& more : std::vector<Options>{{}, {"client_state=file"}, {"training.engine=libtorch"}}) {
            const Options options = method.options(kAllThirteen + kJudgedOwn + more);
            FedhiveRun run(small_config(), set(options));
            method_ended_well(run);
            LossOfClient told = told_losses(run, "3");
            const LossOfClient judged = judged_losses(options, "personalized");
            REQUIRE(judged.size() == 13);
            for (const auto& [client, loss] : judged) CHECK_EQ(told[client], doctest::Approx(loss).epsilon(1e-6));
        }
    }

    TEST_CASE("WithALocalPartItIsTheClientsOwn") {
        const MethodFile method(
            "memories: [{name: last, owner: client, shape: number}]\nreports: [{name: told}]\nend: told = last\n"
            "peers: [weight = k.me, its_loss = sum_k(k.their_loss)]\nmix: last = its_loss\n");
        const Options options =
            method.options({"training.cohort=1", "sampling={name: fixed, clients: [4]}", "model.local=[\"fc2*\"]",
                            "data.partition.holdout=0.25", "evaluation.clients.every=1"});
        FedhiveRun run(small_config(), set(options));
        method_ended_well(run);
        const LossOfClient judged = judged_losses(options, "global");
        for (const auto& row : read_csv(run.out() / "clients.csv"))
            if (row.at("round") == "3") CHECK_EQ(std::stod(row.at("told")), doctest::Approx(judged.at("4")).epsilon(1e-6));
    }

    TEST_CASE("WithoutHeldOutExamplesTheyAreOfThoseThatTheClientTrainsOn") {
        const MethodFile method(
            "memories: [{name: third, owner: client, first: w_t}, {name: last, owner: client, shape: number}]\n"
            "reports: [{name: told}, {name: passed}]\nlosses_at: {F: third}\nend: [told = last, passed = F]\n"
            "peers: [weight = k.id == 3, its_loss = sum_k((k.id == 3) * k.their_loss)]\nmix: [third = w_t + u, last = "
            "its_loss]\n");
        FedhiveRun run(small_config(), set(method.options(kAllThirteen)));
        method_ended_well(run);
        for (const auto& row : read_csv(run.out() / "clients.csv"))
            if (row.at("round") != "1")
                CHECK_EQ(std::stod(row.at("told")), doctest::Approx(std::stod(row.at("passed"))).epsilon(1e-6));
    }

    TEST_CASE("FedFomoHasTheSameBitsForAnyWorkersAfterAKillAndAResume") {
        const Options fomo = Options{"strategy={name: fedfomo}", "rounds=4"} + kJudgedOwn;
        const std::string expected = all_tables_with(fomo + Options{"workers=1"});
        for (const Options& more : std::vector<Options>{
                 {"workers=0"}, {"workers=3", "failures={policy: retry}", "faults=[{kind: kill, round: 2, client: 3}]"}})
            CHECK(all_tables_with(fomo + more) == expected);
        FedhiveRun resumed(small_config(), set(fomo + Options{"rounds=2"}));
        method_ended_well(resumed);
        resumed.start({"run", "--quiet", "--resume", resumed.out().string(), "--set", "rounds=4"});
        method_ended_well(resumed);
        CHECK(all_tables_of(resumed) == expected);
        CHECK(all_tables_with(fomo + Options{"strategy={name: local_only}"}) != expected);
    }

    TEST_CASE("TheModelsThatGoDownAndThePassesCount") {
        const MethodFile own(
            "memories: [{name: own, owner: client, first: w_t}]\nstart: own\npeers: k.me\nmix: own = w_t + u\n"),
            by_loss(
                "memories: [{name: own, owner: client, first: w_t}]\nstart: own\npeers: k.me * (k.their_loss > -1)\nmix: own = "
                "w_t + u\n");
        const Options clocked{"clock=virtual", "devices.compute={distribution: constant, seconds_per_example: 0.01}"};
        FedhiveRun plain(small_config(), set(own.options(kAllThirteen + clocked))),
            counted(small_config(), set(by_loss.options(kAllThirteen + clocked)));
        method_ended_well(plain);
        method_ended_well(counted);
        CHECK(plain.manifest()["model_sha256"] == counted.manifest()["model_sha256"]);
        const auto of = [](const FedhiveRun& run, const char* column) {
            return std::stod(read_csv(run.out() / "rounds.csv").back().at(column));
        };
        const double model_bytes = of(plain, "bytes_down") / 13;
        CHECK_EQ(of(counted, "bytes_down"), doctest::Approx((13.0 + 13 * 12) * model_bytes));
        CHECK(of(counted, "virtual_s") > of(plain, "virtual_s"));
    }

    TEST_CASE("SeveralRanksAreRefused") {
        FEDHIVE_NEEDS_RANKS();
        RankedRun ranked(2, small_config(), set({"strategy={name: fedfomo}"}));
        CHECK(ranked.end() == "exited with status 2");
        CHECK_MESSAGE(ranked.output().find("fedfomo.py reads k.their_loss") != std::string::npos, ranked.output());
    }
}
