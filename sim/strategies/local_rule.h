// A local rule says what clients minimise besides their loss, and what they keep for it. Each lives in one file of local_rules/. To add one: write
// the file, add its line to catalog.cpp; what it asks of a local step is in clients/training.
#pragma once

#include "aggregation/base/keys.h"
#include "aggregation/memory/channels.h"

#include <algorithm>
#include <string>
#include <vector>

namespace fedhive::sim {

struct Strategy;

struct LocalRuleSpec {
    std::string name;
    std::string summary;          // what it does, and its source: half a line
    std::vector<KeySpec> keys;    // flat in the `strategy:` section
    bool whole_gradient = false;  // its term is added to a gradient in one piece, which a worker keeps for it
    // What it asks of a mode (modes_of, sim/modes/mode_spec.h).
    bool client_term = false;  // clients minimise more than their loss, so they have to take local steps of their own
    std::vector<aggregation::ChannelSpec> channels{};  // what travels for it, and what clients keep of that from round to round
    /// What clients keep follows from their steps by plain SGD; null: it never does.
    bool (*state_of_steps)(const Values& values) = nullptr;
    /// `values`: of all its keys.
    void (*apply)(Strategy& strategy, const Values& values) = nullptr;

    /// Clients keep something, which changes when their update is accepted.
    bool client_state() const {
        return std::any_of(channels.begin(), channels.end(), [](const aggregation::ChannelSpec& channel) {
            return channel.commit != aggregation::Commit::Nothing;
        });
    }
};

/// All local rules, in the order of REFERENCE.md.
const std::vector<LocalRuleSpec>& local_rule_catalog();

/// The name must exist.
const LocalRuleSpec& local_rule_spec(const std::string& name);

}  // namespace fedhive::sim
