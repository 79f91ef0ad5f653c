#include "clients/models/graph_values.h"

#include "aggregation/base/error.h"
#include "clients/exported/operations.h"
#include "clients/exported/refusal.h"
#include "clients/models/graph_readers.h"
#include "clients/models/graph_views.h"

#include <fmt/format.h>

#include <algorithm>

namespace fedhive::clients {

using exported::Argument;
using exported::Node;
using exported::Role;
using exported::shown;

namespace {

constexpr std::size_t kMostSteps = 1000;

/// `given`, completed by the defaults. Throws ConfigError for a number outside its range.
Values arguments_of(const LayerSpec& kind, const Values& given) {
    Values values = completed(given, kind.keys);
    for (const KeySpec& key : kind.keys) {
        const double argument = argument_of(*values.find(key.name));
        const bool left_out = std::holds_alternative<std::optional<std::int64_t>>(key.default_value) && argument == 0.0;
        if (!left_out && !std::holds_alternative<bool>(key.default_value) && !key.range.contains(argument))
            throw ConfigError(
                fmt::format("has {0} {1}; layer {2} allows {3}", key.name, argument, kind.name, key.range.text()));
    }
    return values;
}

/// Counts the uses of each value.
void count_uses(const exported::Graph& graph, std::map<std::string, std::size_t>& uses) {
    const auto count = [&](const Argument& argument) {
        if (argument.kind == Argument::Kind::Tensor) ++uses[argument.text];
        for (const std::string& name : argument.names) ++uses[name];
    };
    for (const Node& node : graph.nodes)
        for (const exported::NamedArgument& input : node.inputs) count(input.value);
    for (const Argument& output : graph.outputs) count(output);
}

/// Kinds whose output aliases their operand, some of them in evaluation only.
bool aliases(LayerKind kind) {
    return kind == LayerKind::Flatten || kind == LayerKind::Dropout || kind == LayerKind::Dropout2d ||
           kind == LayerKind::LastPosition;
}

}  // namespace

ListedLayer listed_layer(LayerKind kind, const Values& given) {
    const LayerSpec& found = layer_spec(kind);
    const Values values = arguments_of(found, given);
    std::vector<float> arguments;
    for (const KeySpec& key : found.keys) arguments.push_back(argument_of(*values.find(key.name)));
    return LayerList().add(kind, arguments).entries().front();
}

GraphValues::GraphValues(const exported::Program& program, const Shape& input) : program_(program), constants_(program) {
    count_uses(program.graph, uses_);
    for (std::size_t i = 0; i < program.tensors.size(); ++i) tensors_[program.tensors[i].value] = i;
    takes_rows_ = program.input != input && program.input.size() == 1;
    values_[this->input()] = {program.input, true, program.input != input && !takes_rows_};
    for (const Node& node : program.graph.nodes) read(node);
    if (!values_.contains(output())) throw ConfigError("its output does not depend on the examples");
}

void GraphValues::read(const Node& node) {
    GraphCall call(node);
    const Argument* self = node.input("self");
    if (is_in_place(node.target) && self != nullptr) {
        const auto stored = tensors_.find(self->text);
        if (stored != tensors_.end() && program_.tensors[stored->second].role == Role::Counter) return;  // no layer counts
    }
    if (node.target == "_operator.mul") return read_product_of_sizes(*this, call);
    if (node.target == "torch.ops.aten._assert_tensor_metadata.default") return;  // of a type, which graphs have checked
    if (constants_.read(node) && node.target != "torch.ops.aten.zeros.default") return;
    if (node.outputs.empty()) call.refuse("is not a layer");
    for (const Argument& output : node.outputs) {
        check_new(call, output.text);
        for (const std::string& name : output.names) check_new(call, name);
    }
    if (steps_.size() >= kMostSteps) call.refuse(fmt::format("is one layer too many; allowed: {}", kMostSteps));
    try {
        if (!read_arrangement(*this, call) && !read_attention(*this, call)) read_layer(call);
        call.check_all_asked();
    } catch (const NoLayer&) {
        throw;
    } catch (const ConfigError& error) {
        call.refuse(error.what());  // the layer does not accept such numbers or shapes
    }
}

void GraphValues::check_new(const GraphCall& call, const std::string& value) const {
    if (values_.contains(value) || arranged_.contains(value) || scores_.contains(value))
        call.refuse(fmt::format("gives {} a second time", shown(value)));
}

void GraphValues::read_layer(GraphCall& call) {
    const Node& node = call.node();
    const Argument* self = node.input("self");
    const GraphReader reader = graph_reader(node.target);
    if (reader == nullptr) call.refuse("is not a layer");
    if ((node.outputs.size() != 1 && !gives_states(node.target)) || !node.outputs.front().is_value())
        call.refuse("does not give exactly one value");
    if (is_in_place(node.target) && self != nullptr && values_.contains(self->text) && values_.at(self->text).shared)
        call.refuse(fmt::format("writes to {}, which has other uses", shown(self->text)));
    reader(*this, call);
}

// Operands.

const GraphValues::Value& GraphValues::operand(GraphCall& call, const char* name) const {
    const std::string value = call.tensor(name);
    const auto found = values_.find(value);
    if (grouped(value) != nullptr) call.refuse("takes channels in groups, which only a channel shuffle does");
    if (arranged_.contains(value)) call.refuse("takes a sequence in an order that only attention has");
    if (scores_.contains(value)) call.refuse("takes scores of an attention");
    if (found == values_.end()) call.refuse(fmt::format("takes as {} a value that does not depend on the examples", name));
    return found->second;
}

const exported::StoredTensor& GraphValues::tensor(GraphCall& call, const std::string& value, const char* name) const {
    const exported::StoredTensor* found = value.empty() ? nullptr : find_tensor(value);
    if (found == nullptr) call.refuse(fmt::format("has no {}", name));
    return *found;
}

void GraphValues::take(GraphCall& call, const std::map<std::string, std::string>& called, GraphStep& step) {
    bool one_module = true;  // MODULE.name for each
    step.called = called;
    step.first_tensor = program_.tensors.size();
    for (const auto& [name, value] : called) {
        const exported::StoredTensor& found = tensor(call, value, name.c_str());
        const bool buffer = name.starts_with("running_");
        const bool known = buffer ? found.role == Role::Moved : found.role == Role::Trained || found.role == Role::Frozen;
        if (!known)
            call.refuse(
                fmt::format("has {} as its {}, which is neither a trained parameter nor a buffer", shown(found.name), name));
        if (!taken_.insert(found.same_as).second) call.refuse(fmt::format("uses {} a second time", shown(found.name)));
        const std::string end = "." + name;
        const std::string module = found.name.ends_with(end) ? found.name.substr(0, found.name.size() - end.size()) : "";
        one_module = one_module && !module.empty() && (step.name.empty() || step.name == module);
        step.name = module;
        step.tensors.push_back({.name = name, .shape = found.sizes, .path = found.name});
        step.first_tensor = std::min(step.first_tensor, tensors_.at(value));
    }
    if (one_module) step.tensors.clear();
}

const exported::StoredTensor* GraphValues::find_tensor(const std::string& value) const {
    const auto found = tensors_.find(value);
    return found == tensors_.end() ? nullptr : &program_.tensors[found->second];
}

std::string GraphValues::transposed(const std::string& value) const {
    const auto found = transposed_.find(value);
    return found == transposed_.end() ? "" : found->second;
}

// Results.

GraphValues::Made GraphValues::made(GraphCall& call, const std::string& operand, Value value, const std::vector<Layer>& layers,
                                    const std::map<std::string, std::string>& called) {
    GraphStep step{.node = &call.node(), .from = operand, .added = "", .first_tensor = program_.tensors.size()};
    bool aliasing = true;  // the result aliases the operand
    for (const auto& [kind, given] : layers) {
        if (value.squeezed && kind != LayerKind::Flatten)
            call.refuse(fmt::format("takes examples of {}, without the sizes of 1 in the data's shape", text_of(value.shape)));
        const LayerSpec& found = layer_spec(kind);
        const Values arguments = arguments_of(found, given);
        value.shape = found.fit(arguments, value.shape).out;
        value.squeezed = false;
        aliasing = aliasing && aliases(kind);
        step.layers.push_back(listed_layer(kind, given));
    }
    if (!called.empty()) take(call, called, step);
    value.shared = aliasing && value.shared;
    return {value, std::move(step)};
}

void GraphValues::keep(GraphCall& call, const char* operand, const std::vector<Layer>& layers,
                       const std::map<std::string, std::string>& called) {
    const Value value = this->operand(call, operand);
    keep_made(call, made(call, call.tensor(operand), value, layers, called));
}

void GraphValues::keep_made(const GraphCall& call, Made made) {
    const std::string& name = call.node().outputs.front().text;
    made.value.shared = uses_[name] > 1 || made.value.shared;
    values_[name] = made.value;
    steps_[name] = std::move(made.step);
}

void GraphValues::keep_grouped(const GraphCall& call, const Grouped& grouped) {
    grouped_[call.node().outputs.front().text] = grouped;
}

const GraphValues::Grouped* GraphValues::grouped(const std::string& value) const {
    const auto found = grouped_.find(value);
    return found == grouped_.end() ? nullptr : &found->second;
}

void GraphValues::keep_shuffle(GraphCall& call, const Grouped& grouped) {
    if (!grouped.turned) call.refuse("groups channels and leaves them in their order");
    keep_made(call, made(call, grouped.from, values_.at(grouped.from),
                         {{LayerKind::ChannelShuffle, {{"groups", grouped.groups}}}}, {}));
}

void GraphValues::keep_sum(GraphCall& call, const char* operand, const char* other) {
    const std::string& name = call.node().outputs.front().text;
    values_[name] = {this->operand(call, operand).shape, uses_[name] > 1, false};
    steps_[name] = {.node = &call.node(),
                    .from = call.tensor(operand),
                    .added = call.tensor(other),
                    .first_tensor = program_.tensors.size()};
}

void GraphValues::keep_recurrent(GraphCall& call, const Layer& layer, const std::map<std::string, std::string>& called) {
    const std::vector<Argument>& outputs = call.node().outputs;
    const bool all = uses_[outputs.at(0).text] > 0, last = outputs.size() > 1 && uses_[outputs[1].text] > 0;
    if (outputs.size() > 2 && uses_[outputs[2].text] > 0) call.refuse("gives its cells, too");
    if (all == last) call.refuse("gives its states at all positions and after the last one; a layer gives one of the two");
    Layer kept = layer;
    kept.given.set("all_positions", all);
    if (all) return keep(call, "input", {kept}, called);
    if (layer.given.flag("bidirectional")) call.refuse("gives both ways' last states, but layers join them");
    last_states_[outputs[1].text] = {made(call, call.tensor("input"), operand(call, "input"), {kept}, called),
                                     layer.given.integer("layers")};
}

bool GraphValues::keep_last_state(GraphCall& call, const std::string& states, std::int64_t index) {
    const auto found = last_states_.find(states);
    if (found == last_states_.end()) return false;
    const LastStates& of = found->second;
    if (index != -1 && index != of.layers - 1) call.refuse("takes the state of a layer below the last one");
    const std::string& name = call.node().outputs.front().text;
    values_[name] = of.last.value;
    values_[name].shared = uses_[name] > 1;
    steps_[name] = of.last.step;
    return true;
}

bool GraphValues::keep_only_state(GraphCall& call, const std::string& states) {
    const auto found = last_states_.find(states);
    return found != last_states_.end() && found->second.layers == 1 && keep_last_state(call, states, 0);
}

void GraphValues::keep_zeros(const GraphCall& call) { zeros_.insert(call.node().outputs.front().text); }

void GraphValues::keep_counted(const GraphCall& call, std::int64_t count) {
    counted_[call.node().outputs.front().text] = count;
}

std::int64_t GraphValues::counted(const std::string& value) const {
    const auto found = counted_.find(value);
    return found == counted_.end() ? 0 : found->second;
}

void GraphValues::keep_rows(const GraphCall& call, const std::string& matrix) {
    rows_[call.node().outputs.front().text] = matrix;
}

std::string GraphValues::rows(const std::string& value) const {
    const auto found = rows_.find(value);
    return found == rows_.end() ? "" : found->second;
}

void GraphValues::keep_transposed(const GraphCall& call, const std::string& matrix) {
    transposed_[call.node().outputs.front().text] = matrix;
}

void GraphValues::keep_batches(const GraphCall& call, std::int64_t factor) {
    batches_[call.node().outputs.front().text] = factor;
}

std::int64_t GraphValues::batches(const std::string& value) const {
    const auto found = batches_.find(value);
    return found == batches_.end() ? 0 : found->second;
}

}  // namespace fedhive::clients
