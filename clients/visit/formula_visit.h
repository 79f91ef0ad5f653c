// A method's formulas (aggregation/formulas/method_formulas.h) in a client's visit, that is, its training in one round: the start point, the
// gradient of each step, and what the client keeps, sends and reports after training. FormulaJudge computes the personal model that an
// evaluation uses.
#pragma once

#include "aggregation/formulas/method_formulas.h"
#include "aggregation/memory/memories.h"
#include "aggregation/memory/param_buffer.h"
#include "clients/models/local_part.h"
#include "clients/protocol/fixed_text.h"
#include "clients/protocol/reports.h"
#include "clients/visit/formula_gradient.h"
#include "clients/visit/local_step.h"
#include "clients/visit/measure_pass.h"
#include "clients/visit/row_others.h"
#include "clients/visit/visit_tables.h"
#include "clients/visit/visit_vectors.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::clients {

/// The method's text in fixed size, for a worker's plan; empty: no method.
using MethodText = FixedText<aggregation::formulas::kLongestMethod>;

/// The mean loss of a model, a vector of its P floats, over the client's training examples; without random draws.
using LossOfModel = std::function<double(aggregation::ConstParamSpan model)>;

class FormulaVisit {
public:
    /// layout: the model's; sizes: of the model's outputs for an example, for a method with `measure`. add_to() adds the rules for the gradient
    /// to a step.
    FormulaVisit(const MethodText& text, const aggregation::Memories& memories, const aggregation::Layout& layout,
                 const LocalPart& local_part, const Reports& reports, aggregation::MemorySpace space,
                 aggregation::formulas::RowSizes sizes = {});

    /// Adds the rules of each local step (formula_gradient.h) to `step`, before or within a visit. first: the element of the model where the
    /// step's parameters begin.
    void add_to(LocalStep& step, std::size_t first = 0);

    /// The gradient's formulas for a kernel that takes the local steps itself; none without such formulas. Within a visit, on a device, of a
    /// method with MethodFormulas::changes_elements().
    std::optional<aggregation::formulas::GradientPass> gradient_pass();
    /// The elements of the parameters.
    std::span<const aggregation::formulas::ElementRange> ranges() const { return ranges_; }

    /// Computes the mean gradient g_t at `sent`, for formulas that read it; to be called before begin(). step: of one client, without gradient
    /// rules.
    void take_gradient(TrainingStep& step, const LocalTraining& training, const MeasuredClient& client,
                       aggregation::ConstParamSpan sent);

    /// To be called before the client's first step; returns the model from which it begins, valid until the next visit: `sent`, or the value
    /// that `start` sets. sent: [P], the model that it was sent, with its own local part. loss_of: called for each loss_at() of the method;
    /// may be empty if there is none.
    aggregation::ConstParamSpan begin(const aggregation::VisitMemories& memories, aggregation::ConstParamSpan sent,
                                      const VisitFacts& facts, const LossOfModel& loss_of = {});

    /// To be called after the last step, if has_end(): writes the client's memories, the values that it sends (if they are needed), and its
    /// reports. Returns false if a memory by class is not finite.
    /// local: [P], the trained model. Values that are sent are 0 in its local part. loss: of the visit.
    ///
    /// Stream   CUDA: waits if a report needs a vector.
    bool end(const aggregation::VisitMemories& memories, aggregation::ConstParamSpan local, const ClientResult& result,
             double loss, ReportValues& reports);

    /// The value of w_t, w_0 or a memory in the present visit. Throws Fault for another name.
    aggregation::ConstParamSpan values_of(std::string_view name) const;
    /// The model, [P], with one of these as its parameters. Its local part and its buffers are those of `sent`. Valid until the next call.
    aggregation::ConstParamSpan model_at(std::string_view name);
    /// The numbers of the present visit, by name, except its facts (VisitFacts).
    const std::map<std::string, double>& numbers() const { return vectors_.numbers(); }

