#include "aggregation/formulas/numbers.h"

#include "aggregation/base/error.h"
#include "aggregation/formulas/elements.h"
#include "aggregation/math/simplex.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fedhive::aggregation::formulas {

namespace {

double of_three(const Node& node, double a, double b, double c) {
    if (is_of_two(node.op)) return of_two(node.op, a, b);
    if (is_of_one(node.op)) return of_one(node.op, a);
    if (node.op == Opcode::Where) return a != 0.0 ? b : c;
    if (node.op == Opcode::Power) return power(a, b);
    if (node.op == Opcode::LogSigmoid) return std::min(a, 0.0) - logarithm(1.0 + exponential(-std::fabs(a)));
    FEDHIVE_CHECK(node.op == Opcode::Remainder, "operation {} of numbers", index_of(node.op));
    return std::fmod(a, b);
}

/// The places of the values, the smallest first.
std::vector<std::size_t> ascending(const Numbers& values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    return order;
}

Numbers softmax(const Numbers& values) {
    const double largest = *std::max_element(values.begin(), values.end());
    Numbers result;
    for (const double value : values) result.push_back(exponential(value - largest));
    const double sum = std::accumulate(result.begin(), result.end(), 0.0);
    for (double& value : result) value /= sum;
    return result;
}

Numbers of_cohort(Opcode op, const Numbers& values) {
    FEDHIVE_CHECK(!values.empty(), "a cohort without updates");
    const auto count = static_cast<double>(values.size());
    switch (op) {
        case Opcode::SumK:
            return {std::accumulate(values.begin(), values.end(), 0.0)};
        case Opcode::MeanK:
            return {std::accumulate(values.begin(), values.end(), 0.0) / count};
        case Opcode::MaxK:
            return {*std::max_element(values.begin(), values.end())};
        case Opcode::MinK:
            return {*std::min_element(values.begin(), values.end())};
        case Opcode::SoftmaxK:
            return softmax(values);
        case Opcode::SimplexK:
            return onto_simplex(values);
        default:
            break;
    }
    const std::vector<std::size_t> order = ascending(values);
    if (op == Opcode::MedianK) return {(values[order[(order.size() - 1) / 2]] + values[order[order.size() / 2]]) / 2.0};
    Numbers result(values.size());
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
        if (op == Opcode::SortK)
            result[rank] = values[order[rank]];
        else
            result[order[rank]] = static_cast<double>(rank);
    }
    return result;
}

}  // namespace

double power(double x, double y) {
    if (y == 0.5) return std::sqrt(x);
    if (y != std::floor(y) || std::fabs(y) > 64.0) return exponential(y * logarithm(x));
    double product = 1.0;
    for (int left = static_cast<int>(std::fabs(y)); left > 0; --left) product *= x;
    return y < 0.0 ? 1.0 / product : product;
}

Numbers evaluate(const Node& node, std::span<const Numbers* const> arguments) {
    if (is_of_cohort(node.op)) return of_cohort(node.op, *arguments[0]);
    std::size_t count = 1;
    for (const Numbers* argument : arguments) count = std::max(count, argument->size());
    Numbers result(count);
    for (std::size_t k = 0; k < count; ++k) {
        std::array<double, 3> values{};
        for (std::size_t i = 0; i < arguments.size(); ++i)
            values[i] = arguments[i]->size() == 1 ? arguments[i]->front() : arguments[i]->at(k);
        result[k] = of_three(node, values[0], values[1], values[2]);
    }
    return result;
}

}  // namespace fedhive::aggregation::formulas
