#include "clients/models/graph_readers.h"

#include "clients/exported/operations.h"

#include <fmt/format.h>

#include <algorithm>

namespace fedhive::clients {

using exported::Argument;

namespace {

constexpr double kEpsilon = 1e-5, kMomentum = 0.1;  // of the norms among the layers

void read_conv2d(GraphValues& values, GraphCall& call) {
    const std::string weight = call.tensor("weight"), bias = call.tensor("bias");
    const std::vector<std::int64_t>& sizes = values.tensor(call, weight, "weight").sizes;
    if (sizes.size() != 4 || sizes[2] != sizes[3]) call.refuse("has a non-square kernel");
    if (call.side("dilation", 1) != 1) call.refuse("has a dilation");
    std::map<std::string, std::string> called{{"weight", weight}};
    if (!bias.empty()) called["bias"] = bias;
    values.keep(call, "input",
                {{LayerKind::Conv2d,
                  {{"out", sizes[0]},
                   {"kernel", sizes[2]},
                   {"stride", call.side("stride", 1)},
                   {"padding", call.side("padding", 0)},
                   {"groups", call.integer("groups", 1)},
                   {"bias", !bias.empty()}}}},
                called);
}

void read_linear(GraphValues& values, GraphCall& call) {
    const std::string weight = call.tensor("weight"), bias = call.tensor("bias");
    const std::vector<std::int64_t>& sizes = values.tensor(call, weight, "weight").sizes;
    if (bias.empty()) call.refuse("has no bias, but layer linear has one");
    if (sizes.size() != 2) call.refuse("has a weight that is not a matrix");
    values.keep(call, "input", {{LayerKind::Linear, {{"out", std::optional(sizes[0])}}}}, {{"weight", weight}, {"bias", bias}});
}

void read_transposed(GraphValues& values, GraphCall& call) {
    const std::string matrix = call.tensor("self");
    const auto dims = call.integers("dims");
    const auto from_front = [](std::int64_t dim) { return dim < 0 ? dim + 2 : dim; };
    Shape swapped{from_front(call.integer("dim0", 0)), from_front(call.integer("dim1", 1))};
    std::ranges::sort(swapped);
    const bool both = dims.empty() ? swapped == Shape{0, 1} : dims == Shape{1, 0};
    const exported::StoredTensor* stored = values.find_tensor(matrix);
    if (stored == nullptr || stored->sizes.size() != 2 || !both)
        call.refuse("transposes a value that is not a parameter matrix");
    values.keep_transposed(call, matrix);
}

void read_addmm(GraphValues& values, GraphCall& call) {
    const std::string bias = call.tensor("self"), matrix = values.transposed(call.tensor("mat2"));
    if (matrix.empty()) call.refuse("multiplies by a value that is not a transposed parameter matrix");
    if (call.real("beta", 1.0) != 1.0 || call.real("alpha", 1.0) != 1.0) call.refuse("scales what it adds");
    if (values.operand(call, "mat1").shape.size() != 1) call.refuse("does not take features in a row");
    const std::int64_t out = values.tensor(call, matrix, "weight").sizes.front();
    values.keep(call, "mat1", {{LayerKind::Linear, {{"out", std::optional(out)}}}}, {{"weight", matrix}, {"bias", bias}});
}

void read_embedding(GraphValues& values, GraphCall& call) {
    const std::string weight = call.tensor("weight");
    const std::vector<std::int64_t>& sizes = values.tensor(call, weight, "weight").sizes;
    if (call.integer("padding_idx", -1) >= 0) call.refuse("has a padding_idx");
    if (call.flag("scale_grad_by_freq", false) || call.flag("sparse", false)) call.refuse("scales or sparsifies its gradients");
    if (sizes.size() != 2 || !values.takes_tokens() || call.tensor("indices") != values.input() || values.takes_rows())
        call.refuse("takes values other than the data's tokens");
    values.keep(call, "indices", {{LayerKind::Embedding, {{"dim", sizes[1]}, {"tokens", std::optional(sizes[0])}}}},
                {{"weight", weight}});
}

void read_batch_norm(GraphValues& values, GraphCall& call) {
    std::map<std::string, std::string> called;
    for (const char* name : {"weight", "bias", "running_mean", "running_var"}) called[name] = call.tensor(name);
    if (!call.flag("training", false)) call.refuse("trains in evaluation mode");
    if (call.real("momentum", kMomentum) != kMomentum || call.real("eps", kEpsilon) != kEpsilon)
        call.refuse(fmt::format("has a momentum or eps that differs from the layer's, {} and {}", kMomentum, kEpsilon));
    call.flag("cudnn_enabled", false);
    values.keep(call, "input", {{LayerKind::BatchNorm, {}}}, called);
}

void read_group_norm(GraphValues& values, GraphCall& call) {
    if (call.real("eps", kEpsilon) != kEpsilon)
        call.refuse(fmt::format("has an eps that differs from the layer's, {}", kEpsilon));
    call.flag("cudnn_enabled", false);
    values.keep(call, "input", {{LayerKind::GroupNorm, {{"groups", call.integer("num_groups", 1)}}}},
                {{"weight", call.tensor("weight")}, {"bias", call.tensor("bias")}});
}

void read_layer_norm(GraphValues& values, GraphCall& call) {
    const Shape& shape = values.operand(call, "input").shape;
    const std::vector<std::int64_t> over = call.integers("normalized_shape");
    if (call.real("eps", kEpsilon) != kEpsilon)
        call.refuse(fmt::format("has an eps that differs from the layer's, {}", kEpsilon));
    const bool each_position = shape.size() == 2 && over == Shape{shape.back()};
    if (over != shape && !each_position) call.refuse("normalises only a part of an example's values");
    call.flag("cudnn_enable", false);
    values.keep(call, "input", {{LayerKind::LayerNorm, {{"each_position", each_position}}}},
                {{"weight", call.tensor("weight")}, {"bias", call.tensor("bias")}});
}

void read_relu(GraphValues& values, GraphCall& call) { values.keep(call, "self", {{LayerKind::Relu, {}}}); }

void read_tanh(GraphValues& values, GraphCall& call) { values.keep(call, "self", {{LayerKind::Tanh, {}}}); }

void read_gelu(GraphValues& values, GraphCall& call) {
    if (call.word("approximate", "none") != "none") call.refuse("is an approximation, but the layer is exact");
    values.keep(call, "self", {{LayerKind::Gelu, {}}});
}

void drop(GraphValues& values, GraphCall& call, LayerKind kind) {
    if (!call.flag("train", false)) call.refuse("drops nothing in training");
    const char* operand = is_in_place(call.node().target) ? "self" : "input";
    values.keep(call, operand, {{kind, {{"p", call.real("p", 0.5)}}}});
}

void read_dropout(GraphValues& values, GraphCall& call) { drop(values, call, LayerKind::Dropout); }

void read_dropout2d(GraphValues& values, GraphCall& call) { drop(values, call, LayerKind::Dropout2d); }

void read_max_pool(GraphValues& values, GraphCall& call) {
    const std::int64_t size = call.side("kernel_size", 0);
    if (call.side("stride", size) != size || call.side("padding", 0) != 0 || call.side("dilation", 1) != 1)
        call.refuse("has windows that overlap, leave gaps or exceed the image");
    if (call.flag("ceil_mode", false)) call.refuse("has ceil_mode");
    values.keep(call, "self", {{LayerKind::MaxPool, {{"size", size}}}});
}

void read_avg_pool(GraphValues& values, GraphCall& call) {
    const std::int64_t size = call.side("kernel_size", 0);
    if (size < 1 || static_cast<double>(size) > kWide || call.side("stride", size) != size || call.side("padding", 0) != 0)
        call.refuse("has windows that overlap, leave gaps or exceed the image");
    if (call.flag("ceil_mode", false)) call.refuse("has ceil_mode");
    call.flag("count_include_pad", true);  // no effect without padding
    if (call.integer("divisor_override", size * size) != size * size) call.refuse("does not divide by the number of values");
    values.keep(call, "self", {{LayerKind::AvgPool, {{"size", size}}}});
}

void read_adaptive_pool(GraphValues& values, GraphCall& call) {
    const Shape& shape = values.operand(call, "self").shape;
    const std::int64_t out = call.side("output_size", 0);
    if (out == 1) return values.keep(call, "self", {{LayerKind::AvgPool, {}}});
    if (shape.size() != 3 || out < 1 || shape[1] % out != 0 || shape[2] % out != 0 || shape[1] != shape[2])
        call.refuse("has windows of different sizes");
    values.keep(call, "self", {{LayerKind::AvgPool, {{"size", shape[1] / out}}}});
}

void read_mean(GraphValues& values, GraphCall& call) {
    std::vector<std::int64_t> dims = call.integers("dim");
    for (std::int64_t& dim : dims) dim = dim < 0 ? dim + 4 : dim;
    std::ranges::sort(dims);
    if (values.operand(call, "self").shape.size() != 3 || dims != std::vector<std::int64_t>{2, 3})
        call.refuse("is not a mean over each channel of an image");
    if (call.flag("keepdim", false)) return values.keep(call, "self", {{LayerKind::AvgPool, {}}});
    values.keep(call, "self", {{LayerKind::AvgPool, {}}, {LayerKind::Flatten, {}}});
}

void view(GraphValues& values, GraphCall& call, bool in_a_row) {
    const bool already = values.operand(call, "self").shape.size() == 1;
    values.keep(
        call, "self",
        in_a_row && !already ? std::vector<GraphValues::Layer>{{LayerKind::Flatten, {}}} : std::vector<GraphValues::Layer>{});
}

void read_flatten(GraphValues& values, GraphCall& call) {
    const auto rank = static_cast<std::int64_t>(values.operand(call, "self").shape.size()) + 1;
    const auto from_front = [&](std::int64_t dim) { return dim < 0 ? dim + rank : dim; };
    const std::int64_t first = from_front(call.integer("start_dim", 0)), last = from_front(call.integer("end_dim", -1));
    if (first == 0 && last > 0) call.refuse("mixes examples");
    if (first != last && (first != 1 || last != rank - 1)) call.refuse("flattens only a part of an example's sizes");
    view(values, call, first != last);
}

void read_view(GraphValues& values, GraphCall& call) {
    const Shape& shape = values.operand(call, "self").shape;
    const Argument* to = call.sizes(call.node().input("shape") != nullptr ? "shape" : "size");
    if (to == nullptr || to->ints.size() < 2) call.refuse("does not give examples with several values");
    const std::string batch = to->names.empty() ? "" : to->names.front();
    const auto size = static_cast<std::int64_t>(num_values(shape));
    Shape wanted(to->ints.begin() + 1, to->ints.end());
    for (std::size_t i = 1; i < to->names.size(); ++i)
        if (!to->names[i].empty()) call.refuse("gives examples of a computed size");
    const bool rest = std::ranges::count(wanted, -1) == 1;
    const bool keeps_batch = batch.empty() ? to->ints.front() == -1 && !rest : values.is_batch_size(batch);
    if (wanted == Shape{-1}) wanted = {size};
    if (!keeps_batch || num_values(wanted) != num_values(shape)) call.refuse("mixes examples");
    if (wanted != shape && wanted.size() != 1) call.refuse("changes the shape of examples");
    view(values, call, wanted != shape);
}

void read_size(GraphValues& values, GraphCall& call) {
    values.operand(call, "self");
    if (call.integer("dim", 0) != 0) call.refuse("is not the number of examples");
    values.keep_batch_size(call);
}

void read_sum(GraphValues& values, GraphCall& call) {
    const GraphValues::Value self = values.operand(call, "self"), other = values.operand(call, "other");
    if (call.real("alpha", 1.0) != 1.0) call.refuse("scales what it adds");
    if (self.shape != other.shape || self.squeezed || other.squeezed) call.refuse("adds values of different shapes");
    values.keep_sum(call, "self", "other");
}

struct ReadOperation {
    std::string_view target;  // behind "torch.ops.aten."
    GraphReader reader;
};

constexpr auto kReaders = std::to_array<ReadOperation>({{"conv2d.default", read_conv2d},
                                                        {"linear.default", read_linear},
                                                        {"addmm.default", read_addmm},
                                                        {"t.default", read_transposed},
                                                        {"numpy_T.default", read_transposed},
                                                        {"permute.default", read_transposed},
                                                        {"transpose.int", read_transposed},
                                                        {"embedding.default", read_embedding},
                                                        {"batch_norm.default", read_batch_norm},
                                                        {"group_norm.default", read_group_norm},
                                                        {"layer_norm.default", read_layer_norm},
                                                        {"relu.default", read_relu},
                                                        {"relu_.default", read_relu},
                                                        {"tanh.default", read_tanh},
                                                        {"tanh_.default", read_tanh},
                                                        {"gelu.default", read_gelu},
                                                        {"dropout.default", read_dropout},
                                                        {"dropout_.default", read_dropout},
                                                        {"feature_dropout.default", read_dropout2d},
                                                        {"feature_dropout_.default", read_dropout2d},
                                                        {"max_pool2d.default", read_max_pool},
                                                        {"avg_pool2d.default", read_avg_pool},
                                                        {"adaptive_avg_pool2d.default", read_adaptive_pool},
                                                        {"mean.dim", read_mean},
                                                        {"flatten.using_ints", read_flatten},
                                                        {"view.default", read_view},
                                                        {"reshape.default", read_view},
                                                        {"sym_size.int", read_size},
                                                        {"add.Tensor", read_sum},
                                                        {"add_.Tensor", read_sum}});

}  // namespace

bool is_in_place(const std::string& target) {
    const std::size_t dot = target.find('.', exported::kAten.size());
    return dot != std::string::npos && target[dot - 1] == '_';
}

GraphReader graph_reader(const std::string& target) {
    if (!target.starts_with(exported::kAten)) return nullptr;
    const auto* found =
        std::ranges::find(kReaders, std::string_view(target).substr(exported::kAten.size()), &ReadOperation::target);
    return found == kReaders.end() ? nullptr : found->reader;
}

}  // namespace fedhive::clients
