// Inner products over R ranks (processes): each rank takes some consecutive ranges of columns (aggregation/math/gram.h), receives those columns of all
// updates, and sends its K × K products of each range to all. Added in the order of columns, they have the bits of a single process.
#pragma once

#include "aggregation/math/aggregator.h"
#include "aggregation/math/inner_products.h"
#include "sim/ranks/ranks.h"
#include "sim/round/product_rows.h"

#include <cstdint>
#include <functional>
#include <span>

namespace fedhive::sim {

/// Shapes   updates: K vectors of P floats. Only this rank's own have values; all have the other fields. rows_of.sums: empty, or one for each
///          update, with values for this rank's own.
/// Memory   this rank's ranges of the others' updates; also of its own updates if they are on a device or sums are added.
/// Process  all ranks call this with the same updates except for values. Throws as Ranks::exchange.
/// Cost     sends about 4 P K (R − 1) / R² bytes a rank, and K² / 2 doubles for each of its ranges.
aggregation::InnerProducts products_over_ranks(Ranks& ranks, std::span<const aggregation::Update> updates, std::size_t base,
                                               const std::function<std::uint32_t(const aggregation::Update&)>& owner,
                                               const Patience& patience, const ProductRows& rows_of);

}  // namespace fedhive::sim
