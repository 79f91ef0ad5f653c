// Finds nn.MultiheadAttention in a graph: torch.export writes it as two dozen operations, which together are one layer.
#pragma once

#include "clients/exported/program.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace fedhive::clients {

/// Self-attention of a sequence [B, positions, features], batch first.
struct FoundAttention {
    const exported::Node* node = nullptr;  // the operation that messages name
    const exported::Node* last = nullptr;  // the operation that computes the result
    std::string from;                      // the sequence's value
    std::int64_t positions = 0, features = 0, heads = 0;
    bool causal = false;
    double dropout = 0.0;
    std::map<std::string, std::string> called;  // its tensors, by the layer's names for them
    std::set<const exported::Node*> nodes;      // all its operations; only the result of `last` is used elsewhere
};

/// All self-attentions of a program, in the graph's order. Attention between two sequences, or with a mask that is not causal, is not found,
/// and its operations are no layers.
std::vector<FoundAttention> find_attentions(const exported::Program& program);

}  // namespace fedhive::clients
