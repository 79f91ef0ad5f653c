// ⟨u_i, u_j⟩ of the K vectors u_1, …, u_K of a round, computed from the values that gram() gives (gram.h): ⟨d_i, d_j⟩ of the differences
// d_i = u_i − r, and ⟨u_i, r⟩. r is one of the vectors, the base.
#pragma once

#include "aggregation/base/error.h"
#include "aggregation/math/gram.h"
#include "aggregation/math/groups.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace fedhive::aggregation {

/// The inner products and distances of K vectors, in f64. Computed by sums and products in a fixed order: same bits everywhere.
///
/// Error    relative error of |u_i − u_j|²: about 1e-6 for vectors that differ from r by about as much as from one another.
class InnerProducts {
public:
    InnerProducts() = default;
    /// All products 0, until add(). base: the index of r.
    InnerProducts(std::size_t rows, std::size_t base) : rows_(rows), base_(base), values_(gram_values(rows), 0.0) {}

    std::size_t rows() const { return rows_; }

    /// Adds the values of gram() for one range of columns; ranges come in the order of their columns. Throws ShapeError for another number of values.
    void add(std::span<const double> range) {
        FEDHIVE_CHECK_EQ(range.size(), values_.size());
        for (std::size_t i = 0; i < range.size(); ++i) values_[i] += range[i];
    }

    /// ⟨u_i, u_j⟩
    double dot(std::size_t i, std::size_t j) const {
        return differences(i, j) + with_base(i) + with_base(j) - base_squared_.value_or(with_base(base_));
    }
    /// |u_i|²
    double squared(std::size_t i) const { return std::max(0.0, dot(i, i)); }
    double norm(std::size_t i) const { return std::sqrt(squared(i)); }
    /// |u_i − u_j|²
    double squared_distance(std::size_t i, std::size_t j) const {
        return std::max(0.0, differences(i, i) + differences(j, j) - 2.0 * differences(i, j));
    }
    /// ⟨u_i, u_j⟩ / (|u_i| |u_j|); 0 where a vector is 0.
    double cosine(std::size_t i, std::size_t j) const {
        const double lengths = norm(i) * norm(j);
        return lengths > 0.0 ? dot(i, j) / lengths : 0.0;
    }

    /// |Σ_k a_k u_k|² and ⟨u_i, Σ_k a_k u_k⟩; a: [K].
    double squared_of(std::span<const double> a) const;
    double dot_of(std::size_t i, std::span<const double> a) const;
    /// |u_i − Σ_k a_k u_k|² of each row, for Σ_k a_k = 1.
    std::vector<double> squared_distances_to(std::span<const double> a) const;

    /// The inner products of the groups' means Σ u_k / n over the n updates k of a group. Computed from those of the u_k; reads no vector.
    InnerProducts of_means(const Groups& groups) const;

    /// The inner products of the first `rows` vectors.
    InnerProducts first_rows(std::size_t rows) const;
    /// The inner products of the differences u_i − u_row for i < row.
    InnerProducts less_row(std::size_t row) const;

private:
    double differences(std::size_t i, std::size_t j) const {
        const std::size_t row = std::max(i, j);
        return values_[row * (row + 1) / 2 + std::min(i, j)];
    }
    double with_base(std::size_t i) const { return values_[rows_ * (rows_ + 1) / 2 + i]; }

    std::size_t rows_ = 0;
    std::size_t base_ = 0;                  // the index of r
    std::optional<double> base_squared_{};  // |r|² if r is none of the vectors, as in of_means()
    std::vector<double> values_;
};

/// The index of the vector to take as r: that of median norm, the first if several have it. norms: [K].
std::size_t base_row(std::span<const double> norms);

/// The inner products of `rows` over all columns, computed in this process, one range of kGramColumns after the other.
///
/// Shapes   rows: K vectors u_k of one length, K ≥ 1, in one memory space. kept: empty, or K vectors h_k in host memory; then the
///          result has the inner products of the sums u_k + h_k (sum_rows.h). base: the index of r.
/// Throws   ShapeError.
InnerProducts inner_products_of(std::span<const ConstParamSpan> rows, std::size_t base,
                                std::span<const ConstParamSpan> kept = {});

}  // namespace fedhive::aggregation
