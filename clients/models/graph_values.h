// The values of a graph with their shapes, and the layers that compute them: each operation is read by a reader (graph_readers.h), which
// records layers here. graph_layers.cpp then finds the structure that connects the values.
#pragma once

#include "clients/exported/program.h"
#include "clients/models/graph_arranged.h"
#include "clients/models/graph_attention.h"
#include "clients/models/graph_call.h"
#include "clients/models/graph_constants.h"
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
    std::string name{};                           // module of the first layer's parameters
    std::size_t first_tensor = 0;                 // lowest file index of these parameters
    std::vector<Parameter> tensors{};             // these parameters, if their names are not MODULE.name
    std::map<std::string, std::string> called{};  // their values, by the layer's names for them
    bool attends = false;                         // the step is an attention up to its last linear layer
    bool in_attention = false;                    // the attention of a later step includes it

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

    // The functions that a reader (graph_readers.h) calls: queries first, then those that record. GraphCall::refuse() ends the reading.

    struct Value {
        Shape shape;
        bool shared = false;    // other values alias its memory, so a write in place would change them
        bool squeezed = false;  // the graph's input, without sizes of 1 that the layers' input has
    };
    struct Layer {
        LayerKind kind = LayerKind::Linear;
        Values given;
    };

    /// The value of an operand. Refuses an operand that is not computed from the examples.
    const Value& operand(GraphCall& call, const char* name) const;

    /// Whether the value is computed from the examples, and is one of an example in its own order.
    bool is_computed(const std::string& value) const { return values_.contains(value); }

    const Shape& shape_of(const std::string& value) const { return values_.at(value).shape; }

    /// The parameter or buffer `value`. Refuses any other value.
    const exported::StoredTensor& tensor(GraphCall& call, const std::string& value, const char* name) const;

    /// The parameter or buffer `value`; null for another value.
    const exported::StoredTensor* find_tensor(const std::string& value) const;

    /// Records that the operation computes `layers` from `operand`. called: their parameters, by the layer's names for them.
    void keep(GraphCall& call, const char* operand, const std::vector<Layer>& layers,
              const std::map<std::string, std::string>& called = {});

    /// Records a recurrent layer, whose operation returns the states at all positions and the last state of each stacked layer. The graph may
    /// use one of the two.
    void keep_recurrent(GraphCall& call, const Layer& layer, const std::map<std::string, std::string>& called);

    /// Records that the operation selects entry `index` (from the end if negative) of a recurrent layer's last states. Returns false if its
    /// operand is something else.
    bool keep_last_state(GraphCall& call, const std::string& states, std::int64_t index);

    /// Records that the operation selects the only entry of a recurrent layer's last states. Returns false if they have several entries, or
    /// its operand is something else.
    bool keep_only_state(GraphCall& call, const std::string& states);

    /// keep_zeros() records that the operation returns zeros, the initial state of recurrent layers; the second function tells whether a value
    /// is recorded so.
    void keep_zeros(const GraphCall& call);
    bool is_zeros(const std::string& value) const { return zeros_.contains(value); }

    /// keep_counted() records that the operation returns 0, 1, …, count − 1; the second function returns the count of such a value, else 0.
    void keep_counted(const GraphCall& call, std::int64_t count);
    std::int64_t counted(const std::string& value) const;

    /// keep_rows() records that the operation returns the rows of the parameter `matrix`, one for each position; the second function returns
    /// the parameter of such a value, else an empty name.
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

    /// keep_transposed() records that the operation transposes the parameter `matrix`; the second function returns the parameter of such a
    /// value, else an empty name.
    void keep_transposed(const GraphCall& call, const std::string& matrix);
    std::string transposed(const std::string& value) const;

    /// keep_batches() records that the operation returns a multiple of the number of examples; the second function returns the factor of such a
    /// value, else 0.
    void keep_batches(const GraphCall& call, std::int64_t factor);
    std::int64_t batches(const std::string& value) const;

    /// A sequence in another order: recorded by keep_arranged(), or a sequence itself unless `only_other`; none for another value. The
    /// value's name is given, since an operation may return several.
    void keep_arranged(GraphCall& call, const std::string& name, const Arranged& arranged);
    std::optional<Arranged> arranged(const std::string& value, bool only_other = false) const;

    /// Records that the operation computes a linear layer of a sequence whose features are whole, but whose examples or positions may be
    /// in another order.
    void keep_linear(GraphCall& call, const Arranged& of, const Layer& layer, const std::map<std::string, std::string>& called);

    /// Null for a value that is no constant.
    const GraphConstant* constant(const std::string& value) { return constants_.find(value); }

    /// The scores of an attention that is written as products and a softmax.
    void keep_scores(const GraphCall& call, const AttentionScores& scores);
    const AttentionScores* scores(const std::string& value) const;

    /// Records that the operation gives the values that positions attend to, in heads, in this order of examples, heads, positions and
    /// features (empty: as they are); keep_attention() records that it is the linear layer of these. The latter returns false if its operand
    /// is something else.
    void keep_seen(GraphCall& call, const AttentionScores& scores, const Arranged& values,
                   const std::vector<std::int64_t>& order = {});
    bool keep_attention(GraphCall& call, const std::string& operand, const std::map<std::string, std::string>& called);

