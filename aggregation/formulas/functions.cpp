#include "aggregation/formulas/functions.h"

#include <algorithm>
#include <array>

namespace fedhive::aggregation::formulas {

namespace {

constexpr std::array kFunctions = {
    Function{"minimum", Op::Minimum, 2},
    Function{"maximum", Op::Maximum, 2},
    Function{"sqrt", Op::Sqrt, 1},
    Function{"abs", Op::Abs, 1},
    Function{"sign", Op::Sign, 1},
    Function{"exp", Op::Exp, 1},
    Function{"log", Op::Log, 1},
    Function{"tanh", Op::Tanh, 1},
    Function{"sigmoid", Op::Sigmoid, 1},
    Function{"relu", Op::Relu, 1},
    Function{"floor", Op::Floor, 1},
    Function{"where", Op::Where, 3},
    Function{"sum", Op::Sum, 1},
    Function{"mean", Op::Mean, 1},
    Function{"dot", Op::Dot, 2},
    Function{"threshold", Op::Threshold, 2},
    Function{"sum_k", Op::SumK, 1},
    Function{"mean_k", Op::MeanK, 1},
    Function{"max_k", Op::MaxK, 1},
    Function{"min_k", Op::MinK, 1},
    Function{"median_k", Op::MedianK, 1},
    Function{"softmax_k", Op::SoftmaxK, 1},
    Function{"sort_k", Op::SortK, 1},
    Function{"rank_k", Op::RankK, 1},
    Function{"simplex_k", Op::SimplexK, 1},
    Function{"dot_k", Op::DotK, 1},
    Function{"cos_k", Op::CosK, 1},
    Function{"distance_k", Op::DistanceK, 1},
    Function{"nearest_k", Op::NearestK, 1},
    Function{"bipartition_k", Op::BipartitionK, 1},
};

}  // namespace

const Function* function_named(std::string_view name) {
    const auto* found =
        std::find_if(kFunctions.begin(), kFunctions.end(), [&](const Function& one) { return one.name == name; });
    return found == kFunctions.end() ? nullptr : found;
}

std::vector<std::string> function_names() {
    std::vector<std::string> names{"norm", "cos"};
    for (const Function& function : kFunctions) names.emplace_back(function.name);
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace fedhive::aggregation::formulas
