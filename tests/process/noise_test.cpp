// Noise in a server step, from the checkpoints before and after it: normal, with the standard deviation that the chain
// promises, with absent, failing, late and repeated clients. Clients learn nothing, so updates are only noise.
#include "tests/process/csv_rows.h"
#include "tests/process/model_after.h"
#include "tests/process/run_process.h"
#include "tests/support/statistics.h"

#include <doctest/doctest.h>

#include <fmt/ranges.h>

#include <map>

using namespace fedhive;
using namespace fedhive::testing;

namespace {

constexpr double kPromised = 2.0 * 1.5;

std::string noisy_config() {
    return R"(
name: noise
rounds: 5
device: cpu
workers: 0
clock: virtual
data: {format: synthetic, num_train: 240, num_test: 10, num_features: 700, partition: {scheme: iid, clients: 12}}
model: {name: lr}
training: {cohort: 12, batch_size: 20, optimizer: {name: sgd, lr: 1.0e-30}}
strategy: {name: fedavg, weighting: uniform}
upload: [{name: clip, norm: 1.5}, {name: gaussian_noise, multiplier: 2}]
checkpoint: {every: 1, keep: 100}
evaluation: {every: 1000}
)";
}

double constant(double) { return 1.0; }
double polynomial(double tau) { return 1.0 / std::sqrt(1.0 + tau); }
double hinge(double tau) { return tau <= 1.0 ? 1.0 : 1.0 / tau; }

/// For each step after the first: (sum of updates) / (promised deviation · largest count of one client)
/// must be standard normal.
void check_sums(const Options& options, double (*discount)(double) = constant) {
    CAPTURE(fmt::format("{}", fmt::join(options, " ")));
    FedhiveRun run(noisy_config(), set(options));
    REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
    std::map<std::int64_t, std::map<std::string, double>> counts;  // by round and client
    std::map<std::int64_t, double> accepted;
    for (const auto& row : read_csv(run.out() / "clients.csv")) {
        if (!row.at("failure").empty()) continue;
        const std::int64_t round = std::stoll(row.at("round"));
        counts[round][row.at("client_id")] += discount(std::stod(row.at("staleness")));
        accepted[round] += 1.0;
    }
    std::vector<double> samples;
    std::vector<double> before = model_after(run.out(), 1);
    for (std::int64_t round = 2; round <= static_cast<std::int64_t>(run.rounds()); ++round) {
        const std::vector<double> now = model_after(run.out(), round);
        double most = 0.0;
        for (const auto& [client, count] : counts[round]) most = std::max(most, count);
        for (std::size_t i = 0; i < now.size() && most > 0.0; ++i)
            samples.push_back((now[i] - before[i]) * accepted[round] / (most * kPromised));
        before = now;
    }
    REQUIRE(samples.size() >= 4 * before.size());
    CHECK(distance_from_normal(samples, 0.0, 1.0) < kolmogorov_bound(samples.size()));
}

/// A trace where three of the twelve clients are available.
struct Away : TemporaryFolder {
    Away() {
        std::ofstream file(path() / "trace.csv");
        file << "client,start_s,end_s\n";
        for (int client = 0; client < 12; ++client) file << fmt::format("{},0,{}\n", client, client % 4 == 1 ? 1e8 : 1e-6);
    }
    std::string option() const {
        return fmt::format("devices.availability={{scheme: trace, trace: {}}}", (path() / "trace.csv").string());
    }
};

Options buffered(const std::string& staleness) {
    return {fmt::format("mode={{name: semi_async, quorum: 4, staleness: {}}}", staleness),
            "devices.compute={distribution: zipf, seconds_per_example: 0.01}", "rounds=12"};
}

}  // namespace

TEST_SUITE("Noise") {
    TEST_CASE("SumOfACohortHasWhatIsPromisedHoweverManyAreThere") {
        const Away away;
        check_sums({});
        check_sums({"training.cohort=3"});
        check_sums({away.option()});
        check_sums({"devices.availability={scheme: probability, probability: 0.4, period_s: 0.001}"});
        check_sums({"mode={name: synchronous, quorum: 8}"});
        check_sums({"mode={name: synchronous, quorum: 8}", away.option()});
        check_sums({"training.clients_per_slot=4"});
        check_sums({"mode={name: async, alpha: 1}", "training.cohort=1"});
    }

    TEST_CASE("SumWithFailuresHasWhatIsPromised") {
        const std::string faults = "faults=[{kind: throw, rate: 0.4}]";
        check_sums({faults, "failures={policy: retry, attempts: 30}"});
        check_sums({faults, "failures={policy: drop}"});
        check_sums({faults, "failures={policy: drop}", "training.clients_per_slot=4"});
        check_sums({faults, "failures={policy: drop}", "mode={name: synchronous, quorum: 8}"});
    }

    TEST_CASE("BufferedSumHasWhatIsPromisedByWhatItsFreshestClientCounts") {
        const Away away;
        check_sums(buffered("constant"));
        check_sums(buffered("constant") + Options{away.option()});
        check_sums(buffered("polynomial"), polynomial);
        check_sums(buffered("polynomial") + Options{"faults=[{kind: throw, rate: 0.3}]", "failures={policy: drop}"},
                   polynomial);
        check_sums(buffered("hinge, staleness_a: 1, staleness_b: 1"), hinge);
    }

    TEST_CASE("NoiseThatTheServerAddsIsTheSameForAnyNumberOfWorkersAndAfterAResume") {
        const Options mixed = buffered("polynomial") + Options{"faults=[{kind: throw, rate: 0.3}]", "failures={policy: drop}"};
        const auto sha = [&](const Options& more) {
            FedhiveRun run(noisy_config(), set(mixed + more));
            REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
            return run.manifest()["model_sha256"].get<std::string>();
        };
        const std::string expected = sha({"rounds=9"});
        CHECK(sha({"rounds=9", "workers=3"}) == expected);
        CHECK(sha({"rounds=9", "seeds={training: 2}"}) != expected);
        FedhiveRun run(noisy_config(), set(mixed + Options{"rounds=5"}));
        REQUIRE(run.end() == "exited with status 0");
        run.start(Options{"run", "--resume", run.out().string()} + set({"rounds=9"}));
        REQUIRE_MESSAGE(run.end() == "exited with status 0", run.output());
        CHECK(run.manifest()["model_sha256"] == expected);
        std::size_t replayed = 0;
        for (const auto& row : read_csv(run.out() / "clients.csv")) {
            if (row.at("round") != "8" || !row.at("failure").empty()) continue;
            FedhiveRun again;
            again.start({"replay", run.out().string(), "--round", "8", "--client", row.at("client_id")});
            CHECK_MESSAGE(again.end() == "exited with status 0", again.output());
            ++replayed;
        }
        CHECK(replayed > 0);
    }
}
