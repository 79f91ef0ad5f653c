// Control variates of SCAFFOLD's clients (S. P. Karimireddy et al. 2020, arXiv:1910.06378, Algorithm 1): see
// strategies/scaffold.cpp.
#include "sim/strategies/local_rule.h"

namespace fedhive::sim {

namespace {

using aggregation::MemoryOwner;
using aggregation::formulas::MethodFormulas;
using aggregation::formulas::Place;

MethodFormulas scaffold_formulas(const Values& values) {
    MethodFormulas box{.memories = {{.name = "c", .owner = MemoryOwner::Server, .down = true},
                                    {.name = "c_k", .owner = MemoryOwner::Client},
                                    {.name = "d", .owner = MemoryOwner::Visit, .up = true}},
                       .lines = {{Place::Gradient, {"g = g + c - c_k"}},
                                 {Place::End,
                                  {"let change = (w_t - w) / (steps * lr) - c",  //
                                   "d = change",                                 //
                                   "c_k = c_k + change"}},
                                 {Place::Server, {"c = c + received / clients * d"}}}};
    if (values.integer("option") == 1) box.lines[Place::End] = {"d = g_t - c_k", "c_k = g_t"};
    return box;
}

}  // namespace

LocalRuleSpec local_scaffold() {
    return {.name = "scaffold",
            .summary = "the loss, with gradients corrected by stored control variates of the clients (arXiv:1910.06378)",
            .keys = {{.name = "option",
                      .default_value = std::int64_t{2},
                      .range = between(1, 2),
                      .doc = "The control variate of a client, in the paper's numbering. 2: computed from its steps; needs "
                             "plain SGD. 1: the gradient over all its examples at the received model; needs one more pass over "
                             "them, but works with any optimiser. If it is left out: 2 for plain SGD, else 1."}},
            .formulas = scaffold_formulas,
            .sends_beside = "c_k+ - c_k (arXiv:1910.06378, Algorithm 1, line 13)",
            .state_of_steps = [](const Values& values) { return values.integer("option") == 2; }};
}

}  // namespace fedhive::sim