private:
    void read(const exported::Node& node);
    void read_layer(GraphCall& call);

    /// Throws if `value` exists already: a step would follow itself.
    void check_new(const GraphCall& call, const std::string& value) const;

    /// What queries, keys or values are made of: a linear layer of a sequence, perhaps scaled.
    struct Projected {
        std::string of, from{};  // the linear layer's result and operand
        std::int64_t features = 0, first = 0;
        double times = 1.0;
    };
    Projected projected(GraphCall& call, const Arranged& part, const char* name) const;
    /// An attention, up to its last linear layer.
    struct Seen {
        std::vector<std::string> parts;  // queries, keys and values; one if a single layer projects them
        std::string from;
        std::int64_t heads = 0;
        bool causal = false;
        double dropout = 0.0;
    };
    const std::string& root(const std::string& value) const;
    void take_into_attention(GraphCall& call, const std::string& value, const std::string& from);

    struct Made {
        Value value;
        GraphStep step;
    };
    /// The value and the step for `layers` computed from an operand.
    Made made(GraphCall& call, const std::string& operand, Value value, const std::vector<Layer>& layers,
              const std::map<std::string, std::string>& called);

    void keep_made(const GraphCall& call, Made made);

    /// Those of the attention whose last linear layer has this operand; none if it is something else.
    std::optional<Made> made_attention(GraphCall& call, const std::string& operand,
                                       const std::map<std::string, std::string>& called);

    /// Records the tensors `called`, by the layer's names for them, in the step. Refuses a tensor that another layer uses.
    void take(GraphCall& call, const std::map<std::string, std::string>& called, GraphStep& step);

    const exported::Program& program_;
    bool takes_rows_ = false;
    std::map<std::string, Value> values_;
    std::map<std::string, GraphStep> steps_;
    std::map<std::string, std::size_t> tensors_, uses_;
    std::map<std::string, std::string> transposed_;  // transposed value → the parameter
    std::map<std::string, std::string> rows_;        // rows of a parameter for each position → the parameter
    std::map<std::string, std::int64_t> counted_;
    std::map<std::string, Grouped> grouped_;
    std::map<std::string, std::int64_t> batches_;
    std::set<std::string> zeros_;
    std::map<std::string, Arranged> arranged_;
    std::map<std::string, AttentionScores> scores_;
    std::map<std::string, Seen> seen_;
    GraphConstants constants_;
    /// The last states of a recurrent layer, one for each stacked layer.
    struct LastStates {
        Made last;  // the last layer's
        std::int64_t layers = 0;
    };
    std::map<std::string, LastStates> last_states_;
    std::set<std::size_t> taken_;
};

}  // namespace fedhive::clients
