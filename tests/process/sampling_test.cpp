// Promise 1 for samplers: who is asked is the same for any number of workers and ranks, after a kill, and in a replay.
#include "tests/process/rank_runs.h"
#include "tests/process/same_run.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

/// Thirteen clients, who are not always there, so that turns are missed.
Options sampled(const std::string& sampler, const Options& more = {}) {
    return set({"training.cohort=4", "rounds=100", "evaluation.every=50", "checkpoint.every=8", "sampling={" + sampler + "}",
                "devices.availability={scheme: probability, probability: 0.7, period_s: 0.1}"}) +
           set(more);
}

const Options kSamplers{"name: examples",
                        "name: fixed, clients: [12, 3, 7, 0, 5]",
                        "name: round_robin",
                        "name: power_of_choice",
                        "name: oort, preferred_s: 0.2",
                        "name: active",
                        "name: fedcs, deadline_s: 3",
                        "name: class_balanced",
                        "name: oort"};
/// Only where a round waits for its whole cohort.
const Options kWholeCohort{"name: power_of_choice, losses: measured", "name: with_replacement", "name: clustered",
                           "name: gradient_norm"};

void completes(FedhiveRun& run) { REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output()); }

/// Round by round: the clients that were sent.
std::map<std::string, std::vector<std::string>> cohorts_of(const std::filesystem::path& run) {
    std::map<std::string, std::vector<std::string>> cohorts;
    for (const auto& row : read_csv(run / "clients.csv")) cohorts[row.at("round")].push_back(row.at("client_id"));
    return cohorts;
}

}  // namespace

