// The loss of examples by a formula (docs/methods.md, Losses), and its gradients to logits and features, on the host.
//
//   loss_r = formula(logits_r, features z_r and label y_r of example r; its logits and features by other models; values by class; numbers)
//
//   Order    sixteen examples side by side (row_kernels.h), each alone; f32, own exp and log. So an example's bits depend neither on the
//            processor nor, without functions over a batch, on its batch. Losses are added in f64, in the order of the rows.
//
// A formula with functions over the examples of a batch (row_batch.h) has stages: stage k holds the values that depend on k nested ones of
// these functions. A stage is computed for all examples before the next one; gradients go back stage by stage.
#pragma once

#include "aggregation/formulas/expression.h"
#include "aggregation/formulas/numbers.h"
#include "aggregation/formulas/row_batch.h"
#include "aggregation/formulas/row_kernels.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::aggregation::formulas {

/// The numbers of columns of an example.
struct RowSizes {
    std::size_t classes = 0;
    std::size_t features = 0;  // 0: no formula reads features
};

/// Another model's outputs for the examples of a batch: logits [rows][classes], features [rows][features].
struct RowAnswers {
    const float* logits = nullptr;
    const float* features = nullptr;
};

/// The examples of a batch, one a row: the model's outputs, and memory for the gradients.
struct RowLossBatch {
    std::size_t rows = 0;
    const std::int64_t* labels = nullptr;  // [rows], below classes; negative: the row does not count
    float* logits = nullptr;               // [rows][classes]; becomes the gradient
    const float* features = nullptr;       // [rows][features]
    float* features_gradient = nullptr;    // [rows][features], written; null: not wanted
    std::span<const RowAnswers> others{};  // by the index of add_other()
    float weight = 1.0F;                   // factor of the gradient
};

/// The formulas `answer` of a method (method_formulas.h) with one more target: the cross-entropy of the answer.
Formulas with_loss(Formulas answer);

class RowLoss {
public:
    /// formulas: their keys are replaced by numbers (simplified.h); their targets are `loss` alone, those of a method's `measure`, or those of
    /// with_loss(). loops: for tests; null: the fastest.
    RowLoss(Formulas formulas, RowSizes sizes, const RowLoops* loops = nullptr);
    RowLoss(const RowLoss&) = delete;
    RowLoss& operator=(const RowLoss&) = delete;

    /// `NAME.logits` and `NAME.z` are those of `others[index]` from now on.
    void add_other(const std::string& name, std::size_t index);

    bool reads(std::string_view name) const { return formulas_.reads(name); }
    /// Whether an example's loss depends on the others of its batch.
    bool is_over_batch() const { return stages_.size() > 1; }
    /// Whether the loss depends on the features of the model that trains.
    bool moves_features() const;

    /// Sets the value of a name from the next run() on: a number, values by class [classes], or a table [classes][classes or features]. A
    /// value that is never set is 0. A name that no formula reads is ignored.
    void set(std::string_view name, double number);
    void set_by_class(std::string_view name, std::span<const float> values);
    void set_counts(std::span<const float> counts) { set_by_class("counts", counts); }

    /// Σ loss over the rows that count; logits and features_gradient become `weight` times its gradient, 0 for others.
    double run(const RowLossBatch& batch);

    /// sums[t][y_r] += the value of target t, for each row r that counts, in order. sums[t]: [classes][columns of target t]. The batch is only
    /// read.
    void add_by_class(const RowLossBatch& batch, std::span<std::vector<double>> sums);
    /// Writes each row's answer and its loss, for the formulas of with_loss(). answers [rows][classes], losses [rows]; rows that do not count
    /// stay unchanged. The batch is only read.
    void answer(const RowLossBatch& batch, std::span<float> answers, std::span<float> losses);
    std::size_t columns_of(const Target& target) const { return values_[target.node].columns; }
    const Formulas& formulas() const { return formulas_; }

private:
    struct Value {
        enum class When : std::uint8_t { Number, Visit, Example } when = When::Number;
        bool moves = false;  // depends on logits or features
        std::size_t columns = 1;
        std::size_t first = 0, gradient = 0;  // in room_
        std::size_t stage = 0;
    };
    struct Call {
        RowLoop loop = nullptr;
        RowTerms terms{};
        std::array<bool, 3> is_table{};  // operands outside of room_

        /// Runs the call for the group of 16 examples whose values are stored `floats` behind those of the first group.
        void run(std::size_t floats) const;
    };
    /// The calls for the values of one stage.
    struct Stage {
        std::vector<std::size_t> over_batch{};  // functions over the batch, computed before the calls
        std::vector<Call> forward{}, backward{};
    };
    /// A name that has a value for each example.
    struct Input {
        std::size_t node = 0;
        enum class Of : std::uint8_t { Logits, Features, Label } of = Of::Logits;
        std::optional<std::size_t> other{};
    };

    bool is_by_class(const Node& node) const;
    std::size_t width_of(Shape shape) const;
    std::vector<std::size_t> counted_rows(const RowLossBatch& batch) const;
    /// Computes the values of the rows that count, sixteen at a time, and calls take(rows) after each sixteen.
    template <typename Take>
    void each_value(const RowLossBatch& batch, const Take& take);
    void lay_out();
    void plan_calls();
    RowTerms terms_of(std::size_t node);
    void evaluate_visit();
    double number_of(const Node& node) const;
    void load(const RowLossBatch& batch, std::span<const std::size_t> rows, std::size_t floats);
    void store(const RowLossBatch& batch, std::span<const std::size_t> rows, std::size_t floats);
    void reserve(std::size_t groups);
    void begin_gradients(std::size_t floats);
    void evaluate_batch(std::size_t node, std::size_t examples);
    void back_of_batch(std::size_t node, std::size_t examples);
    BatchLanes lanes(std::size_t first, std::size_t columns, std::size_t examples);
    float* at(std::size_t node) { return room_.data() + values_[node].first; }

    Formulas formulas_;
    RowSizes sizes_;
    const RowLoops* loops_;
    std::vector<Value> values_;                   // of nodes
    std::vector<std::optional<double>> numbers_;  // of nodes that are numbers
    std::vector<Input> inputs_{};
    std::vector<float> room_{};  // [value][columns][kRowLanes]; with functions over the batch, once for each sixteen examples
    std::size_t room_of_group_ = 0;   // floats of it for sixteen examples
    std::size_t first_gradient_ = 0;  // gradients come after all values
    std::vector<Call> of_visit_{};
    std::vector<Stage> stages_{};
    std::map<std::size_t, std::vector<double>> products_{};  // of batch_square, by node
    std::map<std::string, std::vector<float>, std::less<>> by_class_{};
    bool is_new_ = true;  // numbers or values by class have changed
};

}  // namespace fedhive::aggregation::formulas
