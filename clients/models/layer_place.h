// A layer's place in a model: on the top level, in a residual block, or in the block's shortcut.
#pragma once

#include <fmt/format.h>

#include <string>

namespace fedhive::clients {

struct LayerPlace {
    std::string number;             // "3.1", as PlannedLayer::number
    std::string name;               // prefix of its parameters' names, as PlannedLayer::name
    std::string path;               // "[3].residual[1]", as LayerMisfit::path
    std::string list = "residual";  // the model file's name of the list of inner layers

    /// The place of the inner layer `index`. `given`: its name; if empty, its index serves.
    LayerPlace below(std::size_t index, const std::string& given) const {
        const std::string dot = number.empty() ? "" : ".";
        const std::string own = fmt::format("{}{}{}", name, dot, given.empty() ? std::to_string(index) : given);
        return {fmt::format("{}{}{}", number, dot, index), own,
                fmt::format("{}{}[{}]", path, number.empty() ? "" : "." + list, index)};
    }

    /// The place of this residual's shortcut. `given`: its name.
    LayerPlace beside(const std::string& given) const { return {number + ".shortcut", name + "." + given, path, "shortcut"}; }
};

}  // namespace fedhive::clients
