#include "clients/exported/ends.h"

#include <doctest/doctest.h>

namespace fedhive::clients::exported {

namespace {

Argument named(const std::string& name) { return {.kind = Argument::Kind::Tensor, .text = name}; }

/// A graph that applies operations to x in sequence: {"view.default", "linear.default"}.
Graph chain_of(const std::vector<std::string>& operations) {
    Graph graph{.inputs = {named("weight"), named("x")}, .outputs = {}, .nodes = {}};
    std::string value = "x";
    for (std::size_t i = 0; i < operations.size(); ++i) {
        const std::string made = "value_" + std::to_string(i);
        graph.nodes.push_back({.target = "torch.ops.aten." + operations[i],
                               .inputs = {{"self", named(value)}, {"weight", named("weight")}},
                               .outputs = {named(made)}});
        value = made;
    }
    graph.outputs = {named(value)};
    return graph;
}

}  // namespace

TEST_SUITE("GraphEnds") {
    TEST_CASE("WhatOnlyChangesAShapeIsLookedThrough") {
        const Graph graph =
            chain_of({"view.default", "to.dtype", "linear.default", "relu.default", "softmax.int", "reshape.default"});
        CHECK(first_operations(graph) == std::set<std::string>{"linear"});
        CHECK(last_operation(graph) == "softmax");
        CHECK(last_operation(chain_of({"softmax.int", "linear.default"})) == "linear");
        CHECK(last_operation(chain_of({"log_softmax.int"})) == "log_softmax");
        CHECK(last_operation(chain_of({})).empty());
    }

    TEST_CASE("SizesAreNoUseOfTheInput") {
        Graph graph = chain_of({"sub.Tensor", "conv2d.default"});
        graph.nodes.insert(graph.nodes.begin(), Node{.target = "torch.ops.aten.sym_size.int",
                                                     .inputs = {{"self", named("x")}},
                                                     .outputs = {{.kind = Argument::Kind::SymInt, .text = "n"}}});
        CHECK(first_operations(graph) == std::set<std::string>{"sub"});
        CHECK(last_operation(graph) == "conv2d");
    }

    TEST_CASE("InputInAListIsTaken") {
        Graph graph = chain_of({"linear.default"});
        graph.nodes.push_back({.target = "torch.ops.aten.cat.default",
                               .inputs = {{"tensors", {.kind = Argument::Kind::Tensors, .names = {"value_0", "x"}}}},
                               .outputs = {named("joined")}});
        CHECK(first_operations(graph) == std::set<std::string>{"cat", "linear"});
    }
}

}  // namespace fedhive::clients::exported
