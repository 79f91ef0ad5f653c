#include "clients/models/recurrent_forward.h"

#include "clients/exported/autocast.h"

#include <ATen/functorch/BatchedTensorImpl.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/gru.h>
#include <ATen/ops/lstm.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

namespace fedhive::clients {

namespace {

using Tensors = std::span<const at::Tensor>;
using States = std::vector<at::Tensor>;

/// W_ih x + b at each position, x [B, T, D], as T tensors [B, gates]. One product for all positions, then unbind(): the gradient of
/// a slice would have the size of the whole.
States products_of(const at::Tensor& of_input, const at::Tensor& bias, const at::Tensor& x) {
    return at::matmul(x.flatten(0, 1), of_input.t()).add(bias).view({x.size(0), x.size(1), -1}).unbind(1);
}

/// An LSTM in one direction from matrix products, step by step. tensors: W_ih, W_hh, b_ih, b_hh. inputs: products_of() in the order of
/// steps, with both biases. Returns the states, [B, hidden] each, in that order.
States lstm_states(Tensors tensors, const States& inputs) {
    States states;
    at::Tensor cell;
    for (const at::Tensor& input : inputs) {
        const States gates = (states.empty() ? input : input.add(at::matmul(states.back(), tensors[1].t()))).chunk(4, 1);
        const at::Tensor fresh = gates[0].sigmoid().mul(gates[2].tanh());
        cell = states.empty() ? fresh : gates[1].sigmoid().mul(cell).add(fresh);
        states.push_back(gates[3].sigmoid().mul(cell.tanh()));
    }
    return states;
}

/// The same of a GRU; inputs: with b_ih alone.
States gru_states(Tensors tensors, const States& inputs) {
    States states;
    for (const at::Tensor& input : inputs) {
        const States gates = input.chunk(3, 1);
        const States of_state =
            (states.empty() ? tensors[3].expand_as(input) : at::matmul(states.back(), tensors[1].t()).add(tensors[3]))
                .chunk(3, 1);
        const at::Tensor reset = gates[0].add(of_state[0]).sigmoid(), keep = gates[1].add(of_state[1]).sigmoid(),
                         fresh = gates[2].add(reset.mul(of_state[2])).tanh();
        const at::Tensor changed = states.empty() ? fresh.neg() : states.back().sub(fresh);
        states.push_back(fresh.add(keep.mul(changed)));
    }
    return states;
}

struct RecurrentForm {
    std::int64_t hidden = 1, layers = 1;
    bool all_positions = false, both_ways = false;
    double dropout = 0.0;  // between layers

    explicit RecurrentForm(const Values& arguments)
        : hidden(arguments.integer("hidden")),
          layers(arguments.integer("layers")),
          all_positions(arguments.flag("all_positions")),
          both_ways(arguments.flag("bidirectional")),
          dropout(arguments.number("dropout")) {}

    std::int64_t ways() const { return both_ways ? 2 : 1; }
};

/// The layer's output from the states of its last layer at all positions, [B, T, ways · hidden].
at::Tensor output_of(const RecurrentForm& terms, const at::Tensor& states) {
    if (terms.all_positions) return states;
    at::Tensor last = states.select(1, states.size(1) - 1);
    if (!terms.both_ways) return last;
    return at::cat({last.narrow(1, 0, terms.hidden), states.select(1, 0).narrow(1, terms.hidden, terms.hidden)}, 1);
}

/// The layers from matrix products. vmap has no batching rule for the fused kernels, and on a GPU this form is deterministic and can
/// be recorded into a graph.
at::Tensor from_products(const RecurrentForm& terms, bool is_lstm, Tensors parameters, const at::Tensor& x, bool training) {
    at::Tensor all = x;
    for (std::int64_t layer = 0; layer < terms.layers; ++layer) {
        States ways;
        for (std::int64_t way = 0; way < terms.ways(); ++way) {
            const Tensors own = parameters.subspan(static_cast<std::size_t>(4 * (layer * terms.ways() + way)), 4);
            States inputs = products_of(own[0], is_lstm ? own[2].add(own[3]) : own[2], all);
            if (way > 0) std::ranges::reverse(inputs);
            States states = is_lstm ? lstm_states(own, inputs) : gru_states(own, inputs);
            if (way > 0) std::ranges::reverse(states);
            ways.push_back(at::stack(states, 1));
        }
        all = terms.both_ways ? at::cat(ways, 2) : ways.front();
        if (terms.dropout > 0.0 && layer + 1 < terms.layers) all = at::dropout(all, terms.dropout, training);
    }
    return output_of(terms, all);
}

bool needs_products(Tensors parameters, const at::Tensor& x) {
    return x.is_cuda() || at::functorch::isBatchedTensor(parameters[0]);
}

at::Tensor zero_states(const RecurrentForm& terms, const at::Tensor& x) {
    return at::zeros({terms.layers * terms.ways(), x.size(0), terms.hidden}, x.options());
}

}  // namespace

Forward lstm_forward(const Values& arguments, const Shape&) {
    return [terms = RecurrentForm(arguments)](Tensors parameters, const at::Tensor& x, bool training) {
        if (needs_products(parameters, x) || exported::lacks_fused_lstm())
            return from_products(terms, true, parameters, x, training);
        const at::Tensor zeros = zero_states(terms, x);
        return output_of(terms, std::get<0>(at::lstm(x, {zeros, zeros}, at::TensorList(parameters.data(), parameters.size()),
                                                     true, terms.layers, terms.dropout, training, terms.both_ways,
                                                     /*batch_first=*/true)));
    };
}

Forward gru_forward(const Values& arguments, const Shape&) {
    return [terms = RecurrentForm(arguments)](Tensors parameters, const at::Tensor& x, bool training) {
        if (needs_products(parameters, x)) return from_products(terms, false, parameters, x, training);
        return output_of(
            terms, std::get<0>(at::gru(x, zero_states(terms, x), at::TensorList(parameters.data(), parameters.size()), true,
                                       terms.layers, terms.dropout, training, terms.both_ways, /*batch_first=*/true)));
    };
}

}  // namespace fedhive::clients
