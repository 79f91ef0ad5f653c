// The part of GraphValues about sequences in another order and attention.
#include "clients/models/graph_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace fedhive::clients {

std::optional<Arranged> GraphValues::arranged(const std::string& value, bool only_other) const {
    if (const auto found = arranged_.find(value); found != arranged_.end()) return found->second;
    const auto found = values_.find(value);
    if (only_other || found == values_.end() || found->second.shape.size() != 2 || found->second.squeezed) return {};
    Arranged whole = whole_sequence(value, found->second.shape[0], found->second.shape[1]);
    whole.shared = found->second.shared;
    return whole;
}

void GraphValues::keep_arranged(GraphCall& call, const std::string& name, const Arranged& arranged) {
    const Value& of = values_.at(arranged.of);
    const std::int64_t positions = of.shape[0], features = of.shape[1];
    const Arranged whole = whole_sequence(arranged.of, positions, features);
    Arranged flat = whole, last = whole;
    flat.dimensions = {whole.dimensions[0], viewed(whole, {{1, true}, {-1, false}})->dimensions[1]};
    last.dimensions.erase(last.dimensions.begin() + 1);
    last.offset = (positions - 1) * features;
    const bool shared = uses_[name] > 1 || arranged.shared;
    std::vector<Layer> layers;
    if (arranged.times != 1.0) layers.push_back({LayerKind::Scale, {{"by", arranged.times}}});
    if (arranged.has_same_order(flat))
        layers.push_back({LayerKind::Flatten, {}});
    else if (arranged.has_same_order(last))
        layers.push_back({LayerKind::LastPosition, {}});
    else if (!arranged.has_same_order(whole) || arranged.times != 1.0) {
        arranged_[name] = arranged;
        arranged_[name].shared = shared;
        return;
    }
    Made result = made(call, arranged.of, of, layers, {});
    result.value.shared = shared;
    values_[name] = result.value;
    steps_[name] = std::move(result.step);
}

void GraphValues::keep_linear(GraphCall& call, const Arranged& of, const Layer& layer,
                              const std::map<std::string, std::string>& called) {
    const Value& value = values_.at(of.of);
    const std::int64_t features = value.shape[1];
    const Arranged::Dimension whole{{features, 1}};
    if (of.offset != 0 || of.times != 1.0 || of.dimensions.size() < 2 ||
        of.dimensions.back() != (features > 1 ? whole : Arranged::Dimension{}))
        call.refuse("takes something else than all features of a position");
    const std::string& name = call.node().outputs.front().text;
    const std::string ordered = name + " in order";
    check_new(call, ordered);
    std::optional<Made> attention = made_attention(call, of.of, called);
    Made result = attention ? std::move(*attention) : made(call, of.of, value, {layer}, called);
    const std::int64_t outputs = result.value.shape[1];
    Arranged to = of;
    to.of = ordered;
    to.shared = false;
    for (std::size_t i = 0; i + 1 < to.dimensions.size(); ++i)
        for (Arranged::Part& part : to.dimensions[i]) {
            if (!part.examples && part.stride % features != 0)
                call.refuse("takes something else than all features of a position");
            part.stride = part.stride / features * outputs;
        }
    to.dimensions.back() = outputs > 1 ? Arranged::Dimension{{outputs, 1}} : Arranged::Dimension{};
    result.value.shared = false;
    values_[ordered] = result.value;
    steps_[ordered] = std::move(result.step);
    keep_arranged(call, name, to);
}

void GraphValues::keep_scores(const GraphCall& call, const AttentionScores& scores) {
    scores_[call.node().outputs.front().text] = scores;
}

const AttentionScores* GraphValues::scores(const std::string& value) const {
    const auto found = scores_.find(value);
    return found == scores_.end() ? nullptr : &found->second;
}

const std::string& GraphValues::root(const std::string& value) const {
    const auto step = steps_.find(value);
    return step == steps_.end() || step->second.is_sum() || !step->second.layers.empty() || step->second.attends
               ? value
               : root(step->second.from);
}

GraphValues::Projected GraphValues::projected(GraphCall& call, const Arranged& part, const char* name) const {
    Projected result{.of = part.of, .first = part.offset, .times = part.times};
    for (auto step = steps_.find(result.of); step != steps_.end(); step = steps_.find(result.of)) {
        const GraphStep& of = step->second;
        if (of.is_sum() || of.attends) break;
        if (of.layers.size() == 1 && of.layers.front().kind == static_cast<std::uint8_t>(LayerKind::Linear)) {
            result.features = values_.at(result.of).shape[1];
            result.from = of.from;
            return result;
        }
        if (of.layers.size() > 1 ||
            (of.layers.size() == 1 && of.layers.front().kind != static_cast<std::uint8_t>(LayerKind::Scale)))
            break;
        if (!of.layers.empty()) result.times *= static_cast<double>(of.layers.front().arguments.front());
        result.of = of.from;
    }
    call.refuse(fmt::format("attends with {} that no linear layer gives", name));
}

