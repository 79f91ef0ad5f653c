// Translates a graph's operations into layers one by one, and computes the shapes of their values. graph_layers.cpp finds the
// structure that connects the values.
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

/// A list entry; `given` has at least the kind's keys without a default. Throws ConfigError for a number outside a key's range.
ListedLayer listed_layer(const std::string& kind, const Values& given = {});

/// The step from one value to the next. It has no layer if a layer would not distinguish the two values, and two layers if the
/// operation does the work of two.
struct GraphStep {
    const exported::Node* node = nullptr;
    std::string from, added;  // operands; `added` is empty unless the step is a sum
    std::vector<ListedLayer> layers{};
    std::string name{};            // module of the first layer's parameters
    std::size_t first_tensor = 0;  // lowest file index of these parameters

    bool is_sum() const { return !added.empty(); }
};

class GraphValues {
public:
    /// `program` must outlive this object; `input`: shape of an example as layers get it. Throws NoLayer for the first
    /// operation that no layer computes.
    GraphValues(const exported::Program& program, const Shape& input);

    const std::string& input() const { return program_.graph.inputs.back().text; }
    const std::string& output() const { return program_.graph.outputs.front().text; }

    /// Whether the graph takes flattened examples where layers get images.
    bool takes_rows() const { return takes_rows_; }

    /// The steps by the name of their value.
    const std::map<std::string, GraphStep>& steps() const { return steps_; }

private:
    struct Value {
        Shape shape;
        bool shared = false;    // other values alias its memory, or will: they would see a write in place
        bool squeezed = false;  // the input without those sizes of 1 that the layers' input has
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

    /// The value of an operand. Refuses an operand that is not computed from the examples.
    const Value& operand(GraphCall& call, const char* name);

    /// The parameter or buffer `value`. Refuses any other value.
    const exported::StoredTensor& tensor(GraphCall& call, const std::string& value, const char* name) const;

    /// The module of the tensors `called`, by the layer's names for them. Refuses other names in
    /// the module, or a tensor in use already.
    std::string take(GraphCall& call, const std::map<std::string, std::string>& called, std::size_t& first);

    /// Records that the operation computes `layers` of `operand`, with the parameters `called`, by the layer's names for them.
    void keep(GraphCall& call, const char* operand, const std::vector<Layer>& layers,
              const std::map<std::string, std::string>& called = {});

    const exported::Program& program_;
    bool takes_rows_ = false;
    std::map<std::string, Value> values_;
    std::map<std::string, GraphStep> steps_;
    std::map<std::string, std::size_t> tensors_, uses_;
    std::map<std::string, std::string> transposed_;  // transposed value → the parameter
    std::set<std::string> batch_sizes_;
    std::set<std::size_t> taken_;
};

}  // namespace fedhive::clients
