// A local rule: what clients minimise besides their loss, and what they and the server remember for it. Each rule is one file of
// local_rules/, with the formulas of its paper's box as text (aggregation/formulas/method_formulas.h). To add one: write the file, add
// its line to catalog.cpp.
#pragma once

#include "aggregation/base/keys.h"
#include "aggregation/formulas/method_formulas.h"
#include "aggregation/memory/memories.h"

#include <algorithm>
#include <string>
#include <vector>

namespace fedhive::sim {

struct LocalRuleSpec {
    std::string name;
    std::string summary;        // what it does, and its source: half a line
    std::vector<KeySpec> keys;  // flat in the `strategy:` section
    /// Memories, and formulas of a client's visit and of the server. The server's set its memories and, unless it is u, `direction`,
    /// along which the server optimiser steps. Null: no formulas. `values` must have all keys.
    aggregation::formulas::MethodFormulas (*formulas)(const Values& values) = nullptr;
    /// Why clients and server need the same update, with its source; empty: a chain may change the update that is sent.
    std::string goes_by_one_update{};
    /// A description of what clients send beside their updates, with its source; empty: nothing.
    std::string sends_beside{};
    /// True if the clients' state follows from their steps by plain SGD; null: it never does.
    bool (*state_of_steps)(const Values& values) = nullptr;
    // Its needs of a worker and of a mode (modes_of, sim/modes/mode_spec.h). take_needs() derives them from the formulas.
    bool whole_gradient = false;  // adds its term to the gradient in one piece, for which a worker keeps a vector
    bool client_term = false;     // clients minimise more than their loss, so they must take local steps
    std::vector<aggregation::MemorySpec> memories{};  // what it sends beside the model, and what clients keep

    /// Clients have state, which changes when their update is accepted.
    bool client_state() const {
        return std::any_of(memories.begin(), memories.end(), [](const aggregation::MemorySpec& memory) {
            return memory.owner == aggregation::MemoryOwner::Client;
        });
    }
};

/// Derives the rule's memories, and its needs of a worker and of a mode, from the formulas. source: theirs, for messages about what
/// clients send.
void take_needs(LocalRuleSpec& rule, const aggregation::formulas::MethodFormulas& formulas, const std::string& source);

/// All local rules, in the order of REFERENCE.md.
const std::vector<LocalRuleSpec>& local_rule_catalog();

/// The name must exist.
const LocalRuleSpec& local_rule_spec(const std::string& name);

}  // namespace fedhive::sim
