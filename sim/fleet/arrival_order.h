// Which flights arrive next. On the virtual clock, simulated time decides: the order is known before anybody trains and does
// not depend on the machine. On the wall clock, the order of real finishing decides; it can be recorded and replayed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fedhive::sim {

/// One flight that has not arrived yet.
struct ExpectedArrival {
    std::size_t slot = 0;
    std::uint32_t client_id = 0;  // the flight's first client
    std::uint64_t version = 0;    // of the model it started from
    double arrives_s = 0.0;
};

/// The `quorum` flights that arrive first by simulated time, ties by client id; all if there are fewer.
std::vector<ExpectedArrival> first_by_time(std::vector<ExpectedArrival> expected, std::size_t quorum);

/// The next `quorum` flights of a recorded order, from its entry `begin` on. Throws Fault naming the client if one of them is
/// not in `expected`, or if the record ends before.
std::vector<ExpectedArrival> next_recorded(const std::vector<ExpectedArrival>& expected,
                                           const std::vector<std::uint32_t>& order, std::size_t begin, std::size_t quorum);

/// The flights that may arrive next, as server step `version` + 1: after it, every other flight can still arrive with a
/// staleness of at most `max_staleness`. Not empty if `expected` is not empty and has obeyed the bound so far.
std::vector<ExpectedArrival> allowed_next(std::vector<ExpectedArrival> expected, std::uint64_t version,
                                          std::uint64_t max_staleness);

}  // namespace fedhive::sim
