#include "clients/visit/formula_visit.h"

#include "aggregation/base/error.h"
#include "aggregation/formulas/simplified.h"
#include "aggregation/math/vector_ops.h"
#include "clients/tasks/outcome.h"

#include <algorithm>

namespace fedhive::clients {

using aggregation::ConstParamSpan;
using aggregation::ParamBuffer;
using aggregation::ParamSpan;
using aggregation::formulas::MethodFormulas;
using aggregation::formulas::MethodMemory;
using aggregation::formulas::Place;
using aggregation::formulas::RowLoss;

FormulaVisit::FormulaVisit(const MethodText& text, const aggregation::Memories& memories, const aggregation::Layout& layout,
                           const LocalPart& local_part, const Reports& reports, aggregation::MemorySpace space,
                           aggregation::formulas::RowSizes sizes)
    : method_(MethodFormulas::of(text.get())),
      space_(space),
      trainable_(layout.num_trainable()),
      ranges_(aggregation::formulas::ranges_of(layout)),
      shared_ranges_(aggregation::formulas::ranges_of(layout, local_part.names())),
      vectors_(method_, memories, layout, local_part, space),
      tables_(method_, memories, sizes) {
    if (method_.has(Place::Start)) start_ = executor_of(method_, Place::Start);
    if (method_.has(Place::End) && !method_.of_vectors(Place::End).targets.empty()) end_ = executor_of(method_, Place::End);
    for (const MethodMemory& memory : method_.memories)
        if (method_.changes_in_steps(memory) && memory.is_declared() && !method_.sets(Place::End, memory.name))
            keeps_stepped_ = true;
    for (const std::string& report : method_.reports) report_places_.push_back(reports.index_of(report));
    for (const MethodMemory& memory : method_.memories)
        if (memory.is_number() && method_.sets(Place::End, memory.name)) numbers_set_.push_back(memory.name);
}

void FormulaVisit::add_to(LocalStep& step, std::size_t first) {
    const StepRanges where{ranges_, first};
    const std::size_t known = of_steps_.size();
    if (method_.has(Place::Gradient)) of_steps_.push_back(&step.add<FormulaGradient>(method_, vectors_, where));
    if (method_.has(Place::After)) of_steps_.push_back(&step.add<FormulaAfter>(method_, vectors_, where));
    if (!vectors_.has_begun()) return;
    for (std::size_t i = known; i < of_steps_.size(); ++i) of_steps_[i]->begin_visit(began_);
}

std::optional<aggregation::formulas::GradientPass> FormulaVisit::gradient_pass() {
    if (!method_.has(Place::Gradient)) return std::nullopt;
    if (!in_kernels_) in_kernels_.emplace(method_, vectors_, StepRanges{ranges_});
    in_kernels_->begin_visit(began_);
    return in_kernels_->pass();
}

void FormulaVisit::take_gradient(TrainingStep& step, const LocalTraining& training, const MeasuredClient& client,
                                 ConstParamSpan sent) {
    mean_gradient(step, training, {}, client.round, client.client_id, client.shard, sent, vectors_.mean_gradient());
}

ConstParamSpan FormulaVisit::model_at(std::string_view name) {
    return name == "w_0" ? began_ : vectors_.model_at(name, shared_ranges_, model_room_);
}

void FormulaVisit::measure(Evaluation& evaluation, ConstParamSpan trained, const ExamplesView& from, std::uint64_t chunk,
                           const std::function<void()>& after_piece) {
    ConstParamSpan model = trained;
    if (tables_
            .measures_others()) {  // an engine may evaluate where it trains; the last model that it gets is the trained one again
        if (trained_room_.span().size == 0) trained_room_ = ParamBuffer(trained.size, space_);
        aggregation::copy(trained_room_, trained);
        model = trained_room_;
    }
    tables_.measure(
        evaluation, model, from, chunk, [this](std::string_view name) { return model_at(name); }, after_piece);
    for (const auto& [name, value] : tables_.measured_numbers()) vectors_.set_number(name, value);
}

void FormulaVisit::take_losses(const LossOfModel& loss_of) {
    for (const aggregation::formulas::LossAt& loss : method_.losses_at) {
        vectors_.set_number(loss.name, loss_of(model_at(loss.at)));
    }
}

ConstParamSpan FormulaVisit::begin(const aggregation::VisitMemories& memories, ConstParamSpan sent, const VisitFacts& facts,
                                   const LossOfModel& loss_of) {
    vectors_.begin(memories, sent, facts);
    began_ = sent;
    take_losses(loss_of);
    if (start_) {
        if (start_room_.span().size == 0) start_room_ = ParamBuffer(sent.size, space_);
        aggregation::copy(start_room_, sent);
        vectors_.set_all(*start_);
        start_->write_to("w", start_room_);
        start_->run(ranges_);
        began_ = start_room_;
    }
    for (FormulaOfSteps* formulas : of_steps_) formulas->begin_visit(began_);
    return began_;
}

ConstParamSpan FormulaVisit::values_of(std::string_view name) const {
    return name == "w_0" ? began_ : vectors_.values_of(name);
}

bool FormulaVisit::end(const aggregation::VisitMemories& memories, ConstParamSpan local, const ClientResult& result,
                       double loss, ReportValues& reports) {
    if (keeps_stepped_) keep_stepped(memories);
    if (end_) run_end(memories, local, result, loss, reports);
    return !tables_.has_end() || tables_.end(memories, static_cast<double>(result.steps), loss);
}

/// Stores memories that steps changed and `end` does not set: the client's as they are; those that are sent up without the local part.
void FormulaVisit::keep_stepped(const aggregation::VisitMemories& memories) {
    for (const VisitVectors::Stepped& memory : vectors_.stepped()) {
        if (method_.sets(Place::End, memory.name)) continue;
        const ParamSpan written = memories.written(memory.name);
        if (written.size == 0) continue;
        aggregation::copy(written, memory.value);
        const auto declared =
            std::ranges::find(method_.memories, memory.name, [](const MethodMemory& one) { return one.name; });
        if (!declared->up) continue;
        aggregation::set_zero(written);
        for (const auto& range : shared_ranges_)
            aggregation::copy(written.part(range.first, range.width), memory.value.part(range.first, range.width));
    }
}

void FormulaVisit::run_end(const aggregation::VisitMemories& memories, ConstParamSpan local, const ClientResult& result,
                           double loss, ReportValues& reports) {
    vectors_.set_all(*end_);
    end_->set("w_0", began_);
    end_->set("steps", static_cast<double>(result.steps));
    end_->set("loss", loss);
    end_->set("w", local);
    if (end_->reads("u")) {
        if (update_room_.span().size == 0) update_room_ = ParamBuffer(trainable_, space_);
        aggregation::copy(update_room_, local.part(0, trainable_));
        aggregation::add_scaled(update_room_, vectors_.sent().part(0, trainable_), -1.0);
        end_->set("u", ConstParamSpan(update_room_));
    }
    const std::vector<std::string>& stored = end_->program().stored;
    unwanted_.resize(stored.size());
    for (std::size_t i = 0; i < stored.size(); ++i) {
        ParamSpan written = memories.written(stored[i]);
        if (written.size == 0) {
            if (unwanted_[i].span().size == 0) unwanted_[i] = ParamBuffer(trainable_, space_);
            written = unwanted_[i];
        }
        zero_outside(written, shared_ranges_);
        end_->write_to(stored[i], written);
    }
    end_->run(shared_ranges_);
    for (std::size_t r = 0; r < report_places_.size(); ++r) reports[report_places_[r]] = end_->number(method_.reports[r]);
    for (const std::string& name : numbers_set_) {
        const auto value = static_cast<float>(end_->number(name));
        const ParamSpan written = memories.written(name);
        if (written.size > 0) aggregation::copy(written, ConstParamSpan{&value, 1, aggregation::MemorySpace::Host});
    }
}

bool FormulaJudge::is_in(const MethodFormulas& method) { return method.has(Place::Judge) || method.has(Place::Answer); }

FormulaJudge::FormulaJudge(const MethodText& text, const aggregation::Memories& memories, const aggregation::Layout& layout,
                           const LocalPart& local_part, aggregation::MemorySpace space, aggregation::formulas::RowSizes sizes)
    : ranges_(aggregation::formulas::ranges_of(layout)),
      shared_ranges_(aggregation::formulas::ranges_of(layout, local_part.names())),
      vectors_(MethodFormulas::of(text.get()), memories, layout, local_part, space),
      room_(layout.num_floats(), space) {
    const MethodFormulas method = MethodFormulas::of(text.get());
    if (method.has(Place::Judge)) judge_ = executor_of(method, Place::Judge);
    if (!method.has(Place::Answer)) return;
    answer_.emplace(method, sizes);
}

FormulaJudge::Answer::Answer(const MethodFormulas& method, aggregation::formulas::RowSizes sizes)
    : rows(with_loss(aggregation::formulas::simplified(method.parsed(Place::Answer), method.keys)), sizes),
      classes(sizes.classes),
      others(rows, method.also_at),
      own{.wants_features = rows.reads("z")} {}

ConstParamSpan FormulaJudge::model(const aggregation::VisitMemories& memories, ConstParamSpan sent, const VisitFacts& facts) {
    vectors_.begin(memories, sent, facts);
    own_ = sent;
    if (answer_) {
        RowLoss& rows = answer_->rows;
        rows.set("round", static_cast<double>(facts.round));
        rows.set("n", static_cast<double>(facts.num_examples));
        rows.set("lr", facts.lr);
        for (const auto& [name, value] : vectors_.numbers()) rows.set(name, value);
    }
    if (!judge_) return sent;
    aggregation::copy(room_, sent);
    vectors_.set_all(*judge_);
    judge_->write_to("w", room_);
    judge_->run(ranges_);
    own_ = room_;
    return own_;
}

void FormulaJudge::answers(Evaluation& evaluation, const ExamplesView& from, std::span<const std::int32_t> labels,
                           std::span<const std::uint32_t> examples, EvaluationSums& sums) {
    Answer& answer = answer_.value();
    const std::span<const aggregation::formulas::RowAnswers> others = answer.others.answers(
        evaluation, [this](std::string_view name) { return vectors_.model_at(name, shared_ranges_, other_room_); }, from,
        examples);
    evaluation.begin(own_);
    evaluation.answer(from, examples, answer.own);
    answer.labels.clear();
    for (const std::uint32_t example : examples) answer.labels.push_back(labels[example]);
    answer.scores.resize(examples.size() * answer.classes);
    answer.losses.resize(examples.size());
    answer.rows.answer({.rows = examples.size(),
                        .labels = answer.labels.data(),
                        .logits = answer.own.logits.data(),
                        .features = answer.own.wants_features ? answer.own.features.data() : nullptr,
                        .others = others},
                       answer.scores, answer.losses);
    for (std::size_t i = 0; i < examples.size(); ++i) {
        if (answer.labels[i] < 0) {
            sums.add_ignored(1);
            continue;
        }
        sums.add(class_outcome(answer.scores.data() + i * answer.classes, static_cast<std::uint32_t>(answer.classes),
                               static_cast<std::uint32_t>(answer.labels[i])));
        sums.add_loss(static_cast<double>(answer.losses[i]));
    }
}

}  // namespace fedhive::clients
