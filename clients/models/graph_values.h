// The values of a graph with their shapes, and the layers as which its operations are read, one by one (graph_readers.h).
// graph_layers.cpp finds the structure that connects the values.
#pragma once

#include "clients/exported/program.h"
#include "clients/models/graph_attention.h"
#include "clients/models/graph_call.h"
#include "clients/models/layer_kind.h"
#include "clients/models/layer_list.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace fedhive::clients {

/// A list entry; `given` has at least the kind's keys without a default. Throws ConfigError for a number outside a key's range.
ListedLayer listed_layer(LayerKind kind, const Values& given = {});

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
    bool takes_tokens() const { return program_.takes_tokens; }

    /// The steps by the name of their value.
    const std::map<std::string, GraphStep>& steps() const { return steps_; }

    // What an operation's reader (graph_readers.h) asks for, and what it leaves here. GraphCall::refuse() ends the reading.

    struct Value {
        Shape shape;
        bool shared = false;    // other values alias its memory, or will: they would see a write in place
        bool squeezed = false;  // the input without those sizes of 1 that the layers' input has
    };
    struct Layer {
        LayerKind kind = LayerKind::Linear;
        Values given;
    };

    /// The value of an operand. Refuses an operand that is not computed from the examples.
    const Value& operand(GraphCall& call, const char* name) const;

    const Shape& shape_of(const std::string& value) const { return values_.at(value).shape; }

    /// The parameter or buffer `value`. Refuses any other value.
    const exported::StoredTensor& tensor(GraphCall& call, const std::string& value, const char* name) const;

    /// Null for a value that is no parameter or buffer.
    const exported::StoredTensor* find_tensor(const std::string& value) const;

    /// Records that the operation computes `layers` of `operand`, with the parameters `called`, by the layer's names for them.
    void keep(GraphCall& call, const char* operand, const std::vector<Layer>& layers,
              const std::map<std::string, std::string>& called = {});

    /// The same for a recurrent layer, which gives its states at all positions, and each stacked layer's last one. One of the two may
    /// be used.
    void keep_recurrent(GraphCall& call, const Layer& layer, const std::map<std::string, std::string>& called);

    /// Records that the operation takes entry `index` (from the end if negative) of a recurrent layer's last states; false if its
    /// operand is not such.
    bool keep_last_state(GraphCall& call, const std::string& states, std::int64_t index);

    /// Records that the operation takes the only entry of a recurrent layer's last states; false if its operand has more or is not such.
    bool keep_only_state(GraphCall& call, const std::string& states);

    /// Records that the operation gives zeros, which is what recurrent layers begin with; whether a value is such.
    void keep_zeros(const GraphCall& call);
    bool is_zeros(const std::string& value) const { return zeros_.contains(value); }

    /// Records that the operation gives 0, 1, …, count − 1; the number of a value that is such, 0 of others.
    void keep_counted(const GraphCall& call, std::int64_t count);
    std::int64_t counted(const std::string& value) const;

    /// Records that the operation gives the rows of the parameter `matrix`, one for each position; the parameter of such a value, empty
    /// if it is none.
    void keep_rows(const GraphCall& call, const std::string& matrix);
    std::string rows(const std::string& value) const;

    /// Records that the operation adds two values of the graph.
    void keep_sum(GraphCall& call, const char* operand, const char* other);

    /// A view of an image's channels as [groups][channels / groups], or with these two exchanged.
    struct Grouped {
        std::string from;  // the image
        std::int64_t groups = 0;
        bool turned = false;
    };
    /// Records that the operation gives such a view; null for a value that is none.
    void keep_grouped(const GraphCall& call, const Grouped& grouped);
    const Grouped* grouped(const std::string& value) const;

    /// Records that the operation gives an image again. Refuses channels in their first order.
    void keep_shuffle(GraphCall& call, const Grouped& grouped);

    /// Records that the operation transposes the parameter `matrix`; the parameter of such a value, empty if it is none.
    void keep_transposed(const GraphCall& call, const std::string& matrix);
    std::string transposed(const std::string& value) const;

    /// Records that the operation gives the number of examples; whether a value is that number.
    void keep_batch_size(const GraphCall& call);
    bool is_batch_size(const std::string& value) const { return batch_sizes_.contains(value); }

private:
    void read(const exported::Node& node);
    void read_attention(const FoundAttention& found);

    struct Made {
        Value value;
        GraphStep step;
    };
    /// Value and step of `layers` of an operand.
    Made made(GraphCall& call, const std::string& operand, Value value, const std::vector<Layer>& layers,
              const std::map<std::string, std::string>& called);

    void keep_made(const GraphCall& call, Made made);

    /// The module of the tensors `called`, by the layer's names for them. Refuses other names in
    /// the module, or a tensor in use already.
    std::string take(GraphCall& call, const std::map<std::string, std::string>& called, std::size_t& first);

    const exported::Program& program_;
    bool takes_rows_ = false;
    std::map<std::string, Value> values_;
    std::map<std::string, GraphStep> steps_;
    std::map<std::string, std::size_t> tensors_, uses_;
    std::map<std::string, std::string> transposed_;  // transposed value → the parameter
    std::map<std::string, std::string> rows_;        // rows of a parameter for each position → the parameter
    std::map<std::string, std::int64_t> counted_;
    std::map<std::string, Grouped> grouped_;
    std::set<std::string> batch_sizes_, zeros_;
    /// A recurrent layer's last states, of as many stacked layers.
    struct LastStates {
        Made last;  // the last layer's
        std::int64_t layers = 0;
    };
    std::map<std::string, LastStates> last_states_;
    std::vector<FoundAttention> attentions_;
    std::set<std::size_t> taken_;
};

}  // namespace fedhive::clients
