#include "clients/exported/kernel_checks.h"

#include "aggregation/base/error.h"
#include "clients/exported/autocast.h"

#include <ATen/ExpandUtils.h>
#include <ATen/core/Tensor.h>

#include <map>

namespace fedhive::clients::exported {

namespace {

using c10::IValue;
using Arguments = std::vector<IValue>;

void need(bool holds, const char* what) {
    if (!holds)
        throw Fault(std::string("the exported graph calls ") + what + " with shapes or types that do not fit each other");
}

std::vector<at::Tensor> tensors_of(const IValue& value) {
    return value.isTensor() ? std::vector<at::Tensor>{value.toTensor()} : value.toTensorVector();
}

/// Casts the tensors of arguments 0 to 2 as autocast would, before their types are compared: after a matrix product the input
/// is bf16 while the parameters are f32. Without a fused bf16 LSTM an LSTM's are cast to f32.
void cast_alike(Arguments& arguments, bool lstm) {
    const at::DeviceType device = tensors_of(arguments.at(0)).at(0).device().type();
    if (!at::autocast::is_autocast_enabled(device)) return;
    const at::ScalarType type = lstm && lacks_fused_lstm() ? at::kFloat : at::autocast::get_autocast_dtype(device);
    for (std::size_t i = 0; i < 3; ++i) {
        IValue& argument = arguments.at(i);
        const std::vector<at::Tensor> tensors = tensors_of(argument);
        std::vector<at::Tensor> cast = at::autocast::cached_cast(type, at::TensorList(tensors), device);
        argument = argument.isTensor() ? IValue(cast.front()) : IValue(std::move(cast));
    }
}

/// Checks arguments of recurrent layers; nn.LSTM does so, but oneDNN's LSTM kernel compares no shapes.
///
/// lstm.input: input, state[], parameters[], has_biases, num_layers, dropout, train, bidirectional, batch_first; the others
/// have a single state. If an LSTM's two states differ in width, it projects: its output has the first state's width, by a
/// weight after the biases (proj_size).
template <std::int64_t Gates>
void check_recurrent(Arguments& arguments) {
    constexpr const char* kWhat = "a recurrent layer";
    cast_alike(arguments, Gates == 4);
    const at::Tensor input = arguments.at(0).toTensor();
    const std::vector<at::Tensor> states = tensors_of(arguments.at(1)), parameters = tensors_of(arguments.at(2));
    const std::int64_t layers = arguments.at(4).toInt(), directions = arguments.at(7).toBool() ? 2 : 1;
    constexpr std::int64_t kMostLayers = 1000;
    need(input.dim() == 3 && layers > 0 && layers < kMostLayers && states.size() == (Gates == 4 ? 2U : 1U), kWhat);
    need(states.front().dim() == 3 && states.back().dim() == 3, kWhat);
    const std::int64_t batch = input.size(arguments.at(8).toBool() ? 0 : 1);
    const std::int64_t hidden = states.back().size(2), given = states.front().size(2);
    const bool projects = given != hidden;
    const std::int64_t each = (arguments.at(3).toBool() ? 4 : 2) + (projects ? 1 : 0);
    need(static_cast<std::int64_t>(parameters.size()) == layers * directions * each, kWhat);
    for (const at::Tensor& state : states)
        need(state.sizes().equals({layers * directions, batch, state.size(2)}) && state.scalar_type() == input.scalar_type(),
             kWhat);
    for (const at::Tensor& parameter : parameters) need(parameter.scalar_type() == input.scalar_type(), kWhat);
    for (std::int64_t i = 0; i < layers * directions; ++i) {
        const at::Tensor* own = parameters.data() + i * each;
        const std::int64_t in = i < directions ? input.size(2) : given * directions, biases_end = each - (projects ? 1 : 0);
        need(own[0].sizes().equals({Gates * hidden, in}) && own[1].sizes().equals({Gates * hidden, given}), kWhat);
        for (std::int64_t k = 2; k < biases_end; ++k) need(own[k].sizes().equals({Gates * hidden}), kWhat);
        if (projects) need(own[biases_end].sizes().equals({given, hidden}), kWhat);
    }
}

/// Checks arguments of recurrent cells: input, state or state[], weights of input and state, optional biases. The kernel splits
/// a product into one part per gate without checking its size.
template <std::int64_t Gates>
void check_cell(Arguments& arguments) {
    constexpr const char* kWhat = "a recurrent cell";
    const at::Tensor input = arguments.at(0).toTensor(), from_input = arguments.at(2).toTensor();
    const at::Tensor from_state = arguments.at(3).toTensor();
    need(input.dim() == 2 && from_state.dim() == 2, kWhat);
    const std::int64_t hidden = from_state.size(1);
    const std::vector<at::Tensor> states = tensors_of(arguments.at(1));
    need(states.size() == (Gates == 4 ? 2U : 1U), kWhat);
    for (const at::Tensor& state : states) need(state.sizes().equals({input.size(0), hidden}), kWhat);
    need(from_input.sizes().equals({Gates * hidden, input.size(1)}) && from_state.size(0) == Gates * hidden, kWhat);
    for (const std::size_t bias : {4U, 5U})
        if (arguments.at(bias).isTensor()) need(arguments[bias].toTensor().sizes().equals({Gates * hidden}), kWhat);
}

/// v, g, dim: g has one length per slice of v along dim.
void check_weight_norm(Arguments& arguments) {
    constexpr const char* kWhat = "a weight norm";
    const at::Tensor v = arguments.at(0).toTensor(), g = arguments.at(1).toTensor();
    const std::int64_t dimension = arguments.at(2).toInt();
    need(dimension >= 0 && dimension < v.dim() && g.dim() == v.dim() && g.scalar_type() == v.scalar_type(), kWhat);
    for (std::int64_t d = 0; d < v.dim(); ++d) need(g.size(d) == (d == dimension ? v.size(d) : 1), kWhat);
}

/// query, key, value, mask?, dropout, causal, scale, grouped; the first three are [batch…, positions, width].
void check_attention(Arguments& arguments) {
    constexpr const char* kWhat = "an attention";
    cast_alike(arguments, false);
    const at::Tensor query = arguments.at(0).toTensor(), key = arguments.at(1).toTensor(), value = arguments.at(2).toTensor();
    const std::int64_t rank = query.dim();
    need(rank >= 2 && key.dim() == rank && value.dim() == rank && !arguments.at(7).toBool(), kWhat);
    for (std::int64_t d = 0; d < rank - 2; ++d) need(key.size(d) == query.size(d) && value.size(d) == query.size(d), kWhat);
    need(query.size(-1) == key.size(-1) && key.size(-2) == value.size(-2), kWhat);
    need(key.scalar_type() == query.scalar_type() && value.scalar_type() == query.scalar_type(), kWhat);
    if (!arguments.at(3).isTensor() || !arguments.at(3).toTensor().defined()) return;
    const at::Tensor mask = arguments.at(3).toTensor();
    std::vector<std::int64_t> scores = query.sizes().vec();
    scores.back() = key.size(-2);
    need(at::is_expandable_to(mask.sizes(), scores), kWhat);
}

/// self, other, out: `out` must have the result's shape already.
void check_division_into(Arguments& arguments) {
    const auto sizes = at::infer_size(arguments.at(0).toTensor().sizes(), arguments.at(1).toTensor().sizes());
    need(arguments.at(2).toTensor().sizes().equals(sizes), "div.out");
}

/// input, weight, bias, mean, variance, training. With one value per channel the variance is undefined and running statistics
/// would become NaN: such a batch is normalised by the running statistics, which stay, as in lists of layers.
void check_batch_norm(Arguments& arguments) {
    const at::Tensor input = arguments.at(0).toTensor();
    need(input.dim() >= 2, "batch_norm");
    const bool kept = arguments.at(3).isTensor() && arguments.at(3).toTensor().defined();
    if (kept && input.numel() <= input.size(1)) arguments.at(5) = false;
}

/// a, size, stride, dtype: drops the dtype. Export records the type seen by a conversion; under autocast it differs.
void forget_type(Arguments& arguments) {
    if (at::autocast::is_autocast_enabled(arguments.at(0).toTensor().device().type())) arguments.at(3) = IValue();
}

}  // namespace

KernelCheck kernel_check_of(const std::string& operation) {
    static const std::map<std::string, KernelCheck> table{{"lstm.input", check_recurrent<4>},
                                                          {"gru.input", check_recurrent<3>},
                                                          {"rnn_tanh.input", check_recurrent<1>},
                                                          {"rnn_relu.input", check_recurrent<1>},
                                                          {"lstm_cell.default", check_cell<4>},
                                                          {"gru_cell.default", check_cell<3>},
                                                          {"rnn_tanh_cell.default", check_cell<1>},
                                                          {"rnn_relu_cell.default", check_cell<1>},
                                                          {"_weight_norm.default", check_weight_norm},
                                                          {"scaled_dot_product_attention.default", check_attention},
                                                          {"_assert_tensor_metadata.default", forget_type},
                                                          {"div.out", check_division_into},
                                                          {"batch_norm.default", check_batch_norm}};
    const auto found = table.find(operation);
    return found == table.end() ? nullptr : found->second;
}

}  // namespace fedhive::clients::exported
