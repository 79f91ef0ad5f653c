#include "clients/models/graph_values.h"

#include "aggregation/base/error.h"
#include "clients/exported/operations.h"
#include "clients/exported/refusal.h"

#include <fmt/format.h>

#include <algorithm>

namespace fedhive::clients {

using exported::Argument;
using exported::Node;
using exported::Role;
using exported::shown;

namespace {

constexpr std::size_t kMostSteps = 1000;
constexpr double kEpsilon = 1e-5, kMomentum = 0.1;  // of the norms among the layers

const LayerKind& kind_of(const std::string& name) { return entry_of(layer_catalog(), name, "layer"); }

/// `given`, completed by the defaults. Throws ConfigError for a number outside its range.
Values arguments_of(const LayerKind& kind, const Values& given) {
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

/// Whether the operation writes in place, such as relu_.
bool is_in_place(const std::string& target) {
    const std::size_t dot = target.find('.', exported::kAten.size());
    return dot != std::string::npos && target[dot - 1] == '_';
}

/// Kinds whose output aliases their operand, some of them in evaluation only.
bool looks_on(const std::string& kind) { return kind == "flatten" || kind.starts_with("dropout"); }

}  // namespace

ListedLayer listed_layer(const std::string& kind, const Values& given) {
    const LayerKind& found = kind_of(kind);
    const Values values = arguments_of(found, given);
    std::vector<float> arguments;
    for (const KeySpec& key : found.keys) arguments.push_back(argument_of(*values.find(key.name)));
    return LayerList().add(kind, arguments).entries().front();
}

GraphValues::GraphValues(const exported::Program& program, const Shape& input) : program_(program) {
    count_uses(program.graph, uses_);
    for (std::size_t i = 0; i < program.tensors.size(); ++i) tensors_[program.tensors[i].value] = i;
    takes_rows_ = program.input != input && program.input.size() == 1;
    values_[this->input()] = {program.input, true, program.input != input && !takes_rows_};
    for (const Node& node : program.graph.nodes) read(node);
    if (!values_.contains(output())) throw ConfigError("its output does not depend on the examples");
}

GraphValues::Reader GraphValues::reader_of(const std::string& target) {
    static const std::map<std::string, Reader> readers{{"conv2d.default", &GraphValues::read_conv2d},
                                                       {"linear.default", &GraphValues::read_linear},
                                                       {"addmm.default", &GraphValues::read_addmm},
                                                       {"t.default", &GraphValues::read_transposed},
                                                       {"numpy_T.default", &GraphValues::read_transposed},
                                                       {"permute.default", &GraphValues::read_transposed},
                                                       {"transpose.int", &GraphValues::read_transposed},
                                                       {"embedding.default", &GraphValues::read_embedding},
                                                       {"batch_norm.default", &GraphValues::read_batch_norm},
                                                       {"group_norm.default", &GraphValues::read_group_norm},
                                                       {"layer_norm.default", &GraphValues::read_layer_norm},
                                                       {"relu.default", &GraphValues::read_relu},
                                                       {"relu_.default", &GraphValues::read_relu},
                                                       {"tanh.default", &GraphValues::read_tanh},
                                                       {"tanh_.default", &GraphValues::read_tanh},
                                                       {"gelu.default", &GraphValues::read_gelu},
                                                       {"dropout.default", &GraphValues::read_dropout},
                                                       {"dropout_.default", &GraphValues::read_dropout},
                                                       {"feature_dropout.default", &GraphValues::read_dropout2d},
                                                       {"feature_dropout_.default", &GraphValues::read_dropout2d},
                                                       {"max_pool2d.default", &GraphValues::read_max_pool},
                                                       {"avg_pool2d.default", &GraphValues::read_avg_pool},
                                                       {"adaptive_avg_pool2d.default", &GraphValues::read_adaptive_pool},
                                                       {"mean.dim", &GraphValues::read_mean},
                                                       {"flatten.using_ints", &GraphValues::read_flatten},
                                                       {"view.default", &GraphValues::read_view},
                                                       {"reshape.default", &GraphValues::read_view},
                                                       {"sym_size.int", &GraphValues::read_size},
                                                       {"add.Tensor", &GraphValues::read_sum},
                                                       {"add_.Tensor", &GraphValues::read_sum}};
    if (!target.starts_with(exported::kAten)) return nullptr;
    const auto found = readers.find(target.substr(exported::kAten.size()));
    return found == readers.end() ? nullptr : found->second;
}

void GraphValues::read(const Node& node) {
    GraphCall call(node);
    const Argument* self = node.input("self");
    const bool in_place = is_in_place(node.target);
    if (in_place && self != nullptr) {
        const auto stored = tensors_.find(self->text);
        if (stored != tensors_.end() && program_.tensors[stored->second].role == Role::Counter) return;  // no layer counts
    }
    const Reader reader = reader_of(node.target);
    if (reader == nullptr) call.refuse("is not a layer");
    if (node.outputs.size() != 1 || !node.outputs.front().is_value()) call.refuse("does not give exactly one value");
    if (steps_.size() == kMostSteps) call.refuse(fmt::format("is one layer too many; allowed: {}", kMostSteps));
    if (in_place && values_.contains(self->text) && values_.at(self->text).shared)
        call.refuse(fmt::format("writes to {}, which has other uses", shown(self->text)));
    try {
        (this->*reader)(call);
        call.check_all_asked();
    } catch (const NoLayer&) {
        throw;
    } catch (const ConfigError& error) {
        call.refuse(error.what());  // the layer does not accept such numbers or shapes
    }
}

// Operands.

const GraphValues::Value& GraphValues::operand(GraphCall& call, const char* name) {
    const std::string value = call.tensor(name);
    const auto found = values_.find(value);
    if (found == values_.end()) call.refuse(fmt::format("takes as {} a value that does not depend on the examples", name));
    return found->second;
}

const exported::StoredTensor& GraphValues::tensor(GraphCall& call, const std::string& value, const char* name) const {
    const auto found = tensors_.find(value);
    if (value.empty() || found == tensors_.end()) call.refuse(fmt::format("has no {}", name));
    return program_.tensors[found->second];
}

std::string GraphValues::take(GraphCall& call, const std::map<std::string, std::string>& called, std::size_t& first) {
    std::string module;
    first = program_.tensors.size();
    for (const auto& [name, value] : called) {
        const exported::StoredTensor& found = tensor(call, value, name.c_str());
        const bool buffer = name.starts_with("running_");
        const bool known = buffer ? found.role == Role::Moved : found.role == Role::Trained || found.role == Role::Frozen;
        if (!known)
            call.refuse(
                fmt::format("has {} as its {}, which is neither a trained parameter nor a buffer", shown(found.name), name));
        if (!taken_.insert(found.same_as).second) call.refuse(fmt::format("uses {} a second time", shown(found.name)));
        const std::string end = "." + name;
        const std::string of = found.name.ends_with(end) ? found.name.substr(0, found.name.size() - end.size()) : "";
        if (of.empty() || (!module.empty() && of != module))
            call.refuse(fmt::format("has {} as its {}; expected the name MODULE.{}", shown(found.name), name, name));
        module = of;
        first = std::min(first, tensors_.at(value));
    }
    return module;
}

// Results.

void GraphValues::keep(GraphCall& call, const char* operand, const std::vector<Layer>& layers,
                       const std::map<std::string, std::string>& called) {
    Value value = this->operand(call, operand);
    GraphStep step{.node = &call.node(), .from = call.tensor(operand), .added = "", .first_tensor = program_.tensors.size()};
    bool looking = true;  // the result aliases the operand
    for (const auto& [kind, given] : layers) {
        if (value.squeezed && kind != "flatten")
            call.refuse(fmt::format("takes examples of {}, without the sizes of 1 in the data's shape", text_of(value.shape)));
        const LayerKind& found = kind_of(kind);
        const Values arguments = arguments_of(found, given);
        value.shape = found.fit(arguments, value.shape).out;
        value.squeezed = false;
        looking = looking && looks_on(kind);
        step.layers.push_back(listed_layer(kind, given));
    }
    if (!called.empty()) step.name = take(call, called, step.first_tensor);
    const std::string& name = call.node().outputs.front().text;
    value.shared = uses_[name] > 1 || (looking && value.shared);
    values_[name] = value;
    steps_[name] = std::move(step);
}

// The operations.

void GraphValues::read_conv2d(GraphCall& call) {
    const std::string weight = call.tensor("weight"), bias = call.tensor("bias");
    const std::vector<std::int64_t>& sizes = tensor(call, weight, "weight").sizes;
    if (sizes.size() != 4 || sizes[2] != sizes[3]) call.refuse("has a non-square kernel");
    if (call.side("dilation", 1) != 1) call.refuse("has a dilation");
    std::map<std::string, std::string> called{{"weight", weight}};
    if (!bias.empty()) called["bias"] = bias;
    keep(call, "input",
         {{"conv2d",
           {{"out", sizes[0]},
            {"kernel", sizes[2]},
            {"stride", call.side("stride", 1)},
            {"padding", call.side("padding", 0)},
            {"groups", call.integer("groups", 1)},
            {"bias", !bias.empty()}}}},
         called);
}

void GraphValues::read_linear(GraphCall& call) {
    const std::string weight = call.tensor("weight"), bias = call.tensor("bias");
    const std::vector<std::int64_t>& sizes = tensor(call, weight, "weight").sizes;
    if (bias.empty()) call.refuse("has no bias, but layer linear has one");
    if (sizes.size() != 2) call.refuse("has a weight that is not a matrix");
    keep(call, "input", {{"linear", {{"out", std::optional(sizes[0])}}}}, {{"weight", weight}, {"bias", bias}});
}

void GraphValues::read_transposed(GraphCall& call) {
    const std::string matrix = call.tensor("self");
    const auto dims = call.integers("dims");
    const auto from_front = [](std::int64_t dim) { return dim < 0 ? dim + 2 : dim; };
    Shape swapped{from_front(call.integer("dim0", 0)), from_front(call.integer("dim1", 1))};
    std::ranges::sort(swapped);
    const bool both = dims.empty() ? swapped == Shape{0, 1} : dims == Shape{1, 0};
    if (!tensors_.contains(matrix) || program_.tensors[tensors_.at(matrix)].sizes.size() != 2 || !both)
        call.refuse("transposes a value that is not a parameter matrix");
    transposed_[call.node().outputs.front().text] = matrix;
}

void GraphValues::read_addmm(GraphCall& call) {
    const std::string bias = call.tensor("self"), turned = call.tensor("mat2");
    const auto matrix = transposed_.find(turned);
    if (matrix == transposed_.end()) call.refuse("multiplies by a value that is not a transposed parameter matrix");
    if (call.real("beta", 1.0) != 1.0 || call.real("alpha", 1.0) != 1.0) call.refuse("scales what it adds");
    if (operand(call, "mat1").shape.size() != 1) call.refuse("does not take features in a row");
    const std::int64_t out = tensor(call, matrix->second, "weight").sizes.front();
    keep(call, "mat1", {{"linear", {{"out", std::optional(out)}}}}, {{"weight", matrix->second}, {"bias", bias}});
}

void GraphValues::read_embedding(GraphCall& call) {
    const std::string weight = call.tensor("weight");
    const std::vector<std::int64_t>& sizes = tensor(call, weight, "weight").sizes;
    if (call.integer("padding_idx", -1) >= 0) call.refuse("has a padding_idx");
    if (call.flag("scale_grad_by_freq", false) || call.flag("sparse", false)) call.refuse("scales or sparsifies its gradients");
    if (sizes.size() != 2 || !program_.takes_tokens || call.tensor("indices") != input() || takes_rows_)
        call.refuse("takes values other than the data's tokens");
    keep(call, "indices", {{"embedding", {{"dim", sizes[1]}, {"tokens", std::optional(sizes[0])}}}}, {{"weight", weight}});
}

void GraphValues::read_batch_norm(GraphCall& call) {
    std::map<std::string, std::string> called;
    for (const char* name : {"weight", "bias", "running_mean", "running_var"}) called[name] = call.tensor(name);
    if (!call.flag("training", false)) call.refuse("trains in evaluation mode");
    if (call.real("momentum", kMomentum) != kMomentum || call.real("eps", kEpsilon) != kEpsilon)
        call.refuse(fmt::format("has a momentum or eps that differs from the layer's, {} and {}", kMomentum, kEpsilon));
    call.flag("cudnn_enabled", false);
    keep(call, "input", {{"batch_norm", {}}}, called);
}

void GraphValues::read_group_norm(GraphCall& call) {
    if (call.real("eps", kEpsilon) != kEpsilon)
        call.refuse(fmt::format("has an eps that differs from the layer's, {}", kEpsilon));
    call.flag("cudnn_enabled", false);
    keep(call, "input", {{"group_norm", {{"groups", call.integer("num_groups", 1)}}}},
         {{"weight", call.tensor("weight")}, {"bias", call.tensor("bias")}});
}

void GraphValues::read_layer_norm(GraphCall& call) {
    const Shape& shape = operand(call, "input").shape;
    const std::vector<std::int64_t> over = call.integers("normalized_shape");
    if (call.real("eps", kEpsilon) != kEpsilon)
        call.refuse(fmt::format("has an eps that differs from the layer's, {}", kEpsilon));
    const bool each_position = shape.size() == 2 && over == Shape{shape.back()};
    if (over != shape && !each_position) call.refuse("normalises only a part of an example's values");
    call.flag("cudnn_enable", false);
    keep(call, "input", {{"layer_norm", {{"each_position", each_position}}}},
         {{"weight", call.tensor("weight")}, {"bias", call.tensor("bias")}});
}

void GraphValues::read_gelu(GraphCall& call) {
    if (call.word("approximate", "none") != "none") call.refuse("is an approximation, but the layer is exact");
    keep(call, "self", {{"gelu", {}}});
}

void GraphValues::drop(GraphCall& call, const std::string& kind) {
    if (!call.flag("train", false)) call.refuse("drops nothing in training");
    const char* operand = is_in_place(call.node().target) ? "self" : "input";
    keep(call, operand, {{kind, {{"p", call.real("p", 0.5)}}}});
}

void GraphValues::read_max_pool(GraphCall& call) {
    const std::int64_t size = call.side("kernel_size", 0);
    if (call.side("stride", size) != size || call.side("padding", 0) != 0 || call.side("dilation", 1) != 1)
        call.refuse("has windows that overlap, leave gaps or exceed the image");
    if (call.flag("ceil_mode", false)) call.refuse("has ceil_mode");
    keep(call, "self", {{"max_pool", {{"size", size}}}});
}

void GraphValues::read_avg_pool(GraphCall& call) {
    const std::int64_t size = call.side("kernel_size", 0);
    if (size < 1 || static_cast<double>(size) > kWide || call.side("stride", size) != size || call.side("padding", 0) != 0)
        call.refuse("has windows that overlap, leave gaps or exceed the image");
    if (call.flag("ceil_mode", false)) call.refuse("has ceil_mode");
    call.flag("count_include_pad", true);  // no effect without padding
    if (call.integer("divisor_override", size * size) != size * size) call.refuse("does not divide by the number of values");
    keep(call, "self", {{"avg_pool", {{"size", size}}}});
}

void GraphValues::read_adaptive_pool(GraphCall& call) {
    const Shape& shape = operand(call, "self").shape;
    const std::int64_t out = call.side("output_size", 0);
    if (out == 1) return keep(call, "self", {{"avg_pool", {}}});
    if (shape.size() != 3 || out < 1 || shape[1] % out != 0 || shape[2] % out != 0 || shape[1] != shape[2])
        call.refuse("has windows of different sizes");
    keep(call, "self", {{"avg_pool", {{"size", shape[1] / out}}}});
}

void GraphValues::read_mean(GraphCall& call) {
    std::vector<std::int64_t> dims = call.integers("dim");
    for (std::int64_t& dim : dims) dim = dim < 0 ? dim + 4 : dim;
    std::ranges::sort(dims);
    if (operand(call, "self").shape.size() != 3 || dims != std::vector<std::int64_t>{2, 3})
        call.refuse("is not a mean over each channel of an image");
    if (call.flag("keepdim", false)) return keep(call, "self", {{"avg_pool", {}}});
    keep(call, "self", {{"avg_pool", {}}, {"flatten", {}}});
}

void GraphValues::view(GraphCall& call, bool in_a_row) {
    const bool already = operand(call, "self").shape.size() == 1;
    keep(call, "self", in_a_row && !already ? std::vector<Layer>{{"flatten", {}}} : std::vector<Layer>{});
}

void GraphValues::read_flatten(GraphCall& call) {
    const auto rank = static_cast<std::int64_t>(operand(call, "self").shape.size()) + 1;
    const auto from_front = [&](std::int64_t dim) { return dim < 0 ? dim + rank : dim; };
    const std::int64_t first = from_front(call.integer("start_dim", 0)), last = from_front(call.integer("end_dim", -1));
    if (first == 0 && last > 0) call.refuse("mixes examples");
    if (first != last && (first != 1 || last != rank - 1)) call.refuse("flattens only a part of an example's sizes");
    view(call, first != last);
}

void GraphValues::read_view(GraphCall& call) {
    const Shape& shape = operand(call, "self").shape;
    const Argument* to = call.sizes(call.node().input("shape") != nullptr ? "shape" : "size");
    if (to == nullptr || to->ints.size() < 2) call.refuse("does not give examples with several values");
    const std::string batch = to->names.empty() ? "" : to->names.front();
    const auto values = static_cast<std::int64_t>(num_values(shape));
    Shape wanted(to->ints.begin() + 1, to->ints.end());
    for (std::size_t i = 1; i < to->names.size(); ++i)
        if (!to->names[i].empty()) call.refuse("gives examples of a computed size");
    const bool rest = std::ranges::count(wanted, -1) == 1;
    const bool keeps_batch = batch.empty() ? to->ints.front() == -1 && !rest : batch_sizes_.contains(batch);
    if (wanted == Shape{-1}) wanted = {values};
    if (!keeps_batch || num_values(wanted) != num_values(shape)) call.refuse("mixes examples");
    if (wanted != shape && wanted.size() != 1) call.refuse("changes the shape of examples");
    view(call, wanted != shape);
}

void GraphValues::read_size(GraphCall& call) {
    operand(call, "self");
    if (call.integer("dim", 0) != 0) call.refuse("is not the number of examples");
    batch_sizes_.insert(call.node().outputs.front().text);
}

void GraphValues::read_sum(GraphCall& call) {
    const Value self = operand(call, "self"), other = operand(call, "other");
    if (call.real("alpha", 1.0) != 1.0) call.refuse("scales what it adds");
    if (self.shape != other.shape || self.squeezed || other.squeezed) call.refuse("adds values of different shapes");
    const std::string& name = call.node().outputs.front().text;
    values_[name] = {self.shape, uses_[name] > 1, false};
    steps_[name] = {.node = &call.node(),
                    .from = call.tensor("self"),
                    .added = call.tensor("other"),
                    .first_tensor = program_.tensors.size()};
}

}  // namespace fedhive::clients
