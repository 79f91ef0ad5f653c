// A network from torch.export as plain structs: a sequence of operations, and the tensors on which they begin. It is only data: operations
// are looked up in a list of allowed ones (operations.h), and nothing in it runs as code.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace fedhive::clients::exported {

struct Graph;

/// An argument or a result of an operation.
struct Argument {
    enum class Kind : std::uint8_t {
        None,
        Tensor,
        Tensors,
        Int,
        Ints,
        Float,
        Floats,
        Bool,
        Bools,
        Text,
        SymInt,
        SymInts,
        SymFloat,
        SymBool,
        ScalarType,
        MemoryFormat,
        Layout,
        Device,
        Graph
    };
    Kind kind = Kind::None;
    std::string text{};                // a value's name, a text, a device
    std::vector<std::string> names{};  // of a list: names of values; "": None, or a number in `ints`
    std::vector<std::int64_t> ints{};
    std::vector<double> floats{};
    std::int64_t number = 0;
    double real = 0.0;
    std::shared_ptr<const exported::Graph> graph{};

    bool is_value() const {
        return kind == Kind::Tensor || kind == Kind::SymInt || kind == Kind::SymFloat || kind == Kind::SymBool;
    }
};

struct NamedArgument {
    std::string name;
    Argument value;
};

struct Node {
    std::string target;  // "torch.ops.aten.conv2d.default"
    std::vector<NamedArgument> inputs;
    std::vector<Argument> outputs;

    /// null if the argument is left out or has no name.
    const Argument* input(const std::string& name) const;

    /// For an operation that runs a graph of its own: the values passed to that graph, in the order of its inputs.
    std::vector<std::string> operands() const;
};

struct Graph {
    std::vector<Argument> inputs, outputs;
    std::vector<Node> nodes;
};

}  // namespace fedhive::clients::exported
