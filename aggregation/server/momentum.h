// Server momentum, which FedAvgM and DP-FTRL share.
#pragma once

#include "aggregation/server/catalog.h"

namespace fedhive::aggregation {

/// velocity <- server_momentum * velocity + direction;  w <- w + server_lr * velocity. Without momentum, no velocity is kept.
formulas::MethodFormulas momentum_formulas(const Values& values);

}  // namespace fedhive::aggregation
