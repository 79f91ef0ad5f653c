#include "aggregation/math/leading_direction.h"

#include "aggregation/base/error.h"

#include <algorithm>
#include <cmath>

namespace fedhive::aggregation {

namespace {

/// Row by row, C_ij = ⟨u_i − ū, u_j − ū⟩, from squared distances: C = −½ J D J with J = I − 1/n. rows: those of the u_i.
std::vector<double> centered_products(const InnerProducts& products, const std::vector<std::size_t>& rows) {
    const std::size_t n = rows.size();
    std::vector<double> distances(n * n), means(n, 0.0);
    double mean = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            distances[i * n + j] = products.squared_distance(rows[i], rows[j]);
            means[i] += distances[i * n + j] / static_cast<double>(n);
        }
        mean += means[i] / static_cast<double>(n);
    }
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) distances[i * n + j] = -0.5 * (distances[i * n + j] - means[i] - means[j] + mean);
    return distances;
}

double length_of(const std::vector<double>& vector) {
    double squared = 0.0;
    for (const double value : vector) squared += value * value;
    return std::sqrt(squared);
}

std::vector<double> scaled_to_one(std::vector<double> vector) {
    const double length = length_of(vector);
    for (double& value : vector) value /= length;
    return vector;
}

/// A start that no direction of interest is orthogonal to but by chance: i times the golden ratio, modulo 1, less ½.
std::vector<double> spread_start(std::size_t n) {
    std::vector<double> start(n);
    for (std::size_t i = 0; i < n; ++i) {
        const double turns = static_cast<double>(i + 1) * 0.6180339887498949;
        start[i] = turns - std::floor(turns) - 0.5;
    }
    return start;
}

}  // namespace

std::vector<double> along_leading_direction(const InnerProducts& products, std::span<const double> among) {
    FEDHIVE_CHECK(among.size() <= products.rows(), "{} of {} rows", among.size(), products.rows());
    std::vector<double> result(among.size(), 0.0);
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < among.size(); ++i)
        if (among[i] != 0.0) rows.push_back(i);
    if (rows.empty()) return result;
    const std::size_t n = rows.size();
    const std::vector<double> centered = centered_products(products, rows);
    std::size_t farthest = 0;
    for (std::size_t i = 1; i < n; ++i)
        if (centered[i * n + i] > centered[farthest * n + farthest]) farthest = i;
    if (!(centered[farthest * n + farthest] > 0.0)) return result;
    std::vector<double> vector = scaled_to_one(spread_start(n));
    for (int iteration = 0; iteration < 1000; ++iteration) {
        std::vector<double> next(n, 0.0);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j) next[i] += centered[i * n + j] * vector[j];
        if (length_of(next) == 0.0) break;
        next = scaled_to_one(std::move(next));
        double moved = 0.0;
        for (std::size_t i = 0; i < n; ++i) moved = std::max(moved, std::abs(next[i] - vector[i]));
        vector = std::move(next);
        if (moved < 1e-13) break;
    }
    for (std::size_t i = 0; i < n; ++i) result[rows[i]] = vector[farthest] < 0.0 ? -vector[i] : vector[i];
    return result;
}

}  // namespace fedhive::aggregation
