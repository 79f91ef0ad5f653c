#include "sim/fleet/arrival_order.h"

#include "aggregation/base/error.h"

#include <limits>
#include <unordered_map>

namespace fedhive::sim {

namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// An order that is settled before anybody trains: rank() says it.
class KnownOrder : public ArrivalOrder {
public:
    bool is_known() const final { return true; }
    Expected contenders(Expected candidates, std::size_t quorum, const Turn& turn) const final {
        return rank(std::move(candidates), quorum, turn);
    }
    Expected first(Expected candidates, std::size_t quorum, const Turn& turn, const Wait&) const final {
        return rank(std::move(candidates), quorum, turn);
    }
    void complete(Expected& arrivals, const Wait& wait) const final { wait(arrivals, arrivals.size()); }

protected:
    virtual Expected rank(Expected candidates, std::size_t quorum, const Turn& turn) const = 0;
};

class SimulatedOrder final : public KnownOrder {
public:
    explicit SimulatedOrder(const FleetOptions& options) : options_(options) {}

    std::optional<double> trip_s(std::uint32_t client_id, std::uint64_t examples, const Traffic& traffic) const override {
        return options_.round_trip_s(client_id, examples, traffic);
    }
    void advance(double& now_s, const ExpectedArrival& arrival) const override { now_s = std::max(now_s, arrival.arrives_s); }

private:
    Expected rank(Expected candidates, std::size_t quorum, const Turn&) const override {
        return first_by(std::move(candidates), quorum, [](const ExpectedArrival& one) { return one.arrives_s; });
    }

    const FleetOptions& options_;
};

class RecordedOrder final : public KnownOrder {
public:
    explicit RecordedOrder(const FleetOptions& options) : rounds_(options.recorded_arrivals) {}

    std::optional<double> trip_s(std::uint32_t, std::uint64_t, const Traffic&) const override { return std::nullopt; }
    void advance(double&, const ExpectedArrival&) const override {}

private:
    Expected rank(Expected candidates, std::size_t quorum, const Turn& turn) const override {
        const auto round = static_cast<std::size_t>(turn.round);
        const std::vector<std::uint32_t> none;
        return next_recorded(candidates, round < rounds_.size() ? rounds_[round] : none, turn.arrived, quorum);
    }

    const std::vector<std::vector<std::uint32_t>>& rounds_;
};

class WallOrder final : public ArrivalOrder {
public:
    bool is_known() const override { return false; }
    Expected contenders(Expected candidates, std::size_t, const Turn&) const override { return candidates; }
    Expected first(Expected candidates, std::size_t quorum, const Turn&, const Wait& wait) const override {
        wait(candidates, quorum);
        return first_by(std::move(candidates), quorum,
                        [](const ExpectedArrival& one) { return one.finished_ns.value_or(kNever); });
    }
    void complete(Expected&, const Wait&) const override {}
    std::optional<double> trip_s(std::uint32_t, std::uint64_t, const Traffic&) const override { return std::nullopt; }
    void advance(double&, const ExpectedArrival&) const override {}
};

}  // namespace

std::unique_ptr<ArrivalOrder> make_arrival_order(const FleetOptions& options) {
    if (options.round_trip_s) return std::make_unique<SimulatedOrder>(options);
    if (!options.recorded_arrivals.empty()) return std::make_unique<RecordedOrder>(options);
    return std::make_unique<WallOrder>();
}

Expected next_recorded(const Expected& expected, const std::vector<std::uint32_t>& order, std::size_t begin,
                       std::size_t quorum) {
    std::unordered_map<std::uint32_t, std::size_t> of_client;
    for (std::size_t i = 0; i < expected.size(); ++i) of_client.emplace(expected[i].client_id, i);
    Expected next;
    for (std::size_t i = begin; i < begin + quorum; ++i) {
        if (i >= order.size())
            throw Fault(fmt::format(
                "the recorded arrivals have only {} in this round, but the run needs more; they belong to another config",
                order.size()));
        const auto found = of_client.find(order[i]);
        if (found == of_client.end())
            throw Fault(fmt::format(
                "the recorded arrivals name client {}, which is not training now; they belong to another config", order[i]));
        next.push_back(expected[found->second]);
    }
    return next;
}

Expected allowed_next(Expected expected, std::uint64_t version, std::uint64_t max_staleness) {
    std::sort(expected.begin(), expected.end(),
              [](const ExpectedArrival& a, const ExpectedArrival& b) { return a.version < b.version; });
    // If all arrive oldest first, flight i (from 0) has staleness version + i - its version. A flight taken out of turn adds 1
    // to each older one, so it must stand before the first older one at the bound.
    std::size_t last = 0;
    while (last + 1 < expected.size() && version + last - expected[last].version < max_staleness) ++last;
    while (last + 1 < expected.size() && expected[last + 1].version == expected[last].version) ++last;  // equally old
    expected.resize(std::min(expected.size(), last + 1));
    return expected;
}

}  // namespace fedhive::sim
