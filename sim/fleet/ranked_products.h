// Inner products over ranks: each rank takes a run of the ranges of gram.h, receives those columns of all updates, and sends its
// K × K products of each range to all. Added up in the order of columns, they have the bits of a single process.
#pragma once

#include "aggregation/math/aggregator.h"
#include "aggregation/math/inner_products.h"
#include "sim/ranks/ranks.h"
#include "sim/round/product_rows.h"

#include <cstdint>
#include <functional>
#include <span>

namespace fedhive::sim {

/// Shapes   updates: K × [R]; values only of this rank's own, everything else of all. rows_of.sums: none, or one for each update,
///          only of this rank's own.
/// Memory   this rank's ranges of the others' updates, and of its own too if they are on a device; its own where sums are added.
/// Process  all ranks call this with the same updates except for values. Throws as Ranks::exchange.
/// Cost     sends about 4 P K (R − 1) / R² bytes a rank, and K² / 2 doubles for each of its ranges.
aggregation::InnerProducts products_over_ranks(Ranks& ranks, std::span<const aggregation::Update> updates, std::size_t base,
                                               const std::function<std::uint32_t(const aggregation::Update&)>& owner,
                                               const Patience& patience, const ProductRows& rows_of);

}  // namespace fedhive::sim
