// What each value of a graph is made of, in layers: its operations one by one, with the shapes that they give. How the values hang together is for
// graph_layers.cpp to see.
#pragma once

#include "clients/exported/program.h"
#include "clients/models/graph_call.h"
#include "clients/models/layer_kind.h"
#include "clients/models/layer_list.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace fedhive::clients {

/// An entry of a list; `given` has all of the kind's keys, or those without a default. Throws ConfigError for a number that it cannot have.
ListedLayer listed_layer(const std::string& kind, const Values& given = {});

/// From one value to the next: no layer where both are the same to one, two where an operation does what two layers do.
struct GraphStep {
    const exported::Node* node = nullptr;
    std::string from, added;  // of a sum, both
    std::vector<ListedLayer> layers{};
    std::string name{};            // of the module whose parameters the first of them has
    std::size_t first_tensor = 0;  // the first of these: its place in the file

    bool is_sum() const { return !added.empty(); }
};

class GraphValues {
public:
    /// `program` must outlive it; input: what layers get of an example. Throws NoLayer for the first operation that no layer computes.
    GraphValues(const exported::Program& program, const Shape& input);

    const std::string& input() const { return program_.graph.inputs.back().text; }
    const std::string& output() const { return program_.graph.outputs.front().text; }

    /// Whether the graph takes in a row what layers get as an image.
    bool takes_rows() const { return takes_rows_; }

    /// By the value that each gives.
    const std::map<std::string, GraphStep>& steps() const { return steps_; }

private:
    struct Value {
        Shape shape;
        bool shared = false;    // others look at its memory, or will: what is written there they would see
        bool squeezed = false;  // it is the input, without sizes of 1 that the layers' has
    };
    using Reader = void (GraphValues::*)(GraphCall&);

    static Reader reader_of(const std::string& target);
    void read(const exported::Node& node);

    void read_conv2d(GraphCall& call);
    void read_linear(GraphCall& call);
    void read_addmm(GraphCall& call);
    void read_transposed(GraphCall& call);
    void read_embedding(GraphCall& call);
    void read_batch_norm(GraphCall& call);
    void read_group_norm(GraphCall& call);
    void read_layer_norm(GraphCall& call);
    void read_relu(GraphCall& call) { keep(call, "self", {{"relu", {}}}); }
    void read_tanh(GraphCall& call) { keep(call, "self", {{"tanh", {}}}); }
    void read_gelu(GraphCall& call);
    void read_dropout(GraphCall& call) { drop(call, "dropout"); }
    void read_dropout2d(GraphCall& call) { drop(call, "dropout2d"); }
    void read_max_pool(GraphCall& call);
    void read_avg_pool(GraphCall& call);
    void read_adaptive_pool(GraphCall& call);
    void read_mean(GraphCall& call);
    void read_flatten(GraphCall& call);
    void read_view(GraphCall& call);
    void read_size(GraphCall& call);
    void read_sum(GraphCall& call);

    struct Layer {
        std::string kind;
        Values given;
    };
    void drop(GraphCall& call, const std::string& kind);
    void view(GraphCall& call, bool in_a_row);

    /// Its value, computed from the examples.
    const Value& operand(GraphCall& call, const char* name);

    /// A parameter's or buffer's sizes.
    const exported::StoredTensor& tensor(GraphCall& call, const std::string& value, const char* name) const;

    /// The module of these tensors, each called there as its layer calls it; nobody else may use them.
    std::string take(GraphCall& call, const std::map<std::string, std::string>& called, std::size_t& first);

    /// The operation gives what these layers make of its operand, with the parameters `called`, by the layer's names for them.
    void keep(GraphCall& call, const char* operand, const std::vector<Layer>& layers,
              const std::map<std::string, std::string>& called = {});

    const exported::Program& program_;
    bool takes_rows_ = false;
    std::map<std::string, Value> values_;
    std::map<std::string, GraphStep> steps_;
    std::map<std::string, std::size_t> tensors_, uses_;
    std::map<std::string, std::string> transposed_;  // of a matrix that is a parameter, that one
    std::set<std::string> batch_sizes_;
    std::set<std::size_t> taken_;
};

}  // namespace fedhive::clients
