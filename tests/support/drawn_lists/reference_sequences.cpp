// The reference's layers on sequences, [positions][features], and GELU.
#include "tests/support/drawn_lists/reference.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

namespace fedhive::testing {

namespace {

double normal_below(double v) { return 0.5 * std::erfc(-v / std::numbers::sqrt2); }
double normal_density(double v) { return std::exp(-0.5 * v * v) / std::sqrt(2.0 * std::numbers::pi); }

/// Numbers [which · size, (which + 1) · size).
std::vector<Tape::Number> part_of(const std::vector<Tape::Number>& x, std::size_t which, std::size_t size) {
    const auto at = x.begin() + static_cast<std::ptrdiff_t>(which * size);
    return {at, at + static_cast<std::ptrdiff_t>(size)};
}

/// Positions in reverse order.
std::vector<Tape::Number> reversed(const std::vector<Tape::Number>& x, std::size_t features) {
    std::vector<Tape::Number> y;
    for (std::size_t end = x.size(); end > 0; end -= features)
        y.insert(y.end(), x.begin() + static_cast<std::ptrdiff_t>(end - features),
                 x.begin() + static_cast<std::ptrdiff_t>(end));
    return y;
}

}  // namespace

Reference::Numbers Reference::project(const Numbers& x, std::size_t in, std::size_t out, std::size_t weight,
                                      std::optional<std::size_t> bias) {
    Numbers y;
    for (std::size_t row = 0; row < x.size(); row += in)
        for (std::size_t o = 0; o < out; ++o) {
            Product product(tape_, bias ? std::optional(*bias + o) : std::nullopt);
            for (std::size_t i = 0; i < in; ++i) product.add(x[row + i], weight + o * in + i);
            y.push_back(product.made());
        }
    return y;
}

Reference::Numbers Reference::with_low_rank(const Layer& layer, const std::string& prefix, const Numbers& x, std::size_t in,
                                            const Numbers& y) {
    const auto rank = static_cast<std::size_t>(layer.arguments.optional_integer("lora").value_or(0));
    if (rank == 0) return y;
    const std::int64_t alpha = layer.arguments.optional_integer("alpha").value_or(static_cast<std::int64_t>(rank));
    const Numbers inner = project(x, in, rank, place_of(layer, prefix + "A"), std::nullopt);
    const std::size_t out = y.size() / (x.size() / in);
    const Numbers beside = project(inner, rank, out, place_of(layer, prefix + "B"), std::nullopt);
    return sum(y, scaled(beside, static_cast<double>(alpha) / static_cast<double>(rank)));
}

Reference::Numbers Reference::scaled(const Numbers& x, double by) {
    Numbers y;
    for (const Number number : x) {
        y.push_back(tape_.add(by * tape_[number]));
        tape_.depends(number, by);
    }
    return y;
}

Reference::Numbers Reference::of_sequence(const Layer& layer, const Numbers& x) {
    const std::string& kind = layer.spec().name;
    if (kind == "attention") return attention(layer, x);
    if (kind == "lstm" || kind == "gru") return recurrent(layer, x);
    if (kind == "last_position") return {x.end() - layer.in[1], x.end()};
    if (kind == "mean") {
        const auto positions = static_cast<std::size_t>(layer.in[0]), features = static_cast<std::size_t>(layer.in[1]);
        Numbers sums = part_of(x, 0, features);
        for (std::size_t t = 1; t < positions; ++t) sums = sum(sums, part_of(x, t, features));
        return scaled(sums, 1.0 / static_cast<double>(positions));
    }
    if (kind == "gelu")
        return each(
            x, [](double v) { return v * normal_below(v); }, [](double v) { return normal_below(v) + v * normal_density(v); },
            [](double v) { return normal_below(v) + std::abs(v) * normal_density(v); });
    Numbers table;  // position
    for (std::size_t i = 0; i < x.size(); ++i) table.push_back(static_cast<Number>(weight_of(layer) + i));
    return sum(x, table);
}

Reference::Numbers Reference::product_of_each(const Numbers& a, const Numbers& b) {
    Numbers y;
    for (std::size_t i = 0; i < a.size(); ++i) {
        y.push_back(tape_.add(tape_[a[i]] * tape_[b[i]]));
        tape_.depends(a[i], tape_[b[i]]);
        tape_.depends(b[i], tape_[a[i]]);
    }
    return y;
}

Reference::Numbers Reference::recurrent(const Layer& layer, const Numbers& x) {
    const auto hidden = static_cast<std::size_t>(layer.arguments.integer("hidden")),
               positions = static_cast<std::size_t>(layer.in[0]);
    const std::size_t ways = layer.arguments.flag("bidirectional") ? 2 : 1;
    const auto through_one = [&](const std::string& end, std::size_t in, const Numbers& from) {
        return layer.spec().name == "lstm" ? lstm_layer(layer, end, in, from) : gru_layer(layer, end, in, from);
    };
    Numbers states = x;
    for (std::int64_t number = 0; number < layer.arguments.integer("layers"); ++number) {
        const std::size_t in = number == 0 ? static_cast<std::size_t>(layer.in[1]) : ways * hidden;
        const std::string end = "_l" + std::to_string(number);
        const Numbers there = through_one(end, in, states);
        const Numbers back = ways == 1 ? Numbers() : reversed(through_one(end + "_reverse", in, reversed(states, in)), hidden);
        states.clear();
        for (std::size_t t = 0; t < positions; ++t)
            for (std::size_t way = 0; way < ways; ++way) {
                const Numbers now = part_of(way == 0 ? there : back, t, hidden);
                states.insert(states.end(), now.begin(), now.end());
            }
        if (number + 1 < layer.arguments.integer("layers"))
            states = dropped(states, layer.arguments.number("dropout"), drops_ + static_cast<std::uint32_t>(number),
                             row_ * states.size());
    }
    if (layer.arguments.flag("all_positions")) return states;
    const auto width = static_cast<std::ptrdiff_t>(hidden);
    Numbers last(states.end() - static_cast<std::ptrdiff_t>(ways * hidden), states.end());
    if (ways == 2) std::copy_n(states.begin() + width, width, last.begin() + width);  // after the first position, its last
    return last;
}

Reference::Numbers Reference::of_state(const Layer& layer, const std::string& end, std::size_t rows, const Numbers& state) {
    const std::size_t bias = place_of(layer, "bias_hh" + end);
    if (!state.empty()) return project(state, state.size(), rows, place_of(layer, "weight_hh" + end), bias);
    Numbers biases;
    for (std::size_t i = 0; i < rows; ++i) biases.push_back(static_cast<Number>(bias + i));
    return biases;
}

Reference::Numbers Reference::sigmoid(const Numbers& x) {
    const auto slope = [](double v) { return 1.0 / (1.0 + std::exp(-v)) / (1.0 + std::exp(v)); };
    return each(
        x, [](double v) { return 1.0 / (1.0 + std::exp(-v)); }, slope, slope);
}

Reference::Numbers Reference::bounded(const Numbers& x) {
    const auto slope = [](double v) { return 1.0 - std::tanh(v) * std::tanh(v); };
    return each(
        x, [](double v) { return std::tanh(v); }, slope, slope);
}

Reference::Numbers Reference::difference(const Numbers& a, const Numbers& b) {
    Numbers y;
    for (std::size_t i = 0; i < a.size(); ++i) {
        y.push_back(tape_.add(tape_[a[i]] - tape_[b[i]]));
        tape_.depends(a[i], 1.0);
        tape_.depends(b[i], -1.0);
    }
    return y;
}

Reference::Numbers Reference::lstm_layer(const Layer& layer, const std::string& end, std::size_t in, const Numbers& x) {
    const auto hidden = static_cast<std::size_t>(layer.arguments.integer("hidden"));
    Numbers states, state, cell;
    for (std::size_t t = 0; t * in < x.size(); ++t) {
        const Numbers now = part_of(x, t, in);
        const Numbers gates =
            sum(project(now, in, 4 * hidden, place_of(layer, "weight_ih" + end), place_of(layer, "bias_ih" + end)),
                of_state(layer, end, 4 * hidden, state));
        const Numbers input = sigmoid(part_of(gates, 0, hidden)), forget = sigmoid(part_of(gates, 1, hidden)),
                      output = sigmoid(part_of(gates, 3, hidden));
        const Numbers fresh = product_of_each(input, bounded(part_of(gates, 2, hidden)));
        cell = t == 0 ? fresh : sum(product_of_each(forget, cell), fresh);
        state = product_of_each(output, bounded(cell));
        states.insert(states.end(), state.begin(), state.end());
    }
    return states;
}

Reference::Numbers Reference::gru_layer(const Layer& layer, const std::string& end, std::size_t in, const Numbers& x) {
    const auto hidden = static_cast<std::size_t>(layer.arguments.integer("hidden"));
    Numbers states, state;
    for (std::size_t t = 0; t * in < x.size(); ++t) {
        const Numbers of_input =
            project(part_of(x, t, in), in, 3 * hidden, place_of(layer, "weight_ih" + end), place_of(layer, "bias_ih" + end));
        const Numbers beside = of_state(layer, end, 3 * hidden, state);
        const auto gate = [&](std::size_t which) {
            return sigmoid(sum(part_of(of_input, which, hidden), part_of(beside, which, hidden)));
        };
        const Numbers reset = gate(0), keep = gate(1);
        const Numbers fresh = bounded(sum(part_of(of_input, 2, hidden), product_of_each(reset, part_of(beside, 2, hidden))));
        // (1 − z) n + z h
        const Numbers changed = difference(fresh, product_of_each(keep, fresh));
        state = t == 0 ? changed : sum(changed, product_of_each(keep, state));
        states.insert(states.end(), state.begin(), state.end());
    }
    return states;
}

Reference::Numbers Reference::softmax(const Numbers& scores) {
    double total = 0.0;
    for (const Number score : scores) total += std::exp(tape_[score] - tape_[scores.front()]);
    std::vector<double> shares;
    for (const Number score : scores) shares.push_back(std::exp(tape_[score] - tape_[scores.front()]) / total);
    Numbers y;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        y.push_back(tape_.add(shares[i]));
        for (std::size_t j = 0; j < scores.size(); ++j) {
            const double own = i == j ? 1.0 : 0.0;
            tape_.depends(scores[j], shares[i] * (own - shares[j]), shares[i] * (own + shares[j]));
        }
    }
    return y;
}

