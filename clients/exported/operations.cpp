#include "clients/exported/operations.h"

#include <algorithm>
#include <array>

namespace fedhive::clients::exported {

namespace {

// Several names per line, for searching and reading.
// clang-format off
constexpr std::array kAtenOperations{std::to_array<std::string_view>({
    "_assert_scalar.default", "_assert_tensor_metadata.default", "_to_copy.default", "_weight_norm.default", "abs.default",
    "adaptive_avg_pool1d.default", "adaptive_avg_pool2d.default", "add.Scalar", "add.Tensor", "add_.Scalar", "add_.Tensor",
    "addmm.default", "alias.default", "all.default", "all.dim", "alpha_dropout.default", "amax.default", "amin.default",
    "any.default", "any.dim", "arange.default", "arange.start", "arange.start_step", "argmax.default", "argmin.default",
    "avg_pool1d.default", "avg_pool2d.default", "avg_pool3d.default", "baddbmm.default", "batch_norm.default",
    "bilinear.default", "bitwise_and.Tensor", "bitwise_not.default", "bitwise_or.Tensor", "bmm.default", "cat.default",
    "ceil.default", "celu.default", "channel_shuffle.default", "chunk.default", "clamp.default", "clamp_max.default", "clamp_min.default",
    "clamp_min_.default", "clone.default", "concat.default", "constant_pad_nd.default", "contiguous.default",
    "conv1d.default", "conv1d.padding", "conv2d.default", "conv2d.padding", "conv3d.default", "conv3d.padding",
    "conv_transpose1d.default", "conv_transpose2d.input", "copy_.default", "cos.default", "cosine_similarity.default",
    "cumsum.default", "detach.default", "detach_.default", "div.Scalar", "div.Tensor", "div.Tensor_mode", "div.out",
    "div_.Scalar", "div_.Tensor", "dot.default", "dropout.default", "dropout_.default", "einsum.default", "elu.default",
    "elu_.default", "embedding.default", "empty.memory_format", "eq.Scalar", "eq.Tensor", "erf.default", "exp.default",
    "expand.default", "expand_as.default", "expm1.default", "eye.default", "feature_dropout.default",
    "feature_dropout_.default", "fft_rfft.default", "fill_.Scalar", "flatten.using_ints", "flip.default", "floor.default",
    "floor_divide.default", "full.default", "full_like.default", "gather.default", "ge.Scalar", "ge.Tensor", "gelu.default",
    "glu.default", "group_norm.default", "gru.input", "gru_cell.default", "gt.Scalar", "gt.Tensor", "hardsigmoid.default",
    "hardswish.default", "hardswish_.default", "hardtanh.default", "hardtanh_.default", "index.Tensor",
    "index_select.default", "instance_norm.default", "isinf.default", "isnan.default", "layer_norm.default", "le.Scalar",
    "le.Tensor", "leaky_relu.default", "leaky_relu_.default", "lift_fresh_copy.default", "linalg_vector_norm.default",
    "linear.default", "linspace.default", "log.default", "log1p.default", "log2.default", "log_sigmoid.default",
    "log_softmax.int", "logical_and.default", "logical_not.default", "logical_or.default", "logsumexp.default",
    "lstm.input", "lstm_cell.default", "lt.Scalar", "lt.Tensor", "mT.default", "masked_fill.Scalar", "masked_fill.Tensor",
    "masked_fill_.Scalar", "matmul.default", "matrix_H.default", "max.default", "max.dim", "max.other",
    "max_pool1d.default", "max_pool2d.default", "max_pool3d.default", "maximum.default", "mean.default", "mean.dim",
    "meshgrid.default", "meshgrid.indexing", "min.default", "min.dim", "min.other", "minimum.default", "mish.default",
    "mm.default", "movedim.int", "movedim.intlist", "mul.Scalar", "mul.Tensor", "mul_.Scalar", "mul_.Tensor", "mv.default",
    "narrow.default", "ne.Scalar", "ne.Tensor", "neg.default", "new_full.default", "new_ones.default", "new_zeros.default",
    "norm.ScalarOpt_dim", "numpy_T.default", "one_hot.default", "ones.default", "ones_like.default", "outer.default",
    "pad.default", "permute.default", "pixel_shuffle.default", "pow.Scalar", "pow.Tensor_Scalar", "pow.Tensor_Tensor",
    "prelu.default", "prod.default", "rand.default", "rand_like.default", "randn.default", "randn_like.default",
    "reciprocal.default", "relu.default", "relu6.default", "relu6_.default", "relu_.default", "remainder.Scalar",
    "remainder.Tensor", "repeat.default", "reshape.default", "rms_norm.default", "rnn_relu.input", "rnn_relu_cell.default",
    "rnn_tanh.input", "rnn_tanh_cell.default", "roll.default", "round.default", "rsqrt.default", "rsub.Scalar",
    "rsub.Tensor", "scalar_tensor.default", "scaled_dot_product_attention.default", "select.int", "selu.default",
    "selu_.default", "sigmoid.default", "sigmoid_.default", "sign.default", "silu.default", "silu_.default", "sin.default",
    "slice.Tensor", "softmax.int", "softplus.default", "sort.default", "split.Tensor", "split.sizes",
    "split_with_sizes.default", "sqrt.default", "square.default", "squeeze.default", "squeeze.dim", "squeeze.dims",
    "stack.default", "std.correction", "std.default", "std.dim", "sub.Scalar", "sub.Tensor", "sub_.Scalar", "sub_.Tensor",
    "sum.default", "sum.dim_IntList", "t.default", "tanh.default", "tanh_.default", "threshold.default", "to.device",
    "to.dtype", "to.dtype_layout", "to.other", "topk.default", "transpose.int", "tril.default", "triu.default",
    "type_as.default", "unbind.int", "unflatten.int", "unsqueeze.default", "upsample_bilinear2d.vec",
    "upsample_nearest2d.vec", "var.correction", "var.default", "var.dim", "var_mean.correction", "vdot.default",
    "view.default", "where.ScalarOther", "where.ScalarSelf", "where.self", "zero_.default", "zeros.default",
    "zeros_like.default"
})};
// clang-format on

constexpr std::array kSymbolOperations{std::to_array<std::string_view>({"_operator.add",
                                                                        "_operator.eq",
                                                                        "_operator.floordiv",
                                                                        "_operator.ge",
                                                                        "_operator.gt",
                                                                        "_operator.le",
                                                                        "_operator.lt",
                                                                        "_operator.mod",
                                                                        "_operator.mul",
                                                                        "_operator.ne",
                                                                        "_operator.neg",
                                                                        "_operator.sub",
                                                                        "_operator.truediv",
                                                                        "math.trunc",
                                                                        "torch.ops.aten.sym_numel.default",
                                                                        "torch.ops.aten.sym_size.int",
                                                                        "torch.sym_float",
                                                                        "torch.sym_int",
                                                                        "torch.sym_max",
                                                                        "torch.sym_min",
                                                                        "torch.sym_not"})};

constexpr std::array kGraphOperations{
    std::to_array<std::string_view>({"cond", "wrap_with_autocast", "wrap_with_set_grad_enabled"})};

static_assert(std::ranges::is_sorted(kAtenOperations) && std::ranges::is_sorted(kSymbolOperations));

bool has(std::span<const std::string_view> sorted, std::string_view name) { return std::ranges::binary_search(sorted, name); }

}  // namespace

std::span<const std::string_view> aten_operations() { return kAtenOperations; }
std::span<const std::string_view> symbol_operations() { return kSymbolOperations; }
std::span<const std::string_view> graph_operations() { return kGraphOperations; }

bool is_allowed(const std::string& target) {
    if (has(kSymbolOperations, target)) return true;
    if (target.starts_with(kAten)) return has(kAtenOperations, std::string_view(target).substr(kAten.size()));
    return target.starts_with(kHigherOrder) && has(kGraphOperations, std::string_view(target).substr(kHigherOrder.size()));
}

std::vector<std::string> written_arguments(const Node& node) {
    if (!node.target.starts_with(kAten)) return {};
    const std::string_view rest = std::string_view(node.target).substr(kAten.size());
    const std::string_view name = rest.substr(0, rest.find('.'));
    if (name.ends_with('_')) return {"self"};
    if (rest.ends_with(".out")) return {"out"};
    // Writes that the operations' schemas do not declare.
    const Argument* by_batch = name == "batch_norm"      ? node.input("training")
                               : name == "instance_norm" ? node.input("use_input_stats")
                                                         : nullptr;
    if (by_batch != nullptr && by_batch->number != 0) return {"running_mean", "running_var"};
    return {};
}

}  // namespace fedhive::clients::exported
