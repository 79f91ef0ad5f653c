#include "aggregation/formulas/functions.h"

#include <algorithm>
#include <array>

namespace fedhive::aggregation::formulas {

namespace {

constexpr std::array kFunctions = {
    Function{"minimum", Opcode::Minimum, 2},
    Function{"maximum", Opcode::Maximum, 2},
    Function{"sqrt", Opcode::Sqrt, 1},
    Function{"abs", Opcode::Abs, 1},
    Function{"sign", Opcode::Sign, 1},
    Function{"exp", Opcode::Exp, 1},
    Function{"log", Opcode::Log, 1},
    Function{"tanh", Opcode::Tanh, 1},
    Function{"sigmoid", Opcode::Sigmoid, 1},
    Function{"relu", Opcode::Relu, 1},
    Function{"floor", Opcode::Floor, 1},
    Function{"where", Opcode::Where, 3},
    Function{"sum", Opcode::Sum, 1},
    Function{"mean", Opcode::Mean, 1},
    Function{"dot", Opcode::Dot, 2},
    Function{"threshold", Opcode::Threshold, 2},
    Function{"sum_k", Opcode::SumK, 1},
    Function{"mean_k", Opcode::MeanK, 1},
    Function{"max_k", Opcode::MaxK, 1},
    Function{"min_k", Opcode::MinK, 1},
    Function{"median_k", Opcode::MedianK, 1},
    Function{"softmax_k", Opcode::SoftmaxK, 1},
    Function{"sort_k", Opcode::SortK, 1},
    Function{"rank_k", Opcode::RankK, 1},
    Function{"simplex_k", Opcode::SimplexK, 1},
    Function{"dot_k", Opcode::DotK, 1},
    Function{"cos_k", Opcode::CosK, 1},
    Function{"distance_k", Opcode::DistanceK, 1},
    Function{"nearest_k", Opcode::NearestK, 2, true},
    Function{"bipartition_k", Opcode::BipartitionK, 1},
    Function{"leading_k", Opcode::LeadingK, 1},
    Function{"closest_k", Opcode::ClosestK, 1},
    Function{"shortest_k", Opcode::ShortestK, 2},
    Function{"without_conflicts_k", Opcode::WithoutConflictsK, 2},
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
