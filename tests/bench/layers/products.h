// Multiply-adds of a layer's products in a local step, one by one: those with weights, and attention's of queries, keys and values.
#pragma once

#include "clients/models/model_plan.h"

#include <string_view>

namespace fedhive::bench {

/// Of one example, in each pass.
struct Products {
    double forward = 0.0, data_gradient = 0.0, weight_gradient = 0.0;

    void add(const Products& other) {
        forward += other.forward;
        data_gradient += other.data_gradient;
        weight_gradient += other.weight_gradient;
    }
};

/// Whether the gradient of this weight's factor is that of the layer's input; else of a value in the layer.
inline bool takes_input(const clients::PlannedLayer& layer, std::string_view weight) {
    using enum clients::LayerKind;
    if (layer.kind == Attention) return !weight.starts_with("out_proj") && weight != "in_proj.B";
    if (layer.kind == Lstm || layer.kind == Gru) return weight.starts_with("weight_ih_l0");
    return weight != "B";
}

/// input_gradient: whether the layer passes a gradient on.
inline Products products_of(const clients::PlannedLayer& layer, bool input_gradient) {
    using enum clients::LayerKind;
    const bool recurrent = layer.kind == Lstm || layer.kind == Gru;
    if (layer.kind != Linear && layer.kind != Conv2d && layer.kind != Attention && !recurrent) return {};
    const auto positions = layer.in.size() == 2 ? static_cast<double>(layer.in[0]) : 1.0;
    const double times = layer.kind == Conv2d ? static_cast<double>(layer.fit.out[1] * layer.fit.out[2]) : positions;
    Products sum;
    for (const clients::Parameter& weight : layer.fit.parameters) {
        if (weight.shape.size() < 2) continue;
        // The first state of a recurrent layer is 0.
        const bool of_state = recurrent && weight.name.starts_with("weight_hh");
        const double products = clients::num_values(weight.shape) * (of_state ? positions - 1.0 : times);
        sum.forward += products;
        if (input_gradient || !takes_input(layer, weight.name)) sum.data_gradient += products;
        if (!weight.frozen) sum.weight_gradient += products;
    }
    if (layer.kind == Attention) {
        const double square = positions * positions * static_cast<double>(layer.in[1]);  // of all heads
        sum.forward += 2.0 * square;                                                     // scores, weighted values
        sum.data_gradient += 4.0 * square;                                               // of shares, values, queries and keys
    }
    return sum;
}

}  // namespace fedhive::bench
