#include "sim/strategies/local_rule.h"

#include <fmt/format.h>

namespace fedhive::sim {

using aggregation::MemoryOwner;
using aggregation::formulas::MethodFormulas;
using aggregation::formulas::MethodMemory;
using aggregation::formulas::Place;

// Each is in the file of its name.
LocalRuleSpec local_plain();
LocalRuleSpec local_prox();
LocalRuleSpec local_scaffold();
LocalRuleSpec local_dynamic();

void take_needs(LocalRuleSpec& rule, const MethodFormulas& formulas, const std::string& source) {
    rule.whole_gradient = formulas.has(Place::Gradient) || formulas.has(Place::After);
    rule.client_term = formulas.changes_visits();
    for (const MethodMemory& memory : formulas.memories) {
        if (!memory.is_declared()) continue;
        rule.memories.push_back(memory.spec(formulas.is_mixed(memory)));
        if (memory.owner == MemoryOwner::Visit && rule.sends_beside.empty())
            rule.sends_beside = fmt::format("memory {} ({})", memory.name, source);
    }
}

namespace {

/// A rule's memories are the same for all values of its keys.
LocalRuleSpec settled(LocalRuleSpec rule) {
    if (rule.formulas != nullptr) take_needs(rule, rule.formulas(completed({}, rule.keys)), rule.name);
    return rule;
}

}  // namespace

const std::vector<LocalRuleSpec>& local_rule_catalog() {
    static const std::vector<LocalRuleSpec> catalog = {local_plain(), settled(local_prox()), settled(local_scaffold()),
                                                       settled(local_dynamic())};
    return catalog;
}

const LocalRuleSpec& local_rule_spec(const std::string& name) { return entry_of(local_rule_catalog(), name, "local rule"); }

}  // namespace fedhive::sim