Reference::Numbers Reference::attention(const Layer& layer, const Numbers& x) {
    const auto positions = static_cast<std::size_t>(layer.in[0]), features = static_cast<std::size_t>(layer.in[1]);
    const auto heads = static_cast<std::size_t>(layer.arguments.integer("heads"));
    const std::size_t width = features / heads;
    const double scale = 1.0 / std::sqrt(static_cast<double>(width));
    const Numbers all =
        with_low_rank(layer, "in_proj.", x, features,
                      project(x, features, 3 * features, place_of(layer, "in_proj_weight"), place_of(layer, "in_proj_bias")));
    // which: 0: query, 1: key, 2: value
    const auto number = [&](std::size_t position, std::size_t which, std::size_t feature) {
        return all[position * 3 * features + which * features + feature];
    };
    Numbers seen(x.size());
    for (std::size_t head = 0; head < heads; ++head)
        for (std::size_t t = 0; t < positions; ++t) {
            Numbers scores;
            for (std::size_t s = 0; s < (layer.arguments.flag("causal") ? t + 1 : positions); ++s) {
                double score = 0.0;
                for (std::size_t i = head * width; i < (head + 1) * width; ++i)
                    score += scale * tape_[number(t, 0, i)] * tape_[number(s, 1, i)];
                scores.push_back(tape_.add(score));
                for (std::size_t i = head * width; i < (head + 1) * width; ++i) {
                    tape_.depends(number(t, 0, i), scale * tape_[number(s, 1, i)]);
                    tape_.depends(number(s, 1, i), scale * tape_[number(t, 0, i)]);
                }
            }
            const Numbers shares = dropped(softmax(scores), layer.arguments.number("dropout"), drops_,
                                           ((row_ * heads + head) * positions + t) * positions);
            for (std::size_t i = head * width; i < (head + 1) * width; ++i) {
                double value = 0.0;
                for (std::size_t s = 0; s < shares.size(); ++s) value += tape_[shares[s]] * tape_[number(s, 2, i)];
                seen[t * features + i] = tape_.add(value);
                for (std::size_t s = 0; s < shares.size(); ++s) {
                    tape_.depends(shares[s], tape_[number(s, 2, i)]);
                    tape_.depends(number(s, 2, i), tape_[shares[s]]);
                }
            }
        }
    return with_low_rank(
        layer, "out_proj.", seen, features,
        project(seen, features, features, place_of(layer, "out_proj.weight"), place_of(layer, "out_proj.bias")));
}

}  // namespace fedhive::testing
