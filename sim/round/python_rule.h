// A user's rule in Python as an aggregator. The coordinator starts one process for it, which maps the memory of the updates.
//
//   coordinator                                     python3 -m fedhive.rule FILE --serve
//     (first)    {"do": "begin", source, keys} ─▶   runs the file
//     weigh()    notes who sent the updates
//     finish()   {"do": "aggregate", rows, …}  ─▶   aggregate(updates, clients, state)
//                {} or {"error": …}            ◀─   result written to a segment of [P]
//     state()    {"do": "state"}               ─▶   what a checkpoint keeps
#pragma once

#include "aggregation/memory/arena.h"
#include "aggregation/memory/layout.h"
#include "sim/strategies/python_code.h"
#include "sim/strategies/strategy.h"

namespace fedhive::sim {

/// Longest time that a rule may take for a round.
inline constexpr double kLongestRule = 600.0;

/// Replaces the strategy's aggregator and weight rule by the file's function. Its process starts with the first round.
///
/// Shapes   updates: K × [P] of the layout `slot`, one client a slot, in host memory. The aggregate is what the function returns,
///          [P], with 0 in the padding.
/// Memory   [P] that both processes map; updates outside of `arena`, as those of other ranks, are copied to K · [P] more.
/// Bits     the function's own; each rank calls it with all updates.
/// Throws   ConfigError for a GPU, for what the function raises and for what it returns that is no finite [P]; Fault if its process
///          ends or takes longer than kLongestRule.
/// keys: complete.
void take_rule(Strategy& strategy, const RuleFile& file, const Values& keys, const aggregation::Arena& arena,
               const aggregation::Layout& slot);

}  // namespace fedhive::sim