TEST_SUITE("Sampling") {
    TEST_CASE("CohortsDependOnNeitherWorkersNorAKill") {
        for (const std::string& sampler : kSamplers + kWholeCohort)
            for (const Options& mode : {Options{}, Options{"mode={name: semi_async, quorum: 2}"}}) {
                if (!mode.empty() && std::ranges::count(kWholeCohort, sampler) > 0) continue;
                CAPTURE(sampler);
                FedhiveRun whole(small_config(), sampled(sampler, mode + Options{"workers=1"}));
                completes(whole);
                FedhiveRun three(small_config(), sampled(sampler, mode + Options{"workers=3"}));
                completes(three);
                check_same_run(three.out(), whole.out());
                FedhiveRun killed(small_config(), sampled(sampler, mode));
                REQUIRE(eventually(30.0, [&] { return killed.rounds() >= 20; }));
                kill(killed.pid(), SIGKILL);
                CHECK(killed.end() == "killed by SIGKILL (Killed)");
                killed.start({"run", "--resume", killed.out().string()});
                completes(killed);
                check_same_run(killed.out(), whole.out());
            }
    }

    TEST_CASE("RanksAskTheSameClients") {
        FEDHIVE_NEEDS_RANKS();
        for (const std::string& sampler : kSamplers + kWholeCohort) {
            CAPTURE(sampler);
            const Options options = sampled(sampler, {"rounds=12"});
            FedhiveRun whole(small_config(), options);
            completes(whole);
            RankedRun ranked(2, small_config(), options + set({"rounds=7"}));
            completes(ranked);
            ranked.start_ranks(3, Options{"run", "--quiet", "--resume", ranked.out().string()} + set({"rounds=12"}));
            completes(ranked);
            CHECK(ranked.manifest()["model_sha256"] == whole.manifest()["model_sha256"]);
            CHECK(comparable(ranked.out() / "clients.csv") == comparable(whole.out() / "clients.csv"));
        }
    }

    TEST_CASE("RecordedArrivalsAndAReplayAskThemAgain") {
        for (const std::string& sampler : kSamplers) {
            if (sampler.find("_s: ") != std::string::npos) continue;  // by seconds, so only on the virtual clock
            CAPTURE(sampler);
            const Options options = set({"training.cohort=4", "rounds=9", "checkpoint.every=4", "clock=wall",
                                         "mode={name: semi_async, quorum: 2}", "sampling={" + sampler + "}"});
            FedhiveRun run(small_config(), options);
            completes(run);
            FedhiveRun again(small_config(), options + Options{"--arrivals", (run.out() / "arrivals.csv").string()});
            completes(again);
            CHECK(again.manifest()["model_sha256"] == run.manifest()["model_sha256"]);
            const auto row = read_csv(run.out() / "clients.csv").back();
            FedhiveRun replay;
            replay.start({"replay", run.out().string(), "--round", row.at("round"), "--client", row.at("client_id")});
            CHECK_MESSAGE(replay.end() == "exited with status 0", replay.output());
            CHECK_MESSAGE(replay.output().find(": the same bits as in the run\n") != std::string::npos, replay.output());
        }
    }

    TEST_CASE("DrawsAreCountedAndFollowTheirClientThroughARetryARecordAndAReplay") {
        for (const std::string sampler : {"with_replacement", "clustered"}) {
            CAPTURE(sampler);
            const Options options =
                set({"training.cohort=6", "rounds=9", "strategy={name: fedavg, weighting: uniform}",
                     "data.partition={scheme: power_law_sizes, clients: 13}", "sampling={name: " + sampler + "}"});
            FedhiveRun run(small_config(), options);
            completes(run);
            std::map<std::string, std::int64_t> draws;
            bool several = false;
            for (const auto& row : read_csv(run.out() / "clients.csv")) {
                draws[row.at("round")] += std::stoll(row.at("draws"));
                several = several || row.at("draws") != "1";
            }
            CHECK(draws.size() == 9);
            for (const auto& [round, of_round] : draws) CHECK(of_round == 6);
            CHECK(several);
            FedhiveRun killed(small_config(), options + set({"failures={policy: retry}", "faults=[{kind: kill, rate: 0.3}]"}));
            completes(killed);
            CHECK(killed.manifest()["model_sha256"] == run.manifest()["model_sha256"]);
            FedhiveRun shared(small_config(), options + set({"training.clients_per_slot=4", "workers=2"}));
            completes(shared);
            CHECK(shared.manifest()["model_sha256"] == run.manifest()["model_sha256"]);
            FedhiveRun wall(small_config(), options + set({"clock=wall", "checkpoint.every=4"}));
            completes(wall);
            CHECK(wall.manifest()["model_sha256"] == run.manifest()["model_sha256"]);
            FedhiveRun again(small_config(),
                             options + set({"clock=wall"}) + Options{"--arrivals", (wall.out() / "arrivals.csv").string()});
            completes(again);
            CHECK(again.manifest()["model_sha256"] == run.manifest()["model_sha256"]);
            const auto row = read_csv(wall.out() / "clients.csv").back();
            FedhiveRun replay;
            replay.start({"replay", wall.out().string(), "--round", row.at("round"), "--client", row.at("client_id")});
            CHECK_MESSAGE(replay.end() == "exited with status 0", replay.output());
        }
        CHECK_FALSE([] {
            FedhiveRun run(small_config(), set({"rounds=1"}));
            completes(run);
            return read_csv(run.out() / "clients.csv").front().contains("draws");
        }());
    }

    // Four of all thirteen clients: those whose first model has the largest loss on their examples.
    TEST_CASE("MeasuredChoiceIsThatOfTheLargestLossesOfTheModelThatIsSent") {
        FedhiveRun everybody(small_config(), set({"rounds=1", "training.cohort=13", "training.measure=[loss]"})),
            few(small_config(),
                set({"rounds=2", "training.cohort=4", "training.measure=[loss]",
                     "sampling={name: power_of_choice, factor: 4, losses: measured}",
                     "devices={compute: {seconds_per_example: 1}, link: {upload: 1.0e+12, download: 1.0e+12}}"}));
        completes(everybody);
        completes(few);
        std::vector<std::pair<double, std::string>> losses;
        std::map<std::string, std::string> loss_of;
        double longest = 0.0;
        for (const auto& row : read_csv(everybody.out() / "clients.csv")) {
            losses.emplace_back(-std::stod(row.at("sent_loss")), row.at("client_id"));
            loss_of[row.at("client_id")] = row.at("sent_loss");
            longest = std::max(longest, std::ceil(std::stod(row.at("num_examples")) / 3.0));
        }
        std::sort(losses.begin(), losses.end());
        std::set<std::string> expected, asked;
        for (std::size_t i = 0; i < 4; ++i) expected.insert(losses[i].second);
        double training = 0.0;
        for (const auto& row : read_csv(few.out() / "clients.csv")) {
            if (row.at("round") != "1") continue;
            asked.insert(row.at("client_id"));
            CHECK(row.at("sent_loss") == loss_of.at(row.at("client_id")));
            const double examples = std::stod(row.at("num_examples"));
            training = std::max(training, examples + std::ceil(examples / 3.0));
        }
        CHECK(asked == expected);
        const auto round = read_csv(few.out() / "rounds.csv").front();
        const double model = 4.0 * few.manifest()["num_parameters"].get<double>();
        CHECK(std::stod(round.at("bytes_down")) == (13 + 4) * model);
        CHECK(std::stod(round.at("bytes_up")) == 4 * (model + 8) + 13 * 8);
        CHECK(std::stod(round.at("virtual_s")) == doctest::Approx(longest + training).epsilon(1e-6));
    }

    // Four of all thirteen clients: those whose first model has the largest gradient on their examples.
    TEST_CASE("ChoiceByGradientsIsThatOfTheLargestNormsOfTheModelThatIsSent") {
        const Options slow{"devices={compute: {seconds_per_example: 1}, link: {upload: 1.0e+12, download: 1.0e+12}}"};
        FedhiveRun everybody(small_config(), set({"rounds=1", "training.cohort=13", "training.measure=[gradient_norm]"})),
            few(small_config(), set(slow + Options{"rounds=1", "training.cohort=4", "training.measure=[gradient_norm]",
                                                   "sampling={name: gradient_norm}"}));
        completes(everybody);
        completes(few);
        std::vector<std::pair<double, std::string>> norms;
        double longest = 0.0, training = 0.0;
        for (const auto& row : read_csv(everybody.out() / "clients.csv")) {
            norms.emplace_back(-std::stod(row.at("sent_gradient_norm")), row.at("client_id"));
            longest = std::max(longest, std::stod(row.at("num_examples")));
        }
        std::sort(norms.begin(), norms.end());
        std::set<std::string> expected, asked;
        for (std::size_t i = 0; i < 4; ++i) expected.insert(norms[i].second);
        for (const auto& row : read_csv(few.out() / "clients.csv")) {
            asked.insert(row.at("client_id"));
            training = std::max(training, 2.0 * std::stod(row.at("num_examples")));
        }
        CHECK(asked == expected);
        const auto round = read_csv(few.out() / "rounds.csv").front();
        const double model = 4.0 * few.manifest()["num_parameters"].get<double>();
        CHECK(std::stod(round.at("bytes_down")) == (13 + 4) * model);
        CHECK(std::stod(round.at("bytes_up")) == 4 * (model + 8) + 13 * 8);
        CHECK(std::stod(round.at("virtual_s")) == doctest::Approx(longest + training).epsilon(1e-6));
    }

    TEST_CASE("MeasuredChoiceIsRepeatedByAReplayAndAfterAnInterrupt") {
        for (const std::string sampler : {"name: power_of_choice, losses: measured", "name: gradient_norm, candidates: 2"}) {
            CAPTURE(sampler);
            const Options options = sampled(sampler, {"workers=2"});
            FedhiveRun whole(small_config(), options);
            completes(whole);
            FedhiveRun run(small_config(), options);
            REQUIRE(eventually(30.0, [&] { return run.rounds() >= 20; }));
            kill(run.pid(), SIGINT);
            if (run.end() == "exited with status 130") {
                run.start({"run", "--resume", run.out().string()});
                completes(run);
            }
            check_same_run(run.out(), whole.out());
            const auto row = read_csv(run.out() / "clients.csv").back();
            FedhiveRun replay;
            replay.start({"replay", run.out().string(), "--round", row.at("round"), "--client", row.at("client_id")});
            CHECK_MESSAGE(replay.end() == "exited with status 0", replay.output());
        }
    }

    TEST_CASE("LossesCannotBeMeasuredWhereOthersTrain") {
        for (const std::string mode : {"{name: semi_async, quorum: 2}", "{name: async}", "{name: hogwild}"}) {
            FedhiveRun run(small_config(), set({"sampling={name: power_of_choice, losses: measured}", "mode=" + mode}));
            CHECK(run.end() == "exited with status 2");
            CHECK_MESSAGE(run.output().find("sampling.losses: in mode '") != std::string::npos, run.output());
            CHECK(run.output().find("allowed: reported, or mode synchronous") != std::string::npos);
        }
    }

    TEST_CASE("FixedClientsAreAskedInEveryRound") {
        FedhiveRun run(small_config(), set({"training.cohort=3", "sampling={name: fixed, clients: [9, 2, 4, 1]}"}));
        completes(run);
        for (const auto& [round, cohort] : cohorts_of(run.out())) CHECK(cohort == std::vector<std::string>{"2", "4", "9"});
        run.start({"run", "--resume", run.out().string(), "--set", "rounds=5", "--set", "sampling={name: uniform}"});
        CHECK(run.end() == "exited with status 2");
        CHECK(run.output().find("sampling.name: fixed -> uniform") != std::string::npos);
    }
}
