// Splits each client's examples into those that it trains on and those held out to evaluate models on its own data. The result also has
// the server's own examples, which no client has (root_examples.h).
#pragma once

#include "clients/data/partition.h"

#include <cstdint>
#include <vector>

namespace fedhive::clients {

struct Split {
    Partition trained;
    Partition held_out;                 // for the same clients; no indices at all if nothing is held out
    std::vector<std::uint32_t> root{};  // the server's examples, ascending

    /// Hash of all parts; equals trained.fingerprint() if nothing is held out and there are no root examples.
    std::uint64_t fingerprint() const;
};

/// Holds out round(share * n) of each client's n examples, at least 1 and at most n - 1; none if n is 1.
///
/// Order    drawn by Stream(seed, Purpose::HoldOut, 0, client), independent of other clients. Both parts keep the order in
///          which the examples were dealt.
/// Source   Caldas et al. 2018, LEAF (arXiv:1812.01097), "sample" splits: each client's own examples, at least one for testing.
/// Differs  LEAF rounds the number for testing up, and leaves out clients with a single example.
Split hold_out(Partition dealt, double share, std::uint64_t seed);

}  // namespace fedhive::clients
