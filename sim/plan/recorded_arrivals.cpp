#include "sim/plan/recorded_arrivals.h"

#include "aggregation/base/error.h"
#include "sim/plan/next_cohort.h"

#include <algorithm>
#include <memory>
#include <set>

namespace fedhive::sim {

namespace {

/// The clients in flight; of clients that share a slot, the first represents all.
class OnTheirWay {
public:
    explicit OnTheirWay(const Experiment& run)
        : run_(run), sampler_(make_sampler(run.config, run.data.dataset)), now_s_(run.server.state.now_s) {
        sampler_->restore(run.server.state.sampler);
        std::set<std::size_t> slots;
        for (const InFlight& client : run.server.state.in_flight) {
            busy_.insert(client.client_id);
            if (slots.insert(client.slot).second) named_.insert(client.client_id);
        }
    }

    /// Sends the clients that the round loop sends at the start of a round, or after `arrived` arrivals in it.
    void send(std::int64_t round, std::size_t arrived) {
        const Cohort cohort = next_cohort(run_, *sampler_, {busy_.begin(), busy_.end()}, round, arrived, now_s_).clients;
        for (std::size_t first = 0; first < cohort.size(); first += run_.resources.slots.clients_of_next(cohort.size() - first))
            named_.insert(cohort[first]);
        busy_.insert(cohort.begin(), cohort.end());
    }

    std::size_t size() const { return named_.size(); }
    bool has(std::uint32_t client) const { return named_.contains(client); }

    void arrive(std::uint32_t client) {
        named_.erase(client);
        busy_.erase(client);
    }
    void clear() {
        named_.clear();
        busy_.clear();
    }

private:
    const Experiment& run_;
    std::unique_ptr<Sampler> sampler_;  // not the run's own, which has yet to ask these clients
    double now_s_;                      // advances only if no client is available
    std::set<std::uint32_t> busy_;
    std::set<std::uint32_t> named_;
};

std::string stranger(std::uint32_t client) { return fmt::format("names client {}, which is not training then", client); }

std::string wrong_number(std::size_t arrivals, std::size_t wanted) {
    return fmt::format("has {} arrivals, but the run waits for {}", arrivals, wanted);
}

/// For modes in which an arrived client is replaced, and may come again.
std::string problem_one_by_one(const std::vector<std::uint32_t>& order, std::int64_t round, std::size_t quorum,
                               OnTheirWay& on_their_way) {
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (!on_their_way.has(order[i])) return stranger(order[i]);
        if (i == quorum) return wrong_number(order.size(), quorum);
        on_their_way.arrive(order[i]);
        if (i + 1 < quorum) on_their_way.send(round, i + 1);
    }
    return order.size() < quorum && on_their_way.size() > 0 ? wrong_number(order.size(), quorum) : "";
}

/// Why the order cannot be that of a round with these clients in flight; empty if it can.
std::string problem_of(const std::vector<std::uint32_t>& order, std::int64_t round, const Mode& mode,
                       OnTheirWay& on_their_way) {
    if (mode.late_join) return problem_one_by_one(order, round, mode.quorum, on_their_way);
    const std::size_t wanted = std::min(mode.quorum, on_their_way.size());
    const std::set<std::uint32_t> named(order.begin(), order.end());
    const auto unknown =
        std::find_if(order.begin(), order.end(), [&](std::uint32_t client) { return !on_their_way.has(client); });
    if (unknown != order.end()) return stranger(*unknown);
    if (mode.by_steps)  // once for each of its steps, unless a failure cut these short
        return named.size() == on_their_way.size()
                   ? ""
                   : fmt::format("names {} clients, but {} are training then", named.size(), on_their_way.size());
    if (order.size() != wanted) return wrong_number(order.size(), wanted);
    return named.size() != order.size() ? "names a client twice" : "";
}

}  // namespace

void check_recorded_arrivals(const Experiment& run, const LoadedConfig& loaded) {
    const RunConfig& config = run.config;
    if (config.arrivals.empty()) return;
    const auto recorded = static_cast<std::int64_t>(run.recorded_arrivals.size());
    if (recorded < config.rounds)
        throw loaded.source->error(
            "arrivals", fmt::format("{} records {} rounds, but the run has {}; use a log with at least that number of rounds",
                                    config.arrivals.string(), recorded, config.rounds));
    // A sampler that learns chooses clients only after the rounds before have been trained.
    if (sampler_spec(config.sampling.name).learns) return;
    OnTheirWay on_their_way(run);
    for (std::int64_t round = run.server.state.round; round < config.rounds; ++round) {
        on_their_way.send(round, 0);
        const std::string problem =
            problem_of(run.recorded_arrivals[static_cast<std::size_t>(round)], round, run.mode, on_their_way);
        if (!problem.empty())
            throw loaded.source->error("arrivals", fmt::format("{}: round {} {}; use the log of a run with the same config",
                                                               config.arrivals.string(), round + 1, problem));
        if (!run.mode.late_join) on_their_way.clear();
    }
}

}  // namespace fedhive::sim
