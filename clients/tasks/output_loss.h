// The loss formula of strategy.file in a process that trains: the formula with the method's keys, the other models whose outputs it reads, and
// the client's examples by class. docs/methods.md, Losses.
#pragma once

#include "aggregation/formulas/method_formulas.h"
#include "aggregation/formulas/row_loss.h"
#include "aggregation/memory/param_span.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::clients {

/// What a method's formulas of an example need from an engine.
struct LossNeeds {
    bool formula = false;   // the method has a loss other than plain cross-entropy (to which its keys may reduce it)
    bool features = false;  // it reads features of some model, or a memory has a row of features for each class
    bool answers = false;   // it has formulas `measure` or `answer`
    bool others = false;    // it reads outputs of other models for the batch
};

/// Throws FormulaError for a formula that is no loss of an example.
LossNeeds loss_needs(const aggregation::formulas::MethodFormulas& method);

class OutputLoss {
public:
    /// Another model whose outputs for the batch the formula reads, in evaluation mode.
    struct Other {
        std::string at;  // name of its parameters: w_t, w_0 or a memory
        bool logits = false, features = false;
        aggregation::ConstParamSpan model{};  // its floats, all or the trainable ones; valid while the client trains
    };

    /// The loss of the method; null if it has none, or its keys reduce it to the cross-entropy. features: of the model, 0 if it has none.
    static std::unique_ptr<OutputLoss> of(const aggregation::formulas::MethodFormulas& method, std::size_t classes,
                                          std::size_t features);

    /// Whether steps compute this loss: from start() to rest(), while a client trains for a round. Other steps, as those of an evaluation
    /// of personal models, compute the run's own loss.
    bool is_on() const { return is_on_; }
    void start() { is_on_ = true; }
    void rest() { is_on_ = false; }

    /// Whether the formula reads the features of the model that trains.
    bool reads_features() const { return rows_.reads("z"); }
    std::span<Other> others() { return others_; }
    std::span<const Other> others() const { return others_; }
    std::size_t classes() const { return sizes_.classes; }
    std::size_t features() const { return sizes_.features; }
    bool reads(std::string_view name) const { return rows_.reads(name); }

    /// Sets a value for the client that trains next. A name that the formula does not read is ignored.
    void set(std::string_view name, double number) { rows_.set(name, number); }
    void set_counts(std::span<const float> counts) { rows_.set_counts(counts); }
    void set_by_class(std::string_view name, std::span<const float> values) { rows_.set_by_class(name, values); }

    /// Σ loss over the rows that count (RowLoss::run); batch.others: by the index of others().
    double run(const aggregation::formulas::RowLossBatch& batch) { return rows_.run(batch); }

private:
    OutputLoss(aggregation::formulas::Formulas formulas, aggregation::formulas::RowSizes sizes,
               const std::vector<aggregation::formulas::OtherAnswers>& also_at);

    aggregation::formulas::RowSizes sizes_;
    aggregation::formulas::RowLoss rows_;
    std::vector<Other> others_{};
    bool is_on_ = false;
};

}  // namespace fedhive::clients
