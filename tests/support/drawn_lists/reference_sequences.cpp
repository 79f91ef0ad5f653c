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

}  // namespace

Reference::Numbers Reference::project(const Numbers& x, std::size_t in, std::size_t out, std::size_t weight, std::size_t bias) {
    Numbers y;
    for (std::size_t row = 0; row < x.size(); row += in)
        for (std::size_t o = 0; o < out; ++o) {
            Product product(tape_, bias + o);
            for (std::size_t i = 0; i < in; ++i) product.add(x[row + i], weight + o * in + i);
            y.push_back(product.made());
        }
    return y;
}

Reference::Numbers Reference::of_sequence(const Layer& layer, const Numbers& x) {
    const std::string& kind = layer.spec().name;
    if (kind == "attention") return attention(layer, x);
    if (kind == "lstm") return lstm(layer, x);
    if (kind == "last_position") return {x.end() - layer.in[1], x.end()};
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

Reference::Numbers Reference::lstm(const Layer& layer, const Numbers& x) {
    const auto hidden = static_cast<std::size_t>(layer.arguments.integer("hidden"));
    Numbers states = x;
    for (std::int64_t number = 0; number < layer.arguments.integer("layers"); ++number)
        states = lstm_layer(layer, "_l" + std::to_string(number), number == 0 ? static_cast<std::size_t>(layer.in[1]) : hidden,
                            states);
    if (layer.arguments.flag("all_positions")) return states;
    return {states.end() - static_cast<std::ptrdiff_t>(hidden), states.end()};
}

Reference::Numbers Reference::lstm_layer(const Layer& layer, const std::string& number, std::size_t in, const Numbers& x) {
    const auto hidden = static_cast<std::size_t>(layer.arguments.integer("hidden"));
    const auto sigmoid = [](double v) { return 1.0 / (1.0 + std::exp(-v)); };
    const auto slope = [](double v) { return 1.0 / (1.0 + std::exp(-v)) / (1.0 + std::exp(v)); };
    const auto bounded = [&](const Numbers& values) {
        const auto of_slope = [](double v) { return 1.0 - std::tanh(v) * std::tanh(v); };
        return each(
            values, [](double v) { return std::tanh(v); }, of_slope, of_slope);
    };
    Numbers states, state, cell;
    for (std::size_t t = 0; t * in < x.size(); ++t) {
        const Numbers now(x.begin() + static_cast<std::ptrdiff_t>(t * in),
                          x.begin() + static_cast<std::ptrdiff_t>((t + 1) * in));
        Numbers gates =
            project(now, in, 4 * hidden, place_of(layer, "weight_ih" + number), place_of(layer, "bias_ih" + number));
        const std::size_t bias = place_of(layer, "bias_hh" + number);
        Numbers beside;
        if (t == 0)
            for (std::size_t i = 0; i < 4 * hidden; ++i) beside.push_back(static_cast<Number>(bias + i));
        else
            beside = project(state, hidden, 4 * hidden, place_of(layer, "weight_hh" + number), bias);
        gates = sum(gates, beside);
        const auto gate = [&](std::size_t which) {
            const auto at = gates.begin() + static_cast<std::ptrdiff_t>(which * hidden);
            return Numbers(at, at + static_cast<std::ptrdiff_t>(hidden));
        };
        const Numbers input = each(gate(0), sigmoid, slope, slope), forget = each(gate(1), sigmoid, slope, slope),
                      output = each(gate(3), sigmoid, slope, slope);
        const Numbers fresh = product_of_each(input, bounded(gate(2)));
        cell = t == 0 ? fresh : sum(product_of_each(forget, cell), fresh);
        state = product_of_each(output, bounded(cell));
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
    const Numbers all = project(x, features, 3 * features, place_of(layer, "in_proj_weight"), place_of(layer, "in_proj_bias"));
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
            const Numbers shares = softmax(scores);
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
    return project(seen, features, features, place_of(layer, "out_proj.weight"), place_of(layer, "out_proj.bias"));
}

}  // namespace fedhive::testing
