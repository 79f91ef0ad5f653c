// Reads attention in a graph. torch.export writes it as two dozen operations, which together are one layer: linear layers to queries, keys and
// values, views into heads, scaled_dot_product_attention or its products and softmax, views back, and a linear layer.
#pragma once

#include "clients/models/graph_arranged.h"

namespace fedhive::clients {

class GraphCall;
class GraphValues;

/// The scores of positions for each other, or, after the softmax, the shares.
struct AttentionScores {
    Arranged queries, keys;  // in heads
    double times = 1.0;      // besides what queries and keys are multiplied by
    bool causal = false, shares = false;
    double dropout = 0.0;
};

/// Reads an operation of an attention. Returns false for another one. Attention between two sequences, with a mask that is not causal or with
/// another scale than 1 / sqrt(width), is refused or not read, and its operations are no layers.
bool read_attention(GraphValues& values, GraphCall& call);

}  // namespace fedhive::clients
