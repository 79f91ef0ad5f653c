#include "aggregation/math/inner_products.h"

#include "aggregation/math/dispatch.h"
#include "aggregation/math/sum_rows.h"

#include <algorithm>
#include <numeric>

namespace fedhive::aggregation {

double InnerProducts::dot_of(std::size_t i, std::span<const double> a) const {
    double sum = 0.0;
    for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * dot(i, k);
    return sum;
}

double InnerProducts::squared_of(std::span<const double> a) const {
    double sum = 0.0;
    for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * dot_of(k, a);
    return std::max(0.0, sum);
}

/// With Σ a = 1, u_i − Σ a_k u_k = d_i − Σ a_k d_k: what the vectors have in common does not enter.
std::vector<double> InnerProducts::squared_distances_to(std::span<const double> a) const {
    std::vector<double> with_sum(rows_, 0.0);  // ⟨d_i, Σ a_k d_k⟩
    double squared_sum = 0.0;
    for (std::size_t i = 0; i < rows_; ++i) {
        for (std::size_t k = 0; k < rows_; ++k) with_sum[i] += a[k] * differences(i, k);
        squared_sum += a[i] * with_sum[i];
    }
    std::vector<double> distances(rows_);
    for (std::size_t i = 0; i < rows_; ++i) distances[i] = std::max(0.0, differences(i, i) - 2.0 * with_sum[i] + squared_sum);
    return distances;
}

/// y_g − r is the mean of the u_k − r, since the shares of a mean sum to 1.
InnerProducts InnerProducts::of_means(const Groups& groups) const {
    InnerProducts means(groups.size(), 0);
    means.base_squared_ = base_squared_.value_or(with_base(base_));
    std::vector<double> with_rows(rows_);  // ⟨Σ_{i in g} d_i, d_j⟩
    std::size_t at = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        std::fill(with_rows.begin(), with_rows.end(), 0.0);
        for (const std::size_t i : groups[g])
            for (std::size_t j = 0; j < rows_; ++j) with_rows[j] += differences(i, j);
        for (std::size_t h = 0; h <= g; ++h, ++at) {
            for (const std::size_t j : groups[h]) means.values_[at] += with_rows[j];
            means.values_[at] /= static_cast<double>(groups[g].size() * groups[h].size());
        }
    }
    for (const auto& group : groups) {
        for (const std::size_t i : group) means.values_[at] += with_base(i);
        means.values_[at++] /= static_cast<double>(group.size());
    }
    return means;
}

InnerProducts InnerProducts::first_rows(std::size_t rows) const {
    InnerProducts first(rows, 0);
    first.base_squared_ = base_squared_.value_or(with_base(base_));
    const auto pairs = static_cast<std::ptrdiff_t>(rows * (rows + 1) / 2);
    const auto last = std::copy(values_.begin(), values_.begin() + pairs, first.values_.begin());
    for (std::size_t i = 0; i < rows; ++i) last[static_cast<std::ptrdiff_t>(i)] = with_base(i);
    return first;
}

/// u_row is their r, which is 0 as a difference.
InnerProducts InnerProducts::less_row(std::size_t row) const {
    InnerProducts apart(row, 0);
    apart.base_squared_ = 0.0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < row; ++i)
        for (std::size_t j = 0; j <= i; ++j)
            apart.values_[at++] = differences(i, j) - differences(i, row) - differences(j, row) + differences(row, row);
    return apart;
}

std::size_t base_row(std::span<const double> norms) {
    std::vector<std::size_t> order(norms.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return norms[a] < norms[b]; });
    return order.at((norms.size() - 1) / 2);
}

InnerProducts inner_products_of(std::span<const ConstParamSpan> rows, std::size_t base, std::span<const ConstParamSpan> kept) {
    InnerProducts products(rows.size(), base);
    std::vector<double> values(gram_values(rows.size()));
    for (const ConstParamSpan& row : rows) require_same(rows.front(), row, "inner products");
    const std::vector<ConstParamSpan> nothing(kept.empty() ? rows.size() : 0);
    SumRows sums;
    for (std::size_t first = 0; first < rows.front().size; first += kGramColumns) {
        const std::size_t count = std::min(kGramColumns, rows.front().size - first);
        gram(sums.columns(rows, kept.empty() ? nothing : kept, first, count), base, count, rows.front().space, values);
        products.add(values);
    }
    return products;
}

}  // namespace fedhive::aggregation
