// Several memories of a client in the real program: each has the values of its owner's formula, for any worker and after failures.
#include "aggregation/base/sha256.h"
#include "sim/state/checkpoint.h"
#include "tests/process/finished_run.h"
#include "tests/process/kept_by_clients.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

const std::string kFeedback = "upload=[{name: error_feedback}, {name: top_k, kept: 0.1}]";
const Options kHeads{"model={name: mlp, hidden: 32, local: [\"fc3.*\"]}", "data.partition.holdout=0.25",
                     "evaluation.clients={every: 1}"};
const Options kPlain{"training.optimizer={name: sgd, lr: 0.05}", "training.cohort=5", "model={name: mlp, hidden: 32}"};
const Options kScaffoldWithHeads = kPlain + Options{"strategy={name: scaffold}"} + kHeads;
const Options kFeddynWithFeedback = kPlain + Options{"strategy={name: feddyn, alpha: 0.1}", kFeedback};
const Options kThree = kScaffoldWithHeads + Options{kFeedback};

// In floats, with the layout's padding.
constexpr std::size_t kTrainable = 16 * 32 + 32 + 32 * 32 + 32 + 32 * 5 + 16, kHeadsAt = kTrainable - 32 * 5 - 16,
                      kHeadsLong = 32 * 5 + 5;

using Records = std::map<std::string, std::vector<float>>;

Records records_after(const FedhiveRun& run, std::int64_t round) {
    const sim::CheckpointFile file = sim::read_checkpoint(sim::checkpoint_path(run.out(), round));
    Records records;
    for (const sim::TensorPlace& place : file.state.tensors())
        if (place.name.starts_with("client.")) records[place.name] = floats_of(file.state, place);
    return records;
}

std::vector<double> sum_of(const Records& records, std::size_t first, std::size_t count) {
    std::vector<double> sum(count);
    for (const auto& [client, record] : records)
        for (std::size_t i = 0; i < count; ++i) sum[i] += static_cast<double>(record.at(first + i));
    return sum;
}

/// The server's tensors of that prefix, laid out as a record has them.
std::vector<double> known_to_the_server(const FedhiveRun& run, std::int64_t round, const std::string& prefix) {
    const sim::CheckpointFile file = sim::read_checkpoint(sim::checkpoint_path(run.out(), round));
    std::vector<double> known;
    for (const char* name : {"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias", "fc3.weight", "fc3.bias"}) {
        const sim::TensorPlace* tensor = file.state.find(prefix + name);
        REQUIRE(tensor != nullptr);
        const std::vector<float> values = floats_of(file.state, *tensor);
        known.insert(known.end(), values.begin(), values.end());
        known.resize((known.size() + 15) / 16 * 16);
    }
    REQUIRE(known.size() == kTrainable);
    return known;
}

double length_of(const std::vector<double>& values) {
    double squares = 0.0;
    for (const double value : values) squares += value * value;
    return std::sqrt(squares);
}

void check_near(std::vector<double> values, const std::vector<double>& expected) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] -= expected.at(i);
    CHECK(length_of(expected) > 1e-4);
    CHECK(length_of(values) < 1e-5 * length_of(expected));
}

bool all_zero(const std::vector<double>& values) { return length_of(values) == 0.0; }

std::string bits_of(const FedhiveRun& run) {
    return run.manifest()["model_sha256"].get<std::string>() + "\n" + comparable(run.out() / "clients.csv");
}

void end_well(FedhiveRun& run) { REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output()); }

std::string bits_with(const Options& options) {
    FedhiveRun run(small_config(), set(options));
    end_well(run);
    return bits_of(run);
}

/// The same bits with any kills, retries, number of workers and place of the records, for a resumed run, and for a client that is
/// trained once more.
void same_bits_whoever_trains(const Options& options) {
    Finished run(set(options + Options{"workers=3"}));
    const std::string of_three = bits_of(run);
    for (const char* workers : {"workers=0", "workers=1"})
        CHECK_MESSAGE(bits_with(options + Options{workers}) == of_three, workers);
    FedhiveRun killed(small_config(), set(options + Options{"faults=[{kind: kill, rate: 0.2}]", "client_state=file",
                                                            "failures={policy: retry, attempts: 9}", "checkpoint.every=1"}));
    end_well(killed);
    CHECK(killed.manifest()["model_sha256"] == run.manifest()["model_sha256"]);
    CHECK(records_after(killed, 3) == records_after(run, 3));
    const std::string of_five = bits_with(options + Options{"rounds=5"});
    REQUIRE_MESSAGE(run.resume(set({"rounds=5", "workers=1"})) == "exited with status 0", run.output());
    CHECK(bits_of(run) == of_five);
    FedhiveRun again;
    again.start(
        {"replay", run.out().string(), "--round", "5", "--client", read_csv(run.out() / "clients.csv").back().at("client_id")});
    CHECK_MESSAGE(again.end() == "exited with status 0", again.output());
    CHECK_MESSAGE(again.output().find(": the same bits as in the run\n") != std::string::npos, again.output());
}

}  // namespace