    /// If tables().measures(), to be called before end(): VisitTables::measure() at the trained model, [P].
    void measure(Evaluation& evaluation, aggregation::ConstParamSpan trained, const ExamplesView& from, std::uint64_t chunk,
                 const std::function<void()>& after_piece);

    /// Whether end() has something to write.
    bool has_end() const { return end_.has_value() || keeps_stepped_ || tables_.has_end(); }

    /// The memories by class: begin() begins them, measure() measures them, end() writes them.
    VisitTables& tables() { return tables_; }
    const VisitTables& tables() const { return tables_; }

private:
    void run_end(const aggregation::VisitMemories& memories, aggregation::ConstParamSpan local, const ClientResult& result,
                 double loss, ReportValues& reports);
    void keep_stepped(const aggregation::VisitMemories& memories);
    void take_losses(const LossOfModel& loss_of);

    aggregation::formulas::MethodFormulas method_;
    aggregation::MemorySpace space_;
    std::size_t trainable_;
    std::vector<aggregation::formulas::ElementRange> ranges_, shared_ranges_;  // of all parameters; of those that are sent
    VisitVectors vectors_;
    VisitTables tables_;
    bool keeps_stepped_ = false;               // the client keeps or sends a memory that steps change and `end` does not set
    std::vector<FormulaOfSteps*> of_steps_{};  // rules of the steps
    std::optional<FormulaGradient> in_kernels_{};
    std::optional<aggregation::formulas::Executor> start_{}, end_{};
    std::vector<std::size_t> report_places_{};
    std::vector<std::string> numbers_set_{};  // memories that `end` sets
    // Of the present visit:
    aggregation::ConstParamSpan began_{};
    aggregation::ParamBuffer start_room_{}, update_room_{}, model_room_{}, trained_room_{};
    std::vector<aggregation::ParamBuffer> unwanted_{};  // memory for values that a repeated visit does not keep, by target
};

/// The formulas `judge` and `answer`: a client's own model, computed from the model that is sent and the client's memories, and the client's
/// answers to examples.
class FormulaJudge {
public:
    static bool is_in(const aggregation::formulas::MethodFormulas& method);
    /// Arguments as for FormulaVisit; sizes: for a method with `answer`.
    FormulaJudge(const MethodText& text, const aggregation::Memories& memories, const aggregation::Layout& layout,
                 const LocalPart& local_part, aggregation::MemorySpace space, aggregation::formulas::RowSizes sizes = {});

    /// The client's own model, [P], valid until the next call; buffers are those of `sent`. sent: [P], with the client's own local part.
    aggregation::ConstParamSpan model(const aggregation::VisitMemories& memories, aggregation::ConstParamSpan sent,
                                      const VisitFacts& facts);

    /// Whether the method has `answer`; then answers() evaluates the client, after model().
    bool has_answer() const { return answer_.has_value(); }
    /// Adds the outcomes and the cross-entropy of the client's answers to `sums`. labels: of all examples, in host memory.
    void answers(Evaluation& evaluation, const ExamplesView& from, std::span<const std::int32_t> labels,
                 std::span<const std::uint32_t> examples, EvaluationSums& sums);

private:
    struct Answer {
        Answer(const aggregation::formulas::MethodFormulas& method, aggregation::formulas::RowSizes sizes);

        aggregation::formulas::RowLoss rows;
        std::size_t classes;
        RowOthers others;
        ModelAnswers own{};
        std::vector<std::int64_t> labels{};
        std::vector<float> scores{}, losses{};
    };
    std::vector<aggregation::formulas::ElementRange> ranges_, shared_ranges_;  // as FormulaVisit's
    VisitVectors vectors_;
    std::optional<aggregation::formulas::Executor> judge_{};
    std::optional<Answer> answer_{};
    aggregation::ParamBuffer room_, other_room_{};
    aggregation::ConstParamSpan own_{};  // of the last model()
};

}  // namespace fedhive::clients
