#include "clients/exported/ends.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace fedhive::clients::exported {

namespace {

/// "softmax" of "torch.ops.aten.softmax.int"; empty for operations outside of aten.
std::string name_in(const std::string& target) {
    constexpr std::string_view kTensorOperation = "torch.ops.aten.";
    if (!target.starts_with(kTensorOperation)) return "";
    const std::string rest = target.substr(kTensorOperation.size());
    return rest.substr(0, rest.find('.'));
}

/// Whether the operation returns its input's values, copied or reshaped.
bool keeps_values(const std::string& operation) {
    constexpr std::array kSame{
        std::to_array<std::string_view>({"_to_copy", "alias", "clone", "contiguous", "detach", "expand", "flatten", "permute",
                                         "reshape", "squeeze", "to", "transpose", "unflatten", "unsqueeze", "view"})};
    return std::ranges::find(kSame, operation) != kSame.end();
}

bool takes_one_of(const Node& node, const std::set<std::string>& values) {
    return std::ranges::any_of(node.inputs, [&](const NamedArgument& input) {
        return (input.value.kind == Argument::Kind::Tensor && values.contains(input.value.text)) ||
               std::ranges::any_of(input.value.names, [&](const std::string& name) { return values.contains(name); });
    });
}

}  // namespace

std::set<std::string> first_operations(const Graph& graph) {
    std::set<std::string> operations, input{graph.inputs.back().text};
    for (const Node& node : graph.nodes) {
        const std::string name = name_in(node.target);
        if (name.starts_with("sym_") || name.starts_with("_assert") || !takes_one_of(node, input)) continue;
        if (!keeps_values(name)) {
            operations.insert(name);
            continue;
        }
        for (const Argument& output : node.outputs) input.insert(output.text);
    }
    return operations;
}

std::string last_operation(const Graph& graph) {
    std::string value = graph.outputs.back().text;
    for (std::size_t i = graph.nodes.size(); i-- > 0;) {
        const Node& node = graph.nodes[i];
        if (std::ranges::none_of(node.outputs, [&](const Argument& output) { return output.text == value; })) continue;
        std::string name = name_in(node.target);
        if (!keeps_values(name) || node.inputs.empty()) return name;
        value = node.inputs.front().value.text;
    }
    return "";
}

}  // namespace fedhive::clients::exported
