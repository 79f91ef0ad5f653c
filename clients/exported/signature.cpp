#include "clients/exported/signature.h"

#include "clients/exported/program.h"
#include "clients/exported/refusal.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <numeric>

namespace fedhive::clients::exported {

namespace {

using Json = nlohmann::json;

/// s77 of "Symbol('s77', positive=True, integer=True)".
std::string symbol_in(const std::string& expression) {
    const std::size_t begin = expression.find('\'') + 1, end = expression.find('\'', begin);
    return end == std::string::npos ? expression : expression.substr(begin, end - begin);
}

/// Sizes of one example; empty if any but the batch is dynamic.
std::vector<std::int64_t> example_sizes(const Json& tensor) {
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 1; i < tensor.at("sizes").size(); ++i) {
        const Json& size = tensor.at("sizes")[i];
        if (!size.contains("as_int")) return {};
        sizes.push_back(size.at("as_int"));
    }
    return sizes;
}

/// Python that splits one x into the inputs: "left, right = x.split([1, 2], 1)", or split after flatten(1) if their sizes
/// differ in more than the first.
std::string line_of_parts(const std::vector<std::string>& names, const std::vector<std::vector<std::int64_t>>& inputs) {
    const auto alike = [&](const std::vector<std::int64_t>& one) {
        return !one.empty() && std::equal(one.begin() + 1, one.end(), inputs[0].begin() + 1, inputs[0].end());
    };
    if (std::ranges::all_of(inputs, alike)) {
        std::vector<std::int64_t> firsts;
        firsts.reserve(inputs.size());
        for (const auto& sizes : inputs) firsts.push_back(sizes[0]);
        return fmt::format("{} = x.split([{}], 1)", fmt::join(names, ", "), fmt::join(firsts, ", "));
    }
    std::vector<std::uint64_t> counts;  // unsigned: overflow is defined, since a file may contain any sizes
    counts.reserve(inputs.size());
    for (const auto& sizes : inputs)
        counts.push_back(std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{1}, std::multiplies<>()));
    return fmt::format("{} = x.flatten(1).split([{}], 1)", fmt::join(names, ", "), fmt::join(counts, ", "));
}

[[noreturn]] void refuse_several(const Json& module, const std::vector<std::string>& names) {
    std::vector<std::vector<std::int64_t>> inputs;
    std::vector<std::string> printable;
    for (const std::string& name : names) {
        inputs.push_back(example_sizes(module.at("graph").at("tensor_values").at(name)));
        const std::string quoted = shown(name);
        printable.push_back(quoted.substr(1, quoted.size() - 2));
    }
    refuse(fmt::format("takes {} inputs, {}; an example is one tensor, so make them parts of one tensor", names.size(),
                       fmt::join(printable, ", ")),
           "def forward(self, x): " + line_of_parts(printable, inputs));
}

}  // namespace

std::string input_name(const Json& graph_module) {
    std::vector<std::string> names;
    for (const Json& spec : graph_module.at("signature").at("input_specs")) {
        const std::string& kind = spec.begin().key();
        if (kind == "constant_input")
            refuse(fmt::format(
                       "takes an input that is not a tensor, {}; its value is already in the graph, so use its default value",
                       shown(spec.begin().value().at("name").get<std::string>())),
                   kExport);
        if (kind != "user_input") continue;
        const Json& argument = spec.begin().value().at("arg");
        if (!argument.contains("as_tensor")) refuse("takes an input that is not a tensor", kExport);
        names.push_back(argument.at("as_tensor").at("name"));
    }
    if (names.empty()) refuse("takes no input; expected: one, the examples", kExport);
    if (names.size() > 1) refuse_several(graph_module, names);
    return names.front();
}

GraphInput read_input(const Json& tensor, const Json& ranges) {
    const int dtype = tensor.at("dtype");
    if (dtype != kFloat && dtype != kInteger)
        refuse(fmt::format("takes {}; examples are F32, tokens I64", name_of_dtype(dtype)),
               "x = x.float(), or for tokens x = x.long(), before it is exported");
    const Json& sizes = tensor.at("sizes");
    if (sizes.empty() || !sizes[0].contains("as_expr"))
        refuse("has a fixed batch size: the first dimension of its input is not dynamic", kExport);
    GraphInput input{.sizes = {}, .tokens = dtype == kInteger};
    for (std::size_t i = 1; i < sizes.size(); ++i) {
        if (!sizes[i].contains("as_int"))
            refuse(fmt::format("has a dynamic dimension {} of its input; expected: only the batch dimension", i), kExport);
        input.sizes.push_back(sizes[i].at("as_int"));
    }
    const Json range = ranges.value(symbol_in(sizes[0].at("as_expr").at("expr_str")), Json::object());
    const Json least = range.value("min_val", Json()), most = range.value("max_val", Json());
    // torch.export writes 2 where nothing is specified; a batch of 1 works as well.
    if (least.is_number() && least > 2)
        refuse(
            fmt::format("takes only batches of {} or more examples, but the last batch of a client may have 1", least.dump()),
            kExport);
    if (most.is_number()) input.most_batch = most;
    return input;
}

void check_outputs(const Json& specs) {
    std::size_t outputs = 0;
    for (const Json& spec : specs) {
        const std::string& kind = spec.begin().key();
        if (kind.ends_with("_mutation"))
            refuse("writes buffers through its outputs, like a decomposed graph; export without run_decompositions()", kExport);
        if (kind != "user_output") refuse(fmt::format("gives something of kind {}; allowed: scores", shown(kind)), kExport);
        if (!spec.begin().value().at("arg").contains("as_tensor"))
            refuse("gives something that is not a tensor", "return scores");
        ++outputs;
    }
    if (outputs != 1)
        refuse(fmt::format("gives {} tensors; expected: one, with a score for each class of each example", outputs),
               "return scores");
}

}  // namespace fedhive::clients::exported
