#include "aggregation/math/sorting_network.h"

#include <algorithm>

namespace fedhive::aggregation {

std::vector<Comparator> sorting_network(std::size_t rows, std::vector<bool> needed) {
    std::vector<Comparator> sorting;
    std::size_t top = 1;
    while (top * 2 < rows) top *= 2;
    for (std::size_t p = top; p > 0; p /= 2) {
        std::size_t q = top;
        std::size_t r = 0;
        for (std::size_t d = p; d > 0; d = q - p, q /= 2, r = p)
            for (std::size_t i = 0; i + d < rows; ++i)
                if ((i & p) == r) sorting.push_back({i, i + d});
    }
    std::vector<Comparator> network;
    std::reverse(sorting.begin(), sorting.end());
    for (const Comparator& step : sorting) {
        if (!needed[step.low] && !needed[step.high]) continue;
        needed[step.low] = needed[step.high] = true;
        network.push_back(step);
    }
    std::reverse(network.begin(), network.end());
    return network;
}

}  // namespace fedhive::aggregation
