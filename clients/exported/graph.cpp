#include "clients/exported/graph.h"

#include <algorithm>

namespace fedhive::clients::exported {

const Argument* Node::input(const std::string& name) const {
    const auto found = std::ranges::find(inputs, name, &NamedArgument::name);
    return found == inputs.end() || name.empty() ? nullptr : &found->value;
}

std::vector<std::string> Node::operands() const {
    std::vector<std::string> names;
    bool behind = false;  // arguments before the graphs configure how they are run
    for (const auto& [name, value] : inputs) {
        if (value.kind == Argument::Kind::Graph)
            behind = true;
        else if (behind && value.kind == Argument::Kind::Tensors)
            names.insert(names.end(), value.names.begin(), value.names.end());
        else if (behind)
            names.push_back(value.text);
    }
    return names;
}

}  // namespace fedhive::clients::exported
