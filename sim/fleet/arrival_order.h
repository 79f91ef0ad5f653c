// The order in which flights arrive (a flight: a slot whose clients were sent a model and have not reported yet, flight.h). On the virtual clock,
// simulated time decides: the order is known before training begins and does not depend on the machine. On the wall clock, the order in
// which trainings really finish decides; it can be recorded and replayed.
#pragma once

#include "sim/fleet/fleet_options.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace fedhive::sim {

/// One flight that has not arrived yet.
struct ExpectedArrival {
    std::size_t slot = 0;
    std::uint32_t client_id = 0;                // the flight's first client
    std::uint64_t version = 0;                  // version of the model that it started from
    double arrives_s = 0.0;                     // simulated time of its arrival
    std::optional<std::int64_t> finished_ns{};  // when it finished, by now_ns(); empty before that
};

using Expected = std::vector<ExpectedArrival>;

/// The progress of a round when it ranks arrivals.
struct Turn {
    std::int64_t round = 0;   // from 0
    std::size_t arrived = 0;  // flights that have arrived in it
};

class ArrivalOrder {
public:
    /// Waits until `quorum` of these flights have finished, and sets their finished_ns.
    using Wait = std::function<void(Expected& flights, std::size_t quorum)>;

    ArrivalOrder() = default;
    ArrivalOrder(const ArrivalOrder&) = delete;
    ArrivalOrder& operator=(const ArrivalOrder&) = delete;
    virtual ~ArrivalOrder() = default;

    /// Whether the order is known before training begins.
    virtual bool is_known() const = 0;
    /// The candidates that may be among the first `quorum`; the others need not train.
    virtual Expected contenders(Expected candidates, std::size_t quorum, const Turn& turn) const = 0;
    /// The `quorum` candidates that arrive first, in their order; all if there are fewer. If the order is not known, waits for them. Throws Fault
    /// if a recorded order belongs to another config.
    virtual Expected first(Expected candidates, std::size_t quorum, const Turn& turn, const Wait& wait) const = 0;
    /// Waits for the flights that first() returned without waiting.
    virtual void complete(Expected& arrivals, const Wait& wait) const = 0;
    /// Simulated seconds from sending to arrival; empty on the wall clock.
    virtual std::optional<double> trip_s(std::uint32_t client_id, std::uint64_t examples, const Traffic& traffic) const = 0;
    /// Advances simulated time to this arrival.
    virtual void advance(double& now_s, const ExpectedArrival& arrival) const = 0;
};

/// The order by simulated time if `options` has round_trip_s, the recorded order if it has recorded_arrivals, else that of the wall clock.
/// `options` must outlive the result.
std::unique_ptr<ArrivalOrder> make_arrival_order(const FleetOptions& options);

/// The next `quorum` flights of a recorded order, from its entry `begin` on. Throws Fault naming the client if one of them is
/// not in `expected`, or if the record ends before.
Expected next_recorded(const Expected& expected, const std::vector<std::uint32_t>& order, std::size_t begin,
                       std::size_t quorum);

/// The flights that may arrive next, as server step `version` + 1: after it, every other flight can still arrive with a
/// staleness of at most `max_staleness`. Not empty if `expected` is not empty and has obeyed the bound so far.
Expected allowed_next(Expected expected, std::uint64_t version, std::uint64_t max_staleness);

/// The `quorum` flights with the smallest key(flight), ties by client id; all if there are fewer.
template <class Key>
Expected first_by(Expected expected, std::size_t quorum, const Key& key) {
    const std::size_t count = std::min(expected.size(), quorum);
    std::partial_sort(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(count), expected.end(),
                      [&](const ExpectedArrival& a, const ExpectedArrival& b) {
                          return std::pair(key(a), a.client_id) < std::pair(key(b), b.client_id);
                      });
    expected.resize(count);
    return expected;
}

}  // namespace fedhive::sim
