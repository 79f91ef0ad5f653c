#include "clients/models/graph_constants.h"

#include "clients/exported/operations.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

namespace fedhive::clients {

using exported::Argument;
using exported::Node;
using Kind = Argument::Kind;

namespace {

constexpr std::size_t kMostComputed = std::size_t{1} << 22;
constexpr int kFlags = 12, kDouble = 8;  // dtypes, by PyTorch's numbers in files

/// Number of values; 0 if they are none, or too many to compute.
std::size_t count_of(const std::vector<std::int64_t>& sizes) {
    std::size_t count = 1;
    for (const std::int64_t size : sizes) {
        if (size < 1 || static_cast<std::uint64_t>(size) > kMostComputed) return 0;
        if ((count *= static_cast<std::size_t>(size)) > kMostComputed) return 0;
    }
    return count;
}

std::optional<double> number(const Node& node, const char* name) {
    const Argument* argument = node.input(name);
    if (argument == nullptr) return {};
    if (argument->kind == Kind::Float) return argument->real;
    if (argument->kind == Kind::Int || argument->kind == Kind::Bool) return static_cast<double>(argument->number);
    return {};
}

std::int64_t integer(const Node& node, const char* name, std::int64_t otherwise) {
    const Argument* argument = node.input(name);
    return argument != nullptr && argument->kind == Kind::Int ? argument->number : otherwise;
}

/// The type of the result: of flags, floats, or another one.
std::optional<bool> gives_flags(const Node& node, bool otherwise) {
    const Argument* argument = node.input("dtype");
    if (argument == nullptr || argument->kind == Kind::None) return otherwise;
    if (argument->number == kFlags) return true;
    if (argument->number == exported::kFloat || argument->number == kDouble) return false;
    return {};
}

std::optional<GraphConstant> filled(const Node& node, std::optional<double> value, bool flags) {
    const Argument* sizes = node.input("size");
    const std::optional<bool> of_flags = gives_flags(node, flags);
    if (sizes == nullptr || sizes->kind != Kind::Ints || !value || !of_flags || count_of(sizes->ints) == 0) return {};
    return GraphConstant{sizes->ints, std::vector<float>(count_of(sizes->ints), static_cast<float>(*value)), *of_flags};
}

template <typename Function>
std::optional<GraphConstant> each(GraphConstant from, bool flags, const Function& function) {
    for (float& value : from.values) value = static_cast<float>(function(static_cast<double>(value)));
    from.flags = flags;
    return from;
}

/// Clears the values above (upper: below) a diagonal of the last two dimensions.
std::optional<GraphConstant> triangle(GraphConstant from, std::int64_t diagonal, bool upper) {
    if (from.sizes.size() < 2) return {};
    const std::int64_t columns = from.sizes.back(), rows = from.sizes[from.sizes.size() - 2];
    for (std::size_t i = 0; i < from.values.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i), distance = at % columns - at / columns % rows;
        if (upper ? distance < diagonal : distance > diagonal) from.values[i] = 0.0F;
    }
    return from;
}

/// Indices [start, end) of a dimension.
std::optional<GraphConstant> slice(const GraphConstant& from, const Node& node) {
    const auto rank = std::ssize(from.sizes);
    std::int64_t dim = integer(node, "dim", 0);
    if (dim < 0) dim += rank;
    if (dim < 0 || dim >= rank || integer(node, "step", 1) != 1) return {};
    const std::int64_t size = from.sizes[static_cast<std::size_t>(dim)];
    const auto clipped = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size); };
    const std::int64_t start = clipped(integer(node, "start", 0)), end = clipped(integer(node, "end", size));
    if (end <= start) return {};
    std::int64_t inner = 1;
    for (auto i = static_cast<std::size_t>(dim) + 1; i < from.sizes.size(); ++i) inner *= from.sizes[i];
    GraphConstant result{from.sizes, {}, from.flags};
    result.sizes[static_cast<std::size_t>(dim)] = end - start;
    for (std::size_t i = 0; i < from.values.size(); ++i) {
        const std::int64_t at = static_cast<std::int64_t>(i) / inner % size;
        if (at >= start && at < end) result.values.push_back(from.values[i]);
    }
    return result;
}

std::optional<GraphConstant> reshaped(GraphConstant from, const Node& node) {
    const Argument* sizes = node.input(node.input("shape") != nullptr ? "shape" : "size");
    if (sizes == nullptr || sizes->kind != Kind::Ints || count_of(sizes->ints) != from.values.size()) return {};
    from.sizes = sizes->ints;
    return from;
}

std::optional<GraphConstant> unsqueezed(GraphConstant from, const Node& node) {
    const auto rank = std::ssize(from.sizes) + 1;
    std::int64_t dim = integer(node, "dim", 0);
    if (dim < 0) dim += rank;
    if (dim < 0 || dim >= rank) return {};
    from.sizes.insert(from.sizes.begin() + dim, 1);
    return from;
}

