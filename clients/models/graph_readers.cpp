#include "clients/models/graph_readers.h"

#include "clients/exported/operations.h"
#include "clients/models/graph_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

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
    if (sizes.size() != 2) call.refuse("has a weight that is not a matrix");
    std::map<std::string, std::string> called{{"weight", weight}};
    if (!bias.empty()) called["bias"] = bias;
    values.keep(call, "input", {{LayerKind::Linear, {{"out", std::optional(sizes[0])}, {"bias", !bias.empty()}}}}, called);
}

void read_transposed(GraphValues& values, GraphCall& call) {
    const std::string matrix = call.tensor("self");
    if (const GraphValues::Grouped* grouped = values.grouped(matrix)) return read_turned(values, call, *grouped);
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

/// A table's rows for 0, 1, …, which are added to a sequence's positions; or for the data's tokens.
void read_embedding(GraphValues& values, GraphCall& call) {
    const std::string weight = call.tensor("weight");
    const std::vector<std::int64_t>& sizes = values.tensor(call, weight, "weight").sizes;
    if (call.integer("padding_idx", -1) >= 0) call.refuse("has a padding_idx");
    if (call.flag("scale_grad_by_freq", false) || call.flag("sparse", false)) call.refuse("scales or sparsifies its gradients");
    if (const std::int64_t count = values.counted(call.tensor("indices")); count > 0 && sizes.size() == 2) {
        if (count != sizes[0])
            call.refuse(fmt::format("has {} rows for {} positions; layer position has one for each", sizes[0], count));
        return values.keep_rows(call, weight);
    }
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

void read_scale(GraphValues& values, GraphCall& call) {
    values.keep(call, "self", {{LayerKind::Scale, {{"by", call.real("other", 1.0)}}}});
}

void read_quotient(GraphValues& values, GraphCall& call) {
    const double by = call.real("other", 1.0);
    if (by == 0.0) call.refuse("divides by 0");
    values.keep(call, "self", {{LayerKind::Scale, {{"by", 1.0 / by}}}});
}

void drop(GraphValues& values, GraphCall& call, LayerKind kind) {
    if (!call.flag("train", false)) call.refuse("drops nothing in training");
    const char* operand = is_in_place(call.node().target) ? "self" : "input";
    values.keep(call, operand, {{kind, {{"p", call.real("p", 0.5)}}}});
}

void read_dropout(GraphValues& values, GraphCall& call) { drop(values, call, LayerKind::Dropout); }

void read_dropout2d(GraphValues& values, GraphCall& call) { drop(values, call, LayerKind::Dropout2d); }

void keep_pool(GraphValues& values, GraphCall& call, LayerKind kind, std::int64_t size) {
    const std::int64_t stride = call.side("stride", size), padding = call.side("padding", 0);
    if (call.flag("ceil_mode", false)) call.refuse("has ceil_mode");
    Values given{{"size", size}};
    if (stride != size) given.set("stride", std::optional(stride));
    if (padding != 0) given.set("padding", std::optional(padding));
    values.keep(call, "self", {{kind, given}});
}

void read_max_pool(GraphValues& values, GraphCall& call) {
    const std::int64_t size = call.side("kernel_size", 0);
    if (call.side("dilation", 1) != 1) call.refuse("has a dilation");
    keep_pool(values, call, LayerKind::MaxPool, size);
}

void read_avg_pool(GraphValues& values, GraphCall& call) {
    const std::int64_t size = call.side("kernel_size", 0);
    if (size < 1 || static_cast<double>(size) > kWide) call.refuse(fmt::format("has kernel_size {}", size));
    if (call.side("padding", 0) != 0 && !call.flag("count_include_pad", true))
        call.refuse("leaves the padding out of its means");
    call.flag("count_include_pad", true);  // no effect without padding
    if (call.integer("divisor_override", size * size) != size * size) call.refuse("does not divide by the number of values");
    keep_pool(values, call, LayerKind::AvgPool, size);
}

void read_adaptive_pool(GraphValues& values, GraphCall& call) {
    const Shape& shape = values.operand(call, "self").shape;
    const std::int64_t out = call.side("output_size", 0);
    if (out == 1) return values.keep(call, "self", {{LayerKind::AvgPool, {}}});
    if (shape.size() != 3 || out < 1 || shape[1] % out != 0 || shape[2] % out != 0 || shape[1] != shape[2])
        call.refuse("has windows of different sizes");
    values.keep(call, "self", {{LayerKind::AvgPool, {{"size", shape[1] / out}}}});
}

/// Reads nn.LSTM and nn.GRU, both with `batch_first`; layers are named as the module's.
void read_recurrent(GraphValues& values, GraphCall& call, LayerKind kind) {
    for (const std::string& state : call.tensors("hx"))
        if (!values.is_zeros(state)) call.refuse("begins with a state other than zeros");
    if (!call.flag("batch_first", false)) call.refuse("takes positions before examples; give it batch_first=True");
    if (!call.flag("has_biases", true)) call.refuse("has no biases, but the layer has them");
    const std::int64_t layers = call.integer("num_layers", 1);
    const bool both_ways = call.flag("bidirectional", false);
    const double dropout = call.real("dropout", 0.0);
    call.ignore("train");  // files exported in evaluation are refused
    const std::vector<std::string> parameters = call.tensors("params");
    constexpr const char* kTensors[]{"weight_ih", "weight_hh", "bias_ih", "bias_hh"};
    const std::size_t ways = both_ways ? 2 : 1;
    if (layers < 1 || parameters.size() != static_cast<std::size_t>(layers) * ways * std::size(kTensors))
        call.refuse("has other parameters than the layer, such as those of proj_size");
    std::map<std::string, std::string> called;
    for (std::size_t i = 0; i < parameters.size(); ++i)
        called[fmt::format("{}_l{}{}", kTensors[i % 4], i / 4 / ways, i / 4 % ways == 0 ? "" : "_reverse")] = parameters[i];
    const std::vector<std::int64_t>& sizes = values.tensor(call, parameters[1], "weight_hh_l0").sizes;
    if (sizes.size() != 2) call.refuse("has a weight_hh_l0 that is not a matrix");
    values.keep_recurrent(
        call, {kind, {{"hidden", sizes[1]}, {"layers", layers}, {"bidirectional", both_ways}, {"dropout", dropout}}}, called);
}

void read_lstm(GraphValues& values, GraphCall& call) { read_recurrent(values, call, LayerKind::Lstm); }

void read_gru(GraphValues& values, GraphCall& call) { read_recurrent(values, call, LayerKind::Gru); }

void read_zeros(GraphValues& values, GraphCall& call) {
    for (const char* of_form : {"size", "dtype", "device", "layout", "pin_memory"}) call.ignore(of_form);
    values.keep_zeros(call);
}

/// 0, 1, …, end − 1
void read_arange(GraphValues& values, GraphCall& call) {
    for (const char* of_form : {"dtype", "device", "layout", "pin_memory"}) call.ignore(of_form);
    if (call.integer("start", 0) != 0) call.refuse("does not begin with 0");
    values.keep_counted(call, call.integer("end", 0));
}

/// x[:, -1] of a sequence, or the last state of a recurrent layer.
void read_select(GraphValues& values, GraphCall& call) {
    const std::int64_t dim = call.integer("dim", 0), index = call.integer("index", 0);
    const std::string self = call.tensor("self");
    if (dim == 0 && values.keep_last_state(call, self, index)) return;
    const Shape& shape = values.operand(call, "self").shape;
    const bool is_last = shape.size() == 2 && (dim == 1 || dim == -2) && (index == -1 || index == shape[0] - 1);
    if (!is_last) call.refuse("is not the last position of a sequence");
    values.keep(call, "self", {{LayerKind::LastPosition, {}}});
}

/// h_n.squeeze(0) of a recurrent layer.
void read_squeeze(GraphValues& values, GraphCall& call) {
    if (call.integer("dim", 0) != 0 || !values.keep_only_state(call, call.tensor("self"))) call.refuse("is not a layer");
}

/// A slice that takes all.
void read_slice(GraphValues& values, GraphCall& call) {
    const Shape& shape = values.operand(call, "self").shape;
    const std::int64_t dim = call.integer("dim", 0), end = call.integer("end", std::numeric_limits<std::int64_t>::max());
    const auto rank = static_cast<std::int64_t>(shape.size()) + 1, at = dim < 0 ? dim + rank : dim;
    const bool to_the_end = end == std::numeric_limits<std::int64_t>::max() ||
                            (at > 0 && at < rank && end >= shape[static_cast<std::size_t>(at - 1)]);
    if (call.integer("start", 0) != 0 || !to_the_end || call.integer("step", 1) != 1) call.refuse("takes a part of a value");
    values.keep(call, "self", {});
}

void read_same(GraphValues& values, GraphCall& call) {
    call.ignore("memory_format");
    if (const GraphValues::Grouped* grouped = values.grouped(call.tensor("self"))) return values.keep_grouped(call, *grouped);
    values.keep(call, "self", {});
}

void read_mean(GraphValues& values, GraphCall& call) {
    const std::size_t sizes = values.operand(call, "self").shape.size();
    std::vector<std::int64_t> dims = call.integers("dim");
    for (std::int64_t& dim : dims) dim = dim < 0 ? dim + static_cast<std::int64_t>(sizes) + 1 : dim;
    std::ranges::sort(dims);
    if (sizes == 2 && dims == Shape{1} && !call.flag("keepdim", false))
        return values.keep(call, "self", {{LayerKind::Mean, {}}});
    if (sizes != 3 || dims != Shape{2, 3})
        call.refuse("is not a mean over each channel of an image, or over a sequence's positions without keepdim");
    if (call.flag("keepdim", false)) return values.keep(call, "self", {{LayerKind::AvgPool, {}}});
    values.keep(call, "self", {{LayerKind::AvgPool, {}}, {LayerKind::Flatten, {}}});
}

void read_size(GraphValues& values, GraphCall& call) {
    if (const std::optional<Arranged> arranged = values.arranged(call.tensor("self"), true)) {
        const auto at = arranged->index(call.integer("dim", 0));
        if (!at || arranged->size(*at) != ArrangedSize{1, true}) call.refuse("is not the number of examples");
        return values.keep_batches(call, 1);
    }
    values.operand(call, "self");
    if (call.integer("dim", 0) != 0) call.refuse("is not the number of examples");
    values.keep_batches(call, 1);
}

/// The parameter that `value` is, if it has a row for each position of a sequence of that shape, in 1 × positions × features or without
/// the 1; or whose rows it is; else empty.
std::string positions_in(GraphValues& values, const std::string& value, const Shape& shape) {
    const exported::StoredTensor* stored = values.find_tensor(value);
    if (stored == nullptr || stored->kind != exported::StoredTensor::Kind::Parameter || shape.size() != 2)
        return values.rows(value);
    const bool fits = stored->sizes == shape || stored->sizes == Shape{1, shape[0], shape[1]};
    return fits ? value : "";
}

void read_sum(GraphValues& values, GraphCall& call) {
    for (const auto& [sequence, table] : {std::pair("self", "other"), std::pair("other", "self")}) {
        if (values.is_computed(call.tensor(table)) || !values.is_computed(call.tensor(sequence))) continue;
        const std::string rows = positions_in(values, call.tensor(table), values.operand(call, sequence).shape);
        if (!rows.empty() && call.real("alpha", 1.0) == 1.0)
            return values.keep(call, sequence, {{LayerKind::Position, {}}}, {{"weight", rows}});
    }
    const GraphValues::Value self = values.operand(call, "self"), other = values.operand(call, "other");
    if (call.real("alpha", 1.0) != 1.0) call.refuse("scales what it adds");
    if (self.shape != other.shape || self.squeezed || other.squeezed) call.refuse("adds values of different shapes");
    values.keep_sum(call, "self", "other");
}

struct ReadOperation {
    std::string_view target;  // after "torch.ops.aten."
    GraphReader reader;
};

constexpr auto kReaders = std::to_array<ReadOperation>({{"conv2d.default", read_conv2d},
                                                        {"linear.default", read_linear},
                                                        {"addmm.default", read_addmm},
                                                        {"t.default", read_transposed},
                                                        {"numpy_T.default", read_transposed},
                                                        {"mT.default", read_transposed},
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
                                                        {"mul.Tensor", read_scale},
                                                        {"div.Tensor", read_quotient},
                                                        {"dropout.default", read_dropout},
                                                        {"dropout_.default", read_dropout},
                                                        {"feature_dropout.default", read_dropout2d},
                                                        {"feature_dropout_.default", read_dropout2d},
                                                        {"channel_shuffle.default", read_channel_shuffle},
                                                        {"max_pool2d.default", read_max_pool},
                                                        {"avg_pool2d.default", read_avg_pool},
                                                        {"adaptive_avg_pool2d.default", read_adaptive_pool},
                                                        {"mean.dim", read_mean},
                                                        {"lstm.input", read_lstm},
                                                        {"gru.input", read_gru},
                                                        {"zeros.default", read_zeros},
                                                        {"arange.default", read_arange},
                                                        {"arange.start", read_arange},
                                                        {"select.int", read_select},
                                                        {"squeeze.dim", read_squeeze},
                                                        {"slice.Tensor", read_slice},
                                                        {"contiguous.default", read_same},
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

bool gives_states(const std::string& target) {
    return target == "torch.ops.aten.lstm.input" || target == "torch.ops.aten.gru.input";
}

GraphReader graph_reader(const std::string& target) {
    if (!target.starts_with(exported::kAten)) return nullptr;
    const auto* found =
        std::ranges::find(kReaders, std::string_view(target).substr(exported::kAten.size()), &ReadOperation::target);
    return found == kReaders.end() ? nullptr : found->reader;
}

}  // namespace fedhive::clients
