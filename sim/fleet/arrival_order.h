// In which order flights arrive. On the virtual clock, simulated time decides: the order is known before anybody trains and does
// not depend on the machine. On the wall clock, the order of real finishing decides; it can be recorded and replayed.
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
    std::uint64_t version = 0;                  // of the model it started from
    double arrives_s = 0.0;                     // simulated
    std::optional<std::int64_t> finished_ns{};  // by now_ns(); empty before it has finished
};

using Expected = std::vector<ExpectedArrival>;

/// The progress of a round when it ranks arrivals.
struct Turn {
    std::int64_t round = 0;   // from 0
    std::size_t arrived = 0;  // flights that have arrived in it
};

class ArrivalOrder {
public:
    /// Waits until `quorum` of these flights have finished, and sets when each of them did.
    using Wait = std::function<void(Expected& flights, std::size_t quorum)>;

    ArrivalOrder() = default;
    ArrivalOrder(const ArrivalOrder&) = delete;
    ArrivalOrder& operator=(const ArrivalOrder&) = delete;
    virtual ~ArrivalOrder() = default;

    /// The order is settled before anybody trains.
    virtual bool is_known() const = 0;
    /// Those of the candidates that may be among the first `quorum`: others need not train.
    virtual Expected contenders(Expected candidates, std::size_t quorum, const Turn& turn) const = 0;
    /// The `quorum` candidates that arrive first, in their order; all if there are fewer. An order that is not known waits for
    /// them. Throws Fault if a recorded order belongs to another config.
    virtual Expected first(Expected candidates, std::size_t quorum, const Turn& turn, const Wait& wait) const = 0;
    /// Waits for those flights that first() has returned without waiting.
    virtual void complete(Expected& arrivals, const Wait& wait) const = 0;
    /// Simulated seconds from sending to arrival; empty where time is not simulated.
    virtual std::optional<double> trip_s(std::uint32_t client_id, std::uint64_t examples, const Traffic& traffic) const = 0;
    /// Advances simulated time to this arrival.
    virtual void advance(double& now_s, const ExpectedArrival& arrival) const = 0;
};

/// By simulated time if `options` has round_trip_s, as recorded if it has recorded_arrivals, else by the wall clock. `options`
/// must outlive it.
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
