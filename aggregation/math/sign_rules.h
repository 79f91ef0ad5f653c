// Rules that count the signs of a column, that is, of one parameter's values in all updates.
#pragma once

#include "aggregation/math/aggregator.h"

#include <memory>

namespace fedhive::aggregation {

/// out[i] = sign(Σ_k sign(u_k[i])): 1, −1, or 0 where as many values are positive as negative.
///
/// Shapes   updates: K vectors of the model's P floats, one client a slot, finite; K ≥ 1.
/// Source   Bernstein et al. 2019 (arXiv:1810.05291), Algorithm 1, "majority vote".
/// Differs  clients send f32 updates; to send signs, use the upload step `sign`.
std::unique_ptr<Aggregator> make_sign_majority();

/// out[i] = ±mean_k u_k[i]: minus where |Σ_k sign(u_k[i])| < threshold.
///
/// Order    the mean has the bits of mean.h; with threshold 0, so has the result.
/// Source   Ozdayi et al. 2021 (arXiv:2007.03767), the robust learning rate.
std::unique_ptr<Aggregator> make_robust_rate(double threshold);

}  // namespace fedhive::aggregation
