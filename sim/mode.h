// The synchronisation discipline as a value: how many clients are in flight, how many arrivals the barrier waits for.
#pragma once

#include "sim/config/config.h"

#include <cstddef>

namespace fedhive::sim {

struct Mode {
    std::size_t in_flight = 1;  // clients asked to train at a time
    std::size_t quorum = 1;     // arrivals that end the wait
};

/// synchronous: the whole cohort trains, the barrier waits for all of it (McMahan et al. 2017, arXiv:1602.05629).
Mode make_mode(const RunConfig& run);

}  // namespace fedhive::sim