using Compare = bool (*)(double one, double other);

Compare comparison(std::string_view operation) {
    if (operation == "eq.Scalar") return [](double one, double other) { return one == other; };
    if (operation == "ne.Scalar") return [](double one, double other) { return one != other; };
    if (operation == "gt.Scalar") return [](double one, double other) { return one > other; };
    if (operation == "ge.Scalar") return [](double one, double other) { return one >= other; };
    if (operation == "lt.Scalar") return [](double one, double other) { return one < other; };
    if (operation == "le.Scalar") return [](double one, double other) { return one <= other; };
    return nullptr;
}

bool only_passes(std::string_view operation) {
    return operation == "alias.default" || operation == "clone.default" || operation == "detach.default" ||
           operation == "contiguous.default" || operation == "lift_fresh_copy.default" || operation == "to.device";
}

}  // namespace

bool GraphConstants::read(const Node& node) {
    if (node.outputs.size() != 1 || node.outputs.front().kind != Kind::Tensor || !node.target.starts_with(exported::kAten))
        return false;
    std::optional<GraphConstant> result = computed(node);
    if (!result) return false;
    known_[node.outputs.front().text] = std::move(*result);
    return true;
}

const GraphConstant* GraphConstants::find(const std::string& value) {
    if (const auto found = known_.find(value); found != known_.end()) return &found->second;
    std::optional<GraphConstant> of_file = stored(value);
    return of_file ? &(known_[value] = std::move(*of_file)) : nullptr;
}

std::optional<GraphConstant> GraphConstants::stored(const std::string& value) const {
    const auto found = std::ranges::find(program_.tensors, value, &exported::StoredTensor::value);
    if (found == program_.tensors.end() || found->role != exported::Role::Constant || count_of(found->sizes) == 0) return {};
    const std::string bytes = program_.values_of(*found);
    GraphConstant result{found->sizes, std::vector<float>(found->num_values()), found->dtype == kFlags};
    const auto each = exported::bytes_of_dtype(found->dtype);
    for (std::size_t i = 0; i < result.values.size(); ++i) {
        if (found->dtype == exported::kFloat)
            std::memcpy(&result.values[i], bytes.data() + i * each, sizeof(float));
        else if (found->dtype == kFlags)
            result.values[i] = bytes[i] != 0 ? 1.0F : 0.0F;
        else
            return {};
    }
    return result;
}

std::optional<GraphConstant> GraphConstants::computed(const Node& node) {
    const std::string_view operation = std::string_view(node.target).substr(exported::kAten.size());
    if (operation == "ones.default") return filled(node, 1.0, false);
    if (operation == "zeros.default") return filled(node, 0.0, false);
    if (operation == "full.default") {
        const Argument* value = node.input("fill_value");
        return filled(node, number(node, "fill_value"), value != nullptr && value->kind == Kind::Bool);
    }
    const Argument* self = node.input("self");
    const GraphConstant* from = self != nullptr && self->kind == Kind::Tensor ? find(self->text) : nullptr;
    if (from == nullptr) return {};
    if (only_passes(operation)) return *from;
    if (operation == "to.dtype") {
        const std::optional<bool> flags = gives_flags(node, from->flags);
        if (!flags) return {};
        return each(*from, *flags, [&](double value) { return *flags ? static_cast<double>(value != 0.0) : value; });
    }
    if (operation == "tril.default") return triangle(*from, integer(node, "diagonal", 0), false);
    if (operation == "triu.default") return triangle(*from, integer(node, "diagonal", 0), true);
    if (operation == "slice.Tensor") return slice(*from, node);
    if (operation == "unsqueeze.default") return unsqueezed(*from, node);
    if (operation == "view.default" || operation == "reshape.default") return reshaped(*from, node);
    if (operation == "logical_not.default" || (operation == "bitwise_not.default" && from->flags))
        return each(*from, true, [](double value) { return static_cast<double>(value == 0.0); });
    const std::optional<double> other = number(node, "other");
    if (const Compare compare = comparison(operation); compare != nullptr && other)
        return each(*from, true, [&](double value) { return static_cast<double>(compare(value, *other)); });
    if (operation == "rsub.Scalar" && other && number(node, "alpha").value_or(1.0) == 1.0 && !from->flags)
        return each(*from, false, [&](double value) { return *other - value; });
    if (operation == "mul.Tensor" && other && !from->flags)
        return each(*from, false, [&](double value) { return value * *other; });
    if (operation == "masked_fill.Scalar" && number(node, "value") && node.input("mask") != nullptr) {
        const GraphConstant* mask = find(node.input("mask")->text);
        GraphConstant result = *from;
        if (mask == nullptr || mask->sizes != result.sizes) return {};
        for (std::size_t i = 0; i < result.values.size(); ++i)
            if (mask->values[i] != 0.0F) result.values[i] = static_cast<float>(*number(node, "value"));
        return result;
    }
    return {};
}

}  // namespace fedhive::clients
