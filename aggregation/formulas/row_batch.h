// Functions over all examples of a batch, for formulas of a loss (row_loss.h), and their gradients. Of n examples x_s with d columns:
//
//   batch_mean     y = 1/n Σ_s x_s, the same for each example        dL/dx_s = 1/n Σ_r dL/dy_r
//   batch_square   q_r = 1/n Σ_s p_rs²,  p_rs = ⟨x_r, x_s⟩ / d        dL/dx_r = 2/(n d) Σ_s p_rs (dL/dq_r + dL/dq_s) x_s
//
//   Order    f64 by ascending example or column, rounded to f32 once: the same bits on every processor.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace fedhive::aggregation::formulas {

/// One value of each example, stored for 16 examples side by side: column c of example r is first[r / 16 * stride + c * 16 + r % 16].
struct BatchLanes {
    float* first = nullptr;
    std::size_t stride = 0;  // floats from one group of 16 examples to the next
    std::size_t columns = 1;
    std::size_t examples = 0;
};

/// mean = batch_mean(x). The lanes after the last example get the mean, too.
void batch_mean(const BatchLanes& x, const BatchLanes& mean);
/// to += dL/dx, with `gradient` = dL/dy of batch_mean.
void add_back_of_batch_mean(const BatchLanes& gradient, const BatchLanes& to);

/// square = batch_square(x); products becomes p, [n][n]. The lanes after the last example get 0. Cost: n² d.
void batch_square(const BatchLanes& x, const BatchLanes& square, std::vector<double>& products);
/// to += dL/dx, with `gradient` = dL/dq of batch_square and its `products`. Cost: n² d.
void add_back_of_batch_square(const BatchLanes& x, const BatchLanes& gradient, std::span<const double> products,
                              const BatchLanes& to);

}  // namespace fedhive::aggregation::formulas
