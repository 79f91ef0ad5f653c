// Mode semi_async beside its paper's event loop, written down once more here: who is sent and who arrives, when, and how stale.
#include "sim/config/load_config.h"
#include "sim/fleet/fleet.h"
#include "sim/modes/mode_spec.h"
#include "sim/run/round_loop.h"
#include "tests/fleet/toy_trainer.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <fstream>
#include <numeric>
#include <queue>

using namespace fedhive;
using namespace fedhive::sim;

namespace {

struct Arrival {
    std::uint32_t client = 0;
    std::int64_t sent_round = 0;
    std::uint64_t staleness = 0;
    bool operator==(const Arrival&) const = default;
    auto operator<=>(const Arrival&) const = default;
};

struct Round {
    std::vector<std::uint32_t> order;  // of arrival
    std::vector<Arrival> arrivals;     // by client, then round of sending
    double ended_s = 0.0;
};

/// Two hundred devices by Zipf's law; `cohort` of them are in flight.
LoadedConfig config(std::size_t clients, std::size_t cohort, std::size_t quorum, const std::string& at_end = "drop") {
    const testing::TemporaryFolder folder;
    const auto file = folder.path() / "buffered.yaml";
    std::ofstream(file) << fmt::format(
        "rounds: 40\ndevice: cpu\nworkers: 0\n"
        "data: {{format: synthetic, num_train: {}, num_test: 10, num_features: 4, partition: {{scheme: contiguous, clients: "
        "{}}}}}\n"
        "model: {{name: lr}}\ntraining: {{cohort: {}, local_epochs: 1, batch_size: 4}}\n"
        "mode: {{name: semi_async, quorum: {}, at_end: {}}}\n"
        "devices: {{compute: {{distribution: zipf, exponent: 1, seconds_per_example: 0.01}}}}\n",
        10 * clients, clients, cohort, quorum, at_end);
    return load_config(file, {});
}

std::vector<Round> simulated(const LoadedConfig& loaded) {
    Experiment run = Experiment::to_inspect(loaded);
    Fleet fleet(run.fleet_options(), run.worker_plan, *run.resources.arena, run.data.dataset, testing::make_toy_trainer);
    std::vector<Round> rounds;
    for (; run.server.state.round < run.config.rounds; ++run.server.state.round) {
        RoundRecord record;
        const Arrivals arrived = run_round(run, fleet, record);
        Round round{arrived.order, {}, run.server.state.now_s};
        for (const ClientReport& client : arrived.clients)
            round.arrivals.push_back({client.client_id, client.sent_round, client.staleness});
        rounds.push_back(round);
    }
    return rounds;
}

/// FedBuff (arXiv:2106.06639), Algorithm 1, as a queue of events: a client that returns is replaced; the buffer's last one after the step.
std::vector<Round> reference(const LoadedConfig& loaded) {
    const Experiment run = Experiment::to_inspect(loaded);
    const RunConfig& config = run.config;
    const std::uint64_t bytes = run.model.layout.num_values() * sizeof(float);
    const auto quorum = static_cast<std::size_t>(*config.mode.quorum());
    using Event = std::tuple<double, std::uint32_t, std::int64_t>;  // when, who, sent in which round
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
    std::vector<bool> away(run.data.dataset.map().num_clients);
    double now_s = 0.0;
    std::vector<Round> rounds;
    const auto send = [&](std::int64_t version, std::size_t in_buffer) {
        std::vector<std::uint32_t> busy;
        for (std::uint32_t client = 0; client < away.size(); ++client)
            if (away[client]) busy.push_back(client);
        auto wanted = static_cast<std::size_t>(config.cohort_size());
        if (config.mode.values.choice<AtEnd>("at_end") == AtEnd::Drain) {
            const auto steps_left = static_cast<std::size_t>(config.rounds - version);
            wanted = std::min(wanted, steps_left * quorum - in_buffer);
        }
        const Stream stream(config.seed, Purpose::Sampling, static_cast<std::uint32_t>(version),
                            static_cast<std::uint32_t>(in_buffer));
        for (const std::uint32_t client :
             sample_idle(*run.sampler, away.size(), busy, wanted - busy.size(), stream, run.devices, now_s)) {
            const std::uint64_t examples = run.data.dataset.shard(client).size();
            events.emplace(now_s + run.devices.round_trip_s(client, examples, bytes, bytes), client, version);
            away[client] = true;
        }
    };
    for (std::int64_t version = 0; version < config.rounds; ++version) {
        Round round;
        send(version, 0);
        while (round.order.size() < quorum) {
            const auto [time_s, client, base] = events.top();
            events.pop();
            now_s = time_s;
            away[client] = false;
            round.order.push_back(client);
            round.arrivals.push_back({client, base, static_cast<std::uint64_t>(version - base)});
            if (round.order.size() < quorum) send(version, round.order.size());
        }
        round.ended_s = now_s;
        std::sort(round.arrivals.begin(), round.arrivals.end());
        rounds.push_back(round);
    }
    return rounds;
}

double mean_staleness(const std::vector<Round>& rounds, std::size_t from) {
    double sum = 0.0;
    std::size_t count = 0;
    for (std::size_t i = from; i < rounds.size(); ++i)
        for (const Arrival& one : rounds[i].arrivals) {
            sum += static_cast<double>(one.staleness);
            ++count;
        }
    return sum / static_cast<double>(count);
}

}  // namespace

TEST_SUITE("BufferedRounds") {
    TEST_CASE("ArrivalsAreThoseOfThePapersEventLoop") {
        struct Case {
            std::size_t clients, cohort, quorum;
            const char* at_end;
        };
        for (const Case& one :
             {Case{200, 10, 10, "drop"}, Case{200, 12, 8, "drop"}, Case{200, 20, 10, "drop"}, Case{200, 20, 1, "drop"},
              Case{4, 4, 4, "drop"}, Case{5, 4, 2, "drop"}, Case{200, 20, 10, "drain"}, Case{4, 4, 4, "drain"}}) {
            CAPTURE(one.clients);
            CAPTURE(one.cohort);
            CAPTURE(one.quorum);
            CAPTURE(one.at_end);
            const LoadedConfig loaded = config(one.clients, one.cohort, one.quorum, one.at_end);
            const std::vector<Round> rounds = simulated(loaded);
            const std::vector<Round> expected = reference(loaded);
            REQUIRE(rounds.size() == expected.size());
            for (std::size_t i = 0; i < rounds.size(); ++i) {
                CAPTURE(i);
                REQUIRE(rounds[i].order == expected[i].order);
                REQUIRE(rounds[i].arrivals == expected[i].arrivals);
                REQUIRE(rounds[i].ended_s == expected[i].ended_s);
            }
        }
    }

    TEST_CASE("MeanStalenessIsOthersOnTheirWayOverTheBuffer") {
        // Between its sending and its arrival M - 1 others arrive on average; each K of them make a step.
        CHECK(mean_staleness(simulated(config(200, 10, 10)), 10) == doctest::Approx(0.9).epsilon(0.1));
        CHECK(mean_staleness(simulated(config(200, 12, 8)), 10) == doctest::Approx(11.0 / 8.0).epsilon(0.1));
        CHECK(mean_staleness(simulated(config(4, 4, 4)), 10) == doctest::Approx(0.75).epsilon(0.1));
    }
}
