// Who arrives next. On the virtual clock the order is that of simulated time, known before anybody trains, so that it depends on no
// machine; on the wall clock it is the order in which they really finish, which can be recorded and followed again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fedhive::sim {

/// One flight that is on its way.
struct ExpectedArrival {
    std::size_t slot = 0;
    std::uint32_t client_id = 0;  // its first client
    std::uint64_t version = 0;    // of the model it started from
    double arrives_s = 0.0;
};

/// The `quorum` flights that arrive first by simulated time, ties by client id; all where there are fewer.
std::vector<ExpectedArrival> first_by_time(std::vector<ExpectedArrival> expected, std::size_t quorum);

/// The next `quorum` flights of a recorded order, from entry `begin` on. Throws Fault naming the client where one of them is not on
/// its way, or the record ends before.
std::vector<ExpectedArrival> next_recorded(const std::vector<ExpectedArrival>& expected,
                                           const std::vector<std::uint32_t>& order, std::size_t begin, std::size_t quorum);

/// Those whose arrival next, as server step `version` + 1, lets everybody else still arrive with at most `max_staleness` server steps
/// since its start. Never empty where `expected` is not and obeyed the bound so far.
std::vector<ExpectedArrival> allowed_next(std::vector<ExpectedArrival> expected, std::uint64_t version,
                                          std::uint64_t max_staleness);

}  // namespace fedhive::sim
