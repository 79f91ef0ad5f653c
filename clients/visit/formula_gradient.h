// The formulas of a method that act in each local step: the gradient, the point of a second gradient, and memories that steps change.
#pragma once

#include "clients/visit/local_step.h"
#include "clients/visit/visit_vectors.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::clients {

/// Vectors of the whole model by name, with their places in an executor.
class WholeVectors {
public:
    /// executor: must outlive this.
    explicit WholeVectors(aggregation::formulas::Executor& executor) : executor_(executor) {}
    void set(std::string_view name, aggregation::ConstParamSpan values);
    /// The executor reads [first, first + width) of each.
    void use(std::size_t first, std::size_t width) const;

private:
    struct Whole {
        std::string name;
        std::size_t place = 0;
        aggregation::ConstParamSpan values;
    };
    aggregation::formulas::Executor& executor_;
    std::vector<Whole> list_{};
};

/// g_2, the gradient at w_2, the point that the formula of `second` gives, on the same batch or on the next one. For an engine with
/// one row. Buffers, such as batch norm's, move by the first gradient's pass only; the loss of a visit is that of the first passes.
///
/// Memory   the first gradient, [trainable], and the model, [P].
class SecondGradient {
public:
    SecondGradient(const aggregation::formulas::MethodFormulas& method,
                   std::vector<aggregation::formulas::ElementRange> ranges);
    SecondGradient(const SecondGradient&) = delete;
    SecondGradient& operator=(const SecondGradient&) = delete;

    aggregation::formulas::Executor& executor() { return executor_; }
    WholeVectors& vectors() { return vectors_; }

    /// Afterwards step's gradient is g_2. The result is the gradient before, until the next call.
    aggregation::ConstParamSpan take(TrainingStep& step, const RowBatch& batch);

private:
    aggregation::formulas::Executor executor_;
    WholeVectors vectors_;
    std::vector<aggregation::formulas::ElementRange> ranges_;
    bool on_next_;
    aggregation::ParamBuffer first_{}, model_{};
};

/// Where formulas act: on these ranges of the model's parameters. `first`: of the model, where the parameters of the step begin, which
/// may have a part of the model alone.
struct StepRanges {
    std::vector<aggregation::formulas::ElementRange> ranges;
    std::size_t first = 0;
};

/// Formulas that a method evaluates in each local step, beside the model.
class FormulaOfSteps : public GradientRule {
public:
    /// A visit has begun: takes its vectors and numbers. began: [P], the model that the first step begins from.
    virtual void begin_visit(aggregation::ConstParamSpan began);

    void begin(const ClientStart& start) override;
    bool acts() const override { return true; }

protected:
    /// vectors: of the visit; must outlive the rule.
    FormulaOfSteps(const aggregation::formulas::MethodFormulas& method, aggregation::formulas::Place place,
                   VisitVectors& vectors, StepRanges where);
    virtual void set_vector(std::string_view name, aggregation::ConstParamSpan values) { whole_.set(name, values); }
    /// Elements [first, first + width) of the step's parameters are read of the vectors, and of memories that steps change written.
    void use(std::size_t first, std::size_t width);

    aggregation::formulas::Executor executor_;
    WholeVectors whole_;
    StepRanges where_;
    VisitVectors& visit_;
    std::uint64_t steps_ = 0;  // before this one

private:
    std::vector<VisitVectors::Stepped> stepped_{};
};

/// w <- the formula of `after`, after each step, and memories that it changes; for an engine with one row. The optimiser's state stays.
class FormulaAfter final : public FormulaOfSteps {
public:
    FormulaAfter(const aggregation::formulas::MethodFormulas& method, VisitVectors& vectors, StepRanges where);

    void change(TrainingStep&, std::span<const RowBatch>) override {}
    void applied(TrainingStep& step) override;
};

/// g <- the formula of `gradient`, and memories that it changes. Rows share the names' values, so a formula that reads a client's own,
/// changes a memory or has a second gradient has one row.
class FormulaGradient final : public FormulaOfSteps {
public:
    FormulaGradient(const aggregation::formulas::MethodFormulas& method, VisitVectors& vectors, StepRanges where);

    void begin_visit(aggregation::ConstParamSpan began) override;
    void change(TrainingStep& step, std::span<const RowBatch> batches) override;
    /// For MethodFormulas::changes_elements(): the present visit's rule, for steps that run inside of a kernel.
    aggregation::formulas::GradientPass pass();

private:
    /// The parameters' elements in a piece, counted from its first.
    struct PieceRanges {
        std::size_t first = 0, width = 0;
        std::vector<aggregation::formulas::ElementRange> ranges;
    };
    std::span<const aggregation::formulas::ElementRange> ranges_in(std::size_t index, const GradientPiece& piece);
    void set_vector(std::string_view name, aggregation::ConstParamSpan values) override;

    std::size_t gradient_, parameters_;  // places in the executor
    bool reads_step_;
    std::optional<SecondGradient> second_{};
    std::vector<PieceRanges> pieces_{};  // of the last step, in its order
};

}  // namespace fedhive::clients
