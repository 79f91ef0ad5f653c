// A layer's position in a model: on the top level, in a residual, or in a residual's shortcut.
#pragma once

#include <fmt/format.h>

#include <string>

namespace fedhive::clients {

struct LayerPlace {
    std::string number;             // "3.1", as PlannedLayer::number
    std::string name;               // prefix of its parameters' names, as PlannedLayer::name
    std::string path;               // "[3].residual[1]", as LayerMisfit::path
    std::string list = "residual";  // name of the inner list in the path

    /// The position of the inner layer `index`; `given`: its own part of the name, empty: the index.
    LayerPlace below(std::size_t index, const std::string& given) const {
        const std::string dot = number.empty() ? "" : ".";
        const std::string own = fmt::format("{}{}{}", name, dot, given.empty() ? std::to_string(index) : given);
        return {fmt::format("{}{}{}", number, dot, index), own,
                fmt::format("{}{}[{}]", path, number.empty() ? "" : "." + list, index)};
    }

    /// The position of the shortcut of a residual at this place.
    LayerPlace beside(const std::string& given) const { return {number + ".shortcut", name + "." + given, path, "shortcut"}; }
};

}  // namespace fedhive::clients
