// The formulas of a client's visit (aggregation/formulas/method_formulas.h): where it begins, the gradient of each step, what it
// keeps, sends and reports when it has trained, and the model of its own that an evaluation looks at.
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

/// The mean loss of the client's training examples for a model, [P]; without draws.
using LossOfModel = std::function<double(aggregation::ConstParamSpan model)>;

class FormulaVisit {
public:
    /// layout: of the model; sizes: what it gives for an example, for a method with a measure. Rules for the gradient are added to steps by
    /// add_to().
    FormulaVisit(const MethodText& text, const aggregation::Memories& memories, const aggregation::Layout& layout,
                 const LocalPart& local_part, const Reports& reports, aggregation::MemorySpace space,
                 aggregation::formulas::RowSizes sizes = {});

    /// The step may be made before or within a visit. first: of the model, where the step's parameters begin.
    void add_to(LocalStep& step, std::size_t first = 0);

    /// For MethodFormulas::changes_elements(), within a visit, on a device: g <- the formula, for steps that no LocalStep takes.
    std::optional<aggregation::formulas::GradientPass> gradient_pass();
    /// The parameters on which formulas act.
    std::span<const aggregation::formulas::ElementRange> ranges() const { return ranges_; }

    /// The mean gradient g_t at `sent`, for formulas that read it: before begin(). step: of one client, without gradient rules.
    void take_gradient(TrainingStep& step, const LocalTraining& training, const MeasuredClient& client,
                       aggregation::ConstParamSpan sent);

    /// Before the client's first step. sent: [P], the model that it was sent, with its own local part. loss_of: called for each
    /// loss_at() of the method; may be empty if there is none. The result is where it begins: `sent`, or what `start` gives; valid
    /// until the next visit.
    aggregation::ConstParamSpan begin(const aggregation::VisitMemories& memories, aggregation::ConstParamSpan sent,
                                      const VisitFacts& facts, const LossOfModel& loss_of = {});

    /// Call it after the last step, if has_end(): writes the client's memories, the values that are sent up, if they are wanted, and its
    /// reports. Returns false if a memory by class is not finite.
    /// local: [P], the trained model. Its local part is 0 in the values that are sent up. loss: of the visit.
    ///
    /// Stream   CUDA: waits if a report needs a vector.
    bool end(const aggregation::VisitMemories& memories, aggregation::ConstParamSpan local, const ClientResult& result,
             double loss, ReportValues& reports);

    /// w_t, w_0 or a memory in the present visit, by name. Throws Fault for another name.
    aggregation::ConstParamSpan values_of(std::string_view name) const;
    /// The model, [P], at one of these: what the client keeps for itself, and buffers, are those of `sent`. Valid until the next call.
    aggregation::ConstParamSpan model_at(std::string_view name);
    /// Numbers of the present visit beside its facts, by name.
    const std::map<std::string, double>& numbers() const { return vectors_.numbers(); }

    /// If tables().measures(): sums over the client's examples at the trained model, [P], before end(). As VisitTables::measure().
    void measure(Evaluation& evaluation, aggregation::ConstParamSpan trained, const ExamplesView& from, std::uint64_t chunk,
                 const std::function<void()>& after_piece);

    /// Something is written when the client has trained.
    bool has_end() const { return end_.has_value() || keeps_stepped_ || tables_.has_end(); }

    /// Memories by class: begun beside begin(), measured before end(), which writes them.
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
    bool keeps_stepped_ = false;               // a memory that steps change and `end` does not set outlives the visit
    std::vector<FormulaOfSteps*> of_steps_{};  // rules of the steps
    std::optional<FormulaGradient> in_kernels_{};
    std::optional<aggregation::formulas::Executor> start_{}, end_{};
    std::vector<std::size_t> report_places_{};
    std::vector<std::string> numbers_set_{};  // memories that `end` sets
    // Of the present visit:
    aggregation::ConstParamSpan began_{};
    aggregation::ParamBuffer start_room_{}, update_room_{}, model_room_{}, trained_room_{};
    std::vector<aggregation::ParamBuffer> unwanted_{};  // for what a replay does not keep, by target
};

/// The formulas of `judge` and `answer`: a client's own model, made of the one that is sent and of what the client remembers, and what the
/// client answers to examples.
class FormulaJudge {
public:
    static bool is_in(const aggregation::formulas::MethodFormulas& method);
    /// As FormulaVisit's; sizes: for a method with an answer.
    FormulaJudge(const MethodText& text, const aggregation::Memories& memories, const aggregation::Layout& layout,
                 const LocalPart& local_part, aggregation::MemorySpace space, aggregation::formulas::RowSizes sizes = {});

    /// sent: [P], with the client's own local part. The result, [P], is valid until the next call; buffers are those of `sent`.
    aggregation::ConstParamSpan model(const aggregation::VisitMemories& memories, aggregation::ConstParamSpan sent,
                                      const VisitFacts& facts);

    /// The method has an `answer`, so that answers() evaluates, after model().
    bool has_answer() const { return answer_.has_value(); }
    /// Adds the outcomes of the client's answers to `sums`, and their cross-entropy. labels: of the whole set, in host memory.
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
