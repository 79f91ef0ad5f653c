#include "aggregation/math/shortest_combination.h"

#include "aggregation/base/error.h"

#include <algorithm>
#include <cstddef>

namespace fedhive::aggregation {

std::vector<double> shortest_combination(const InnerProducts& products, std::span<const double> p, double spread) {
    const std::size_t count = p.size();
    FEDHIVE_CHECK_EQ(count, products.rows());
    const auto lowest = [&](std::size_t k) { return std::max(0.0, p[k] - spread); };
    const auto highest = [&](std::size_t k) { return p[k] + spread; };
    std::vector<double> lambda(p.begin(), p.end());
    std::vector<double> slopes(count, 0.0);
    for (std::size_t i = 0; i < count; ++i)
        for (std::size_t k = 0; k < count; ++k) slopes[i] += lambda[k] * products.cosine(i, k);
    for (std::size_t step = 0; step < 1000 * count; ++step) {
        std::size_t gains = count;
        std::size_t loses = count;
        for (std::size_t k = 0; k < count; ++k) {
            if (lambda[k] < highest(k) && (gains == count || slopes[k] < slopes[gains])) gains = k;
            if (lambda[k] > lowest(k) && (loses == count || slopes[k] > slopes[loses])) loses = k;
        }
        if (gains == count || loses == count || slopes[loses] - slopes[gains] < 1e-12) break;
        const double curve = 2.0 - 2.0 * products.cosine(gains, loses);
        const double room = std::min(highest(gains) - lambda[gains], lambda[loses] - lowest(loses));
        const double move = curve > 0.0 ? std::min(room, (slopes[loses] - slopes[gains]) / curve) : room;
        lambda[gains] = move == room ? std::min(highest(gains), lambda[gains] + move) : lambda[gains] + move;
        lambda[loses] = std::max(lowest(loses), lambda[loses] - move);
        for (std::size_t i = 0; i < count; ++i) slopes[i] += move * (products.cosine(i, gains) - products.cosine(i, loses));
        if (move == 0.0) break;  // less than a rounding
    }
    return lambda;
}

}  // namespace fedhive::aggregation
