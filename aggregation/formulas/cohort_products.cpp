#include "aggregation/formulas/cohort_products.h"

#include "aggregation/base/error.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

namespace fedhive::aggregation::formulas {

namespace {

/// What all updates have in common cancels in f64, since products are made of differences (inner_products.h).
Numbers squared_distances(const Numbers& x, const InnerProducts& products) {
    Numbers dots;
    for (std::size_t k = 0; k < x.size(); ++k) dots.push_back(products.dot_of(k, x));
    const double squared = std::max(0.0, std::inner_product(x.begin(), x.end(), dots.begin(), 0.0));
    Numbers distances;
    for (std::size_t k = 0; k < x.size(); ++k)
        distances.push_back(std::max(0.0, products.squared(k) - 2.0 * dots[k] + squared));
    return distances;
}

double to_nearest(std::size_t k, std::size_t count, const InnerProducts& products) {
    Numbers distances;
    for (std::size_t j = 0; j < products.rows(); ++j)
        if (j != k) distances.push_back(products.squared_distance(k, j));
    std::sort(distances.begin(), distances.end());
    const auto end = distances.begin() + static_cast<std::ptrdiff_t>(std::min(count, distances.size()));
    return std::accumulate(distances.begin(), end, 0.0);
}

/// Joins the pair of parts with the largest cosine between members until two parts are left.
Numbers bipartition(const Numbers& among, const InnerProducts& products) {
    struct Pair {
        double cosine;
        std::size_t one, other;
    };
    std::vector<std::size_t> members;
    for (std::size_t k = 0; k < among.size(); ++k)
        if (among[k] != 0.0) members.push_back(k);
    std::vector<Pair> pairs;
    for (std::size_t i = 0; i < members.size(); ++i)
        for (std::size_t j = i + 1; j < members.size(); ++j)
            pairs.push_back({products.cosine(members[i], members[j]), members[i], members[j]});
    std::ranges::stable_sort(pairs, std::greater<>(), &Pair::cosine);
    std::vector<std::size_t> part(among.size());
    std::iota(part.begin(), part.end(), std::size_t{0});
    std::size_t parts = members.size();
    for (const Pair& pair : pairs) {
        const std::size_t kept = part[pair.one], joined = part[pair.other];
        if (parts <= 2 || kept == joined) continue;
        std::ranges::replace(part, joined, kept);
        --parts;
    }
    Numbers result(among.size(), 0.0);
    for (const std::size_t k : members) result[k] = part[k] == part[members.front()] ? 0.0 : 1.0;
    return result;
}

}  // namespace

Numbers of_products(Opcode op, const Numbers& argument, const InnerProducts* products) {
    FEDHIVE_CHECK(products != nullptr && products->rows() > 0, "no inner products");
    const std::size_t rows = products->rows();
    Numbers result(rows);
    if (op == Opcode::NearestK) {
        const auto count =
            argument.front() > 0.0 ? static_cast<std::size_t>(std::min(argument.front(), static_cast<double>(rows))) : 0;
        for (std::size_t k = 0; k < rows; ++k) result[k] = to_nearest(k, count, *products);
        return result;
    }
    const Numbers x = argument.size() == rows ? argument : Numbers(rows, argument.front());
    if (op == Opcode::BipartitionK) return bipartition(x, *products);
    if (op == Opcode::DistanceK) {
        result = squared_distances(x, *products);
        for (double& value : result) value = std::sqrt(value);
        return result;
    }
    const double length = op == Opcode::CosK ? std::sqrt(products->squared_of(x)) : 1.0;
    for (std::size_t k = 0; k < rows; ++k) {
        const double lengths = op == Opcode::CosK ? products->norm(k) * length : 1.0;
        result[k] = lengths > 0.0 ? products->dot_of(k, x) / lengths : 0.0;
    }
    return result;
}

}  // namespace fedhive::aggregation::formulas
