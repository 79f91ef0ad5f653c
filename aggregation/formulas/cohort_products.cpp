#include "aggregation/formulas/cohort_products.h"

#include "aggregation/base/error.h"
#include "aggregation/math/conflicts.h"
#include "aggregation/math/leading_direction.h"
#include "aggregation/math/shortest_combination.h"

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

double to_nearest(std::size_t k, std::size_t count, const Numbers& among, const InnerProducts& products) {
    Numbers distances;
    for (std::size_t j = 0; j < products.rows(); ++j)
        if (j != k && among[j] != 0.0) distances.push_back(products.squared_distance(k, j));
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

/// The similarity to k's most similar other update; of one with larger x, only x_k / x_j of it counts.
double to_closest(std::size_t k, const Numbers& x, const InnerProducts& products) {
    double most = 0.0;
    for (std::size_t j = 0; j < x.size(); ++j)
        if (j != k) most = std::max(most, products.cosine(k, j) * (x[j] > x[k] ? x[k] / x[j] : 1.0));
    return most;
}

}  // namespace

Numbers of_products(Opcode op, std::span<const Numbers* const> arguments, const InnerProducts* products) {
    FEDHIVE_CHECK(products != nullptr && products->rows() > 0, "no inner products");
    const std::size_t rows = products->rows();
    const auto of_updates = [&](std::size_t i) {
        const Numbers& given = *arguments[i];
        return given.size() == rows ? given : Numbers(rows, given.front());
    };
    const auto for_each = [&](const auto& compute) {
        Numbers result;
        for (std::size_t k = 0; k < rows; ++k) result.push_back(compute(k));
        return result;
    };
    if (op == Opcode::NearestK) {
        const double wanted = arguments[0]->front();
        const auto count = wanted > 0.0 ? static_cast<std::size_t>(std::min(wanted, static_cast<double>(rows))) : 0;
        const Numbers among = of_updates(1);
        return for_each([&](std::size_t k) { return to_nearest(k, count, among, *products); });
    }
    const Numbers x = of_updates(0);
    switch (op) {
        case Opcode::BipartitionK:
            return bipartition(x, *products);
        case Opcode::LeadingK:
            return along_leading_direction(*products, x);
        case Opcode::ClosestK:
            return for_each([&](std::size_t k) { return to_closest(k, x, *products); });
        case Opcode::ShortestK:
            return shortest_combination(*products, x, arguments[1]->front());
        case Opcode::WithoutConflictsK:
            return sum_without_conflicts(*products, x, of_updates(1));
        case Opcode::DistanceK: {
            const Numbers squared = squared_distances(x, *products);
            return for_each([&](std::size_t k) { return std::sqrt(squared[k]); });
        }
        default:
            break;
    }
    const double length = op == Opcode::CosK ? std::sqrt(products->squared_of(x)) : 1.0;
    return for_each([&](std::size_t k) {
        const double lengths = op == Opcode::CosK ? products->norm(k) * length : 1.0;
        return lengths > 0.0 ? products->dot_of(k, x) / lengths : 0.0;
    });
}

}  // namespace fedhive::aggregation::formulas