void GraphValues::keep_seen(GraphCall& call, const AttentionScores& scores, const Arranged& values,
                            const std::vector<std::int64_t>& order) {
    const Projected queries = projected(call, scores.queries, "queries"), keys = projected(call, scores.keys, "keys"),
                    of_values = projected(call, values, "values");
    if (queries.from != keys.from || queries.from != of_values.from) call.refuse("attends between different sequences");
    const Shape& shape = values_.at(queries.from).shape;
    const std::int64_t positions = shape[0], features = shape[1];
    const std::size_t rank = scores.queries.dimensions.size();
    if (rank > 4) call.refuse("attends in more than examples, heads and positions");
    const std::int64_t heads = rank == 4 ? scores.queries.size(1).number : 1, width = scores.queries.size(rank - 1).number;
    const bool one = keys.of == queries.of && of_values.of == queries.of;
    const bool apart = keys.of != queries.of && of_values.of != queries.of && of_values.of != keys.of;
    if (heads * width != features || (!one && !apart) || queries.features != (one ? 3 : 1) * features)
        call.refuse("attends with another number of features than its sequence has");
    const std::array<const Arranged*, 3> parts{&scores.queries, &scores.keys, &values};
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::int64_t first = one ? static_cast<std::int64_t>(i) * features : 0;
        Arranged wanted = in_heads(parts[i]->of, positions, queries.features, heads, width, first);
        if (rank == 3) wanted.dimensions.erase(wanted.dimensions.begin() + 1);
        if (!parts[i]->has_same_order(wanted))
            call.refuse("attends with heads in another order than the layer's, or with other features");
    }
    if (keys.features != queries.features || of_values.features != queries.features)
        call.refuse("attends with keys and values of different sizes");
    const double scale = scores.times * queries.times * keys.times * std::sqrt(static_cast<double>(width));
    if (of_values.times != 1.0 || !(std::abs(scale - 1.0) < 1e-6))
        call.refuse("scales scores by another number than 1 / sqrt(features of a head), or scales values");
    const std::string& name = call.node().outputs.front().text;
    const std::string ordered = name + " in order";
    check_new(call, ordered);
    Seen seen{
        .parts = {scores.queries.of}, .from = queries.from, .heads = heads, .causal = scores.causal, .dropout = scores.dropout};
    if (apart) seen.parts = {scores.queries.of, scores.keys.of, values.of};
    seen_[ordered] = seen;
    values_[ordered] = {.shape = shape};
    steps_[ordered] = {
        .node = &call.node(), .from = queries.from, .added = "", .first_tensor = program_.tensors.size(), .attends = true};
    Arranged to = in_heads(ordered, positions, features, heads, width, 0);
    if (rank == 3) to.dimensions.erase(to.dimensions.begin() + 1);
    keep_arranged(call, name, order.empty() ? to : *permuted(to, order));
}

void GraphValues::take_into_attention(GraphCall& call, const std::string& value, const std::string& from) {
    for (std::string at = value; at != from; at = steps_.at(at).from) {
        GraphStep& step = steps_.at(at);
        if (step.in_attention) call.refuse("belongs to an attention that shares layers with another one");
        step.in_attention = true;
    }
}

std::optional<GraphValues::Made> GraphValues::made_attention(GraphCall& call, const std::string& operand,
                                                             const std::map<std::string, std::string>& called) {
    if (!values_.contains(operand)) return {};
    const auto found = seen_.find(root(operand));
    if (found == seen_.end()) return {};
    const Seen& seen = found->second;
    const Value sequence = values_.at(seen.from);
    const std::int64_t features = sequence.shape[1];
    if (tensor(call, called.at("weight"), "weight").sizes != Shape{features, features})
        call.refuse("gives another number of features than attention takes");
    const Values given{{"heads", seen.heads}, {"causal", seen.causal}, {"dropout", seen.dropout}};
    Made result = made(call, seen.from, sequence, {{LayerKind::Attention, given}}, called);
    std::vector<Parameter> tensors;
    const auto add = [&](const std::string& prefix, const std::map<std::string, std::string>& of) {
        for (const char* name : {"weight", "bias"}) {
            const auto value = of.find(name);
            if (value == of.end()) continue;
            const exported::StoredTensor& stored = *find_tensor(value->second);
            const std::string dot = prefix == "in_proj" ? "_" : ".";
            tensors.push_back({.name = prefix + dot + name, .shape = stored.sizes, .path = stored.name});
        }
    };
    constexpr const char* kApart[]{"q_proj", "k_proj", "v_proj"};
    for (std::size_t i = 0; i < seen.parts.size(); ++i) {
        std::string linear = seen.parts[i];
        while (steps_.at(linear).called.empty()) linear = steps_.at(linear).from;  // what scales it
        const GraphStep& step = steps_.at(linear);
        add(seen.parts.size() == 1 ? "in_proj" : kApart[i], step.called);
        result.step.first_tensor = std::min(result.step.first_tensor, step.first_tensor);
        take_into_attention(call, seen.parts[i], seen.from);
    }
    add("out_proj", called);
    result.step.tensors = tensors;
    take_into_attention(call, operand, seen.from);
    return result;
}

bool GraphValues::keep_attention(GraphCall& call, const std::string& operand,
                                 const std::map<std::string, std::string>& called) {
    std::optional<Made> result = made_attention(call, operand, called);
    if (result) keep_made(call, std::move(*result));
    return result.has_value();
}

}  // namespace fedhive::clients
