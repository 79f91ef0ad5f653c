#include "clients/exported/unknown_operation.h"

#include "clients/exported/operations.h"
#include "clients/exported/refusal.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <sstream>

namespace fedhive::clients::exported {

namespace {

using Json = nlohmann::json;

/// The innermost place outside of PyTorch's modules in a Python stack trace: "net.py:12, y = torch.special.erfcx(x)".
std::string place_in(const std::string& stack) {
    std::istringstream lines(stack);
    std::string place;
    for (std::string line, code; std::getline(lines, line);) {
        const std::size_t file = line.find("File \""), end = line.find("\", line ");
        if (file == std::string::npos || end == std::string::npos || line.find("/torch/") < end) continue;
        constexpr std::size_t kFile = 6, kLine = 8;  // length of the text before path and number
        const std::string path = line.substr(file + kFile, end - file - kFile);
        const std::string number = line.substr(end + kLine, line.find(',', end + kLine) - end - kLine);
        if (!std::getline(lines, code)) code.clear();
        code.erase(0, code.find_first_not_of(' '));
        place = fmt::format("{}:{}, {}", std::filesystem::path(path).filename().string(), number, code);
    }
    return place;
}

/// Place of the first call that has one. The reader has bounded the graph's depth.
std::string place_of(const std::string& target, const Json& graph) {
    for (const Json& node : graph.at("nodes")) {
        if (node.at("target") == target) {
            const Json about = node.value("metadata", Json::object());
            std::string place = about.is_object() ? place_in(about.value("stack_trace", "")) : "";
            if (!place.empty()) return place;
        }
        for (const Json& input : node.at("inputs")) {
            const Json& argument = input.at("arg");
            std::string place = argument.contains("as_graph") ? place_of(target, argument.at("as_graph").at("graph")) : "";
            if (!place.empty()) return place;
        }
    }
    return "";
}

/// Allowed overloads of that name.
std::vector<std::string> allowed_of(const std::string& name) {
    std::vector<std::string> found;
    for (const std::string_view one : aten_operations())
        if (one.starts_with(name + ".")) found.emplace_back(one);
    return found;
}

}  // namespace

void refuse_operation(const std::string& target, const Json& graph) {
    const bool aten = target.starts_with(kAten);
    const std::string whole = aten ? target.substr(kAten.size()) : target;
    const std::string name = whole.substr(0, whole.find('.'));
    if (aten && (name.starts_with("native_") || name.starts_with("_native_")))
        refuse(shown("aten." + whole) + " belongs to a decomposed graph; export without run_decompositions()", kExport);
    const std::string place = place_of(target, graph);
    const std::string what =
        fmt::format("has the operation {}{}, which is not supported", shown(aten ? "aten." + whole : target),
                    place.empty() ? "" : fmt::format(" ({})", shown(place)));
    const bool in_place = aten && name.ends_with('_');
    const std::string plain = in_place ? name.substr(0, name.size() - 1) : name;
    const std::vector<std::string> others = aten ? allowed_of(plain) : std::vector<std::string>{};
    if (in_place && !others.empty()) refuse(what, fmt::format("h = h.{0}(…) instead of h.{0}_(…)", plain));
    if (whole.ends_with(".out") && !others.empty()) refuse(what, fmt::format("h = torch.{}(…) without out=", plain));
    if (!others.empty()) refuse(fmt::format("{}; supported operations of that name: {}", what, fmt::join(others, ", ")));
    if (!aten && target.starts_with("torch.ops.") && !target.starts_with(kHigherOrder))
        refuse(what + ": only PyTorch's own operations are supported; write it in forward with those");
    refuse(what + " (docs/models.md, \"Any network of PyTorch\"); write it in forward with supported ones");
}

}  // namespace fedhive::clients::exported