TEST_SUITE("MemoriesRun") {
    TEST_CASE("ScaffoldWithAnOwnPartHasTheSameBitsWhoeverTrains") {
        same_bits_whoever_trains(kScaffoldWithHeads);
        same_bits_whoever_trains(kScaffoldWithHeads + Options{"strategy.option=1"});
    }
    TEST_CASE("FeddynWithFeedbackHasTheSameBitsWhoeverTrains") { same_bits_whoever_trains(kFeddynWithFeedback); }
    TEST_CASE("ThreeMemoriesHaveTheSameBitsWhoeverTrains") { same_bits_whoever_trains(kThree); }

    TEST_CASE("ScaffoldKnowsTheMeanOfWhatClientsKeepWhateverElseTheyKeep") {
        for (const char* option : {"strategy.option=1", "strategy.option=2"})
            for (const Options& options : {kScaffoldWithHeads, kThree}) {
                CAPTURE(option);
                Finished run(set(options + Options{option}));
                const Records records = records_after(run, 3);
                const bool three = options == kThree;
                for (const auto& [client, record] : records) CHECK(record.size() == (three ? 2 : 1) * kTrainable + kHeadsLong);
                std::vector<double> mean = sum_of(records, 0, kTrainable);
                for (double& value : mean) value /= 13.0;
                check_near(known_to_the_server(run, 3, "model.c."), mean);
                // A client's own part is not corrected, and none of it waits to be sent.
                CHECK(all_zero(sum_of(records, kHeadsAt, kTrainable - kHeadsAt)));
                if (three) CHECK(all_zero(sum_of(records, kTrainable + kHeadsAt, kTrainable - kHeadsAt)));
                if (three) CHECK_FALSE(all_zero(sum_of(records, kTrainable, kHeadsAt)));
                CHECK_FALSE(all_zero(sum_of(records, (three ? 2 : 1) * kTrainable, kHeadsLong)));
            }
    }

    TEST_CASE("FeddynsServerKnowsWhatClientsKeepButForWhatWaitsToBeSent") {
        // h = -alpha / N * sum of all that was sent; g_k = -alpha * the sum of k's updates; e_k = what k has not sent of them.
        Finished run(set(kFeddynWithFeedback));
        const Records records = records_after(run, 3);
        std::vector<double> sent = sum_of(records, 0, kTrainable), waits = sum_of(records, kTrainable, kTrainable);
        REQUIRE(records.begin()->second.size() == 2 * kTrainable);
        CHECK(length_of(waits) > 1e-3);
        for (std::size_t i = 0; i < kTrainable; ++i) sent[i] = (sent[i] + 0.1 * waits[i]) / 13.0;
        check_near(known_to_the_server(run, 3, "server.h."), sent);
    }

    TEST_CASE("WhoIsLeftOutOfARoundKeepsAllThatItHad") {
        FedhiveRun run(
            small_config(),
            set(kThree + Options{"rounds=4", "checkpoint.every=1", "checkpoint.keep=9", "workers=2", "training.cohort=13",
                                 "failures={policy: drop}",
                                 "faults=[{kind: nan, round: 3, client: 2}, {kind: kill, round: 3, client: 5, at: update}]"}));
        end_well(run);
        const Records before = records_after(run, 2), after = records_after(run, 3), later = records_after(run, 4);
        REQUIRE(before.size() == 13);
        for (const auto& [client, record] : before) {
            const bool left_out = client == "client.2" || client == "client.5";
            CHECK_MESSAGE((after.at(client) == record) == left_out, client);
            CHECK_MESSAGE(later.at(client) != after.at(client), client);
        }
    }

    TEST_CASE("WhatTravelsIsWhatIsNobodysOwn") {
        Finished run(set(kThree + Options{"rounds=1"}));
        constexpr std::size_t kShared = 16 * 32 + 32 + 32 * 32 + 32;
        const auto row = read_csv(run.out() / "rounds.csv").back();
        CHECK(std::stoul(row.at("bytes_down")) == 5 * 4 * 2 * kShared);  // the model and c
        CHECK(std::stoul(row.at("bytes_up")) ==
              5 * (kShared / 10 * 4 + kShared / 8 + 4 * kShared));  // 160 values, which they are, and c_k+ - c_k
    }

    TEST_CASE("ScaffoldGoesWithStepsThatPromiseNoNoise") {
        for (const char* chain : {"upload=[{name: clip, norm: 0.02}]", "upload=[{name: sign_flip, share: 0.2}]"})
            CHECK(bits_with(kPlain + Options{"strategy={name: scaffold}", chain, "rounds=2"}) !=
                  bits_with(kPlain + Options{"strategy={name: scaffold}", "rounds=2"}));
    }

    TEST_CASE("CheckpointNamesSeveralMemoriesAndOneOfOtherNamesIsRefused") {
        Finished run(set(kFeddynWithFeedback));
        const std::filesystem::path file = sim::checkpoint_path(run.out(), 3);
        const std::string record = fmt::format("g_k {}, residual {}", kTrainable, kTrainable);
        CHECK(sim::read_checkpoint(file).checkpoint.record == record);
        std::string content = read_text(file);
        content.replace(content.find(record), 3, "g_l");
        const std::string key = "\"sha256\":\"";
        const std::size_t digits = content.find(key) + key.size();
        content.replace(digits, 64, 64, '0');
        Sha256 hash;
        hash.update(content.data(), content.size());
        content.replace(digits, 64, hash.hex_digest());
        std::ofstream(file, std::ios::binary) << content;
        run.refuses(set({"rounds=5"}),
                    {"the memories of clients differ: g_l ", " in the checkpoint, " + record + " in this fedhive"});
        Finished one(set(kPlain + Options{"strategy={name: feddyn}"}));
        CHECK(sim::read_checkpoint(sim::checkpoint_path(one.out(), 3)).checkpoint.record.empty());
    }
}
