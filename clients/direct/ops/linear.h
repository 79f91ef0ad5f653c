// The operation of a linear layer, which is also that of a sum of one and of two without bias (residual.cpp).
#pragma once

#include "clients/direct/ops/low_rank.h"

namespace fedhive::clients::direct {

std::unique_ptr<Op> make_linear(const Planner& planner, const PlannedLayer& layer, bool relu, std::optional<LowRank> factors);

}  // namespace fedhive::clients::direct
