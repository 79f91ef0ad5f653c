// A client's examples in two: what it trains on, and what it keeps back for the evaluation on its own data.
#pragma once

#include "clients/data/partition.h"

#include <cstdint>

namespace fedhive::clients {

struct Split {
    Partition trained;
    Partition held_out;  // of the same clients; without a single index where nothing is held out

    /// Of both; where nothing is held out, that of `trained`.
    std::uint64_t fingerprint() const;
};

/// Holds out round(share * n) of each client's n examples, but at least one and at most n - 1; a client with a single one trains on it.
///
/// Order    which ones: by Stream(seed, Purpose::HoldOut, 0, client), whoever else there is. Those that stay, and those held out, keep the order
///          that they were dealt in.
/// Source   Caldas et al. 2018, LEAF (arXiv:1812.01097), "sample" splits: each client's own examples, at least one of them for testing.
/// Differs  LEAF rounds the number for testing up, and leaves out clients with a single example.
Split hold_out(Partition dealt, double share, std::uint64_t seed);

}  // namespace fedhive::clients
