// The formulas of a method that are evaluated in each local step, as gradient rules (local_step.h): `second`, `gradient` and `after`
// (aggregation/formulas/method_formulas.h). A visit is a client's training in one round.
#pragma once

#include "clients/visit/local_step.h"
#include "clients/visit/visit_vectors.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::clients {

/// Vectors as long as the model by name, with their indices in an executor.
class WholeVectors {
public:
    /// executor: must outlive this.
    explicit WholeVectors(aggregation::formulas::Executor& executor) : executor_(executor) {}
    void set(std::string_view name, aggregation::ConstParamSpan values);
    /// Gives the executor elements [first, first + width) of each vector.
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

/// Computes g_2, the gradient at the point w_2 that `second` sets, on the same batch or on the next one. For an engine with one row. Only the
/// first gradient's pass changes buffers (BatchNorm statistics) and counts in the visit's loss.
///
/// Memory   the first gradient and the model.
class SecondGradient {
public:
    SecondGradient(const aggregation::formulas::MethodFormulas& method,
                   std::vector<aggregation::formulas::ElementRange> ranges);
    SecondGradient(const SecondGradient&) = delete;
    SecondGradient& operator=(const SecondGradient&) = delete;

    aggregation::formulas::Executor& executor() { return executor_; }
    WholeVectors& vectors() { return vectors_; }

    /// Afterwards step's gradient is g_2. Returns the first gradient, valid until the next call.
    aggregation::ConstParamSpan take(TrainingStep& step, const RowBatch& batch);

private:
    aggregation::formulas::Executor executor_;
    WholeVectors vectors_;
    std::vector<aggregation::formulas::ElementRange> ranges_;
    bool on_next_;
    aggregation::ParamBuffer first_{}, model_{};
};

/// Where formulas act: on these ranges of the model's parameters. first: the element of the model where the step's parameters begin; not 0
/// for a step that trains a part of the model.
struct StepRanges {
    std::vector<aggregation::formulas::ElementRange> ranges;
    std::size_t first = 0;
};

/// A place's formulas that are evaluated in each local step, with the visit's vectors as their inputs.
class FormulaOfSteps : public GradientRule {
public:
    /// To be called when a visit has begun: sets its vectors and numbers. began: [P], the model that the first step begins from.
    virtual void begin_visit(aggregation::ConstParamSpan began);

    void begin(const ClientStart& start) override;
    bool acts() const override { return true; }

protected:
    /// vectors: those of the visit; must outlive the rule.
    FormulaOfSteps(const aggregation::formulas::MethodFormulas& method, aggregation::formulas::Place place,
                   VisitVectors& vectors, StepRanges where);
    virtual void set_vector(std::string_view name, aggregation::ConstParamSpan values) { whole_.set(name, values); }
    /// Sets the elements [first, first + width) of the step's parameters to be read, and of the memories that steps change to be written.
    void use(std::size_t first, std::size_t width);

    aggregation::formulas::Executor executor_;
    WholeVectors whole_;
    StepRanges where_;
    VisitVectors& visit_;
    std::uint64_t steps_ = 0;  // number of steps before this one

private:
    std::vector<VisitVectors::Stepped> stepped_{};
};

/// Evaluates `after` after each step: sets the model w, and memories. For an engine with one row. The optimiser's state stays unchanged.
class FormulaAfter final : public FormulaOfSteps {
public:
    FormulaAfter(const aggregation::formulas::MethodFormulas& method, VisitVectors& vectors, StepRanges where);

    void change(TrainingStep&, std::span<const RowBatch>) override {}
    bool acts_on_elements() const override { return true; }
    void applied(TrainingStep& step) override;
};

/// Evaluates `gradient` in each step: sets the gradient g, and memories. All rows (clients trained at once) share the names' values. So the
/// engine must have one row if a formula reads a client's own value, changes a memory or has a second gradient.
class FormulaGradient final : public FormulaOfSteps {
public:
    FormulaGradient(const aggregation::formulas::MethodFormulas& method, VisitVectors& vectors, StepRanges where);

    void begin_visit(aggregation::ConstParamSpan began) override;
    void change(TrainingStep& step, std::span<const RowBatch> batches) override;
    bool acts_on_elements() const override { return !second_ && executor_.program().passes.size() == 1; }
    void begin_step() override;
    void change_piece(const GradientPiece& piece) override;
    /// For MethodFormulas::changes_elements(): the present visit's rule, for steps that run inside of a kernel.
    aggregation::formulas::GradientPass pass();

private:
    /// The elements of a piece that are parameters, counted from the piece's first element.
    struct PieceRanges {
        std::size_t first = 0, width = 0;
        std::vector<aggregation::formulas::ElementRange> ranges;
    };
    std::span<const aggregation::formulas::ElementRange> ranges_in(const GradientPiece& piece);
    void set_vector(std::string_view name, aggregation::ConstParamSpan values) override;

    std::size_t gradient_, parameters_;  // indices of the two vectors in the executor
    bool reads_step_;
    std::optional<SecondGradient> second_{};
    std::vector<PieceRanges> pieces_{};  // of the last step, in its order
    std::size_t next_piece_ = 0;
};

}  // namespace fedhive::clients
