// Means of the middle values of each column: coordinate-wise trimmed mean, and mean around the median.
#pragma once

#include "aggregation/math/aggregator.h"

#include <memory>

namespace fedhive::aggregation {

/// out[i] = mean of the values u_k[i] without the t smallest and the t largest, t = ⌊share · K⌋.
///
/// Shapes   updates: K vectors of the model's P floats, one client a slot, finite; K ≥ 1; share in [0, 0.5).
/// Order    the kept values are added in f32 by the tree of mean.h and divided in f64; with t = 0 the result has the bits of the mean with
///          equal weights. Of equal values, those earlier in the cohort count as smaller.
/// Source   Yin et al. 2018 (arXiv:1803.01498), Definition 2 and Algorithm 1, option II.
std::unique_ptr<Aggregator> make_trimmed_mean(double share);

/// out[i] = mean of the K − left_out values u_k[i] closest to their median; of two equally close, the smaller one is taken. With
/// left_out ≥ K, the closest value alone.
///
/// Shapes, order   as make_trimmed_mean().
/// Source   Xie et al. 2018 (arXiv:1802.10116), "mean around median"; El Mhamdi et al. 2018 (arXiv:1802.07927),
///          second stage of Bulyan.
std::unique_ptr<Aggregator> make_mean_around_median(double left_out);

}  // namespace fedhive::aggregation
