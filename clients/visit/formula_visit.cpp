#include "clients/visit/formula_visit.h"

#include "aggregation/base/error.h"
#include "aggregation/math/vector_ops.h"

#include <algorithm>

namespace fedhive::clients {

using aggregation::ConstParamSpan;
using aggregation::ParamBuffer;
using aggregation::ParamSpan;
using aggregation::formulas::MethodFormulas;
using aggregation::formulas::MethodMemory;
using aggregation::formulas::Place;

FormulaVisit::FormulaVisit(const MethodText& text, const aggregation::Memories& memories, const aggregation::Layout& layout,
                           const LocalPart& local_part, const Reports& reports, aggregation::MemorySpace space)
    : method_(MethodFormulas::of(text.get())),
      space_(space),
      trainable_(layout.num_trainable()),
      ranges_(aggregation::formulas::ranges_of(layout)),
      shared_ranges_(aggregation::formulas::ranges_of(layout, local_part.names())),
      vectors_(method_, memories, layout, local_part, space),
      tables_(method_, memories) {
    if (method_.has(Place::Start)) start_ = executor_of(method_, Place::Start);
    if (method_.has(Place::End) && !method_.of_vectors(Place::End).targets.empty()) end_ = executor_of(method_, Place::End);
    for (const MethodMemory& memory : method_.memories)
        if (method_.changes_in_steps(memory) && memory.is_declared() && !method_.sets(Place::End, memory.name))
            keeps_stepped_ = true;
    for (const std::string& report : method_.reports) report_places_.push_back(reports.index_of(report));
}

void FormulaVisit::add_to(LocalStep& step) {
    if (!method_.has(Place::Gradient)) return;
    gradients_.push_back(&step.add<FormulaGradient>(method_, vectors_, ranges_));
    if (vectors_.has_begun()) gradients_.back()->begin_visit();  // the step is made within a visit
}

void FormulaVisit::take_gradient(TrainingStep& step, const LocalTraining& training, const MeasuredClient& client,
                                 ConstParamSpan sent) {
    mean_gradient(step, training, {}, client.round, client.client_id, client.shard, sent, vectors_.mean_gradient());
}

/// What the client keeps for itself, and buffers, are those of `sent`.
void FormulaVisit::take_losses(ConstParamSpan sent, const LossOfModel& loss_of) {
    for (const aggregation::formulas::LossAt& loss : method_.losses_at) {
        if (loss.at == "w_t") {
            vectors_.set_number(loss.name, loss_of(sent));
            continue;
        }
        if (model_room_.span().size == 0) model_room_ = ParamBuffer(sent.size, space_);
        aggregation::copy(model_room_, sent);
        const ConstParamSpan values = values_of(loss.at);
        for (const auto& range : shared_ranges_)
            aggregation::copy(model_room_.span().part(range.first, range.width), values.part(range.first, range.width));
        vectors_.set_number(loss.name, loss_of(model_room_));
    }
}

ConstParamSpan FormulaVisit::begin(const aggregation::VisitMemories& memories, ConstParamSpan sent, const VisitFacts& facts,
                                   const LossOfModel& loss_of) {
    vectors_.begin(memories, sent, facts);
    began_ = sent;
    take_losses(sent, loss_of);
    if (start_) {
        if (start_room_.span().size == 0) start_room_ = ParamBuffer(sent.size, space_);
        aggregation::copy(start_room_, sent);
        vectors_.set_all(*start_);
        start_->write_to("w", start_room_);
        start_->run(ranges_);
        began_ = start_room_;
    }
    for (FormulaGradient* gradient : gradients_) gradient->begin_visit();
    return began_;
}

ConstParamSpan FormulaVisit::values_of(std::string_view name) const {
    if (name == "w_0") return began_;
    ConstParamSpan found{};
    vectors_.each([&](std::string_view one, ConstParamSpan values) {
        if (one == name) found = values;
    });
    FEDHIVE_CHECK(found.size > 0, "a visit has no '{}'", name);
    return found;
}

bool FormulaVisit::end(const aggregation::VisitMemories& memories, ConstParamSpan local, const ClientResult& result,
                       double loss, ReportValues& reports) {
    if (keeps_stepped_) keep_stepped(memories);
    if (end_) run_end(memories, local, result, loss, reports);
    return !tables_.has_end() || tables_.end(memories, static_cast<double>(result.steps), loss);
}

/// What steps have made of memories that `end` does not set: the client's as they are, and what comes up without the client's own part.
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
}

FormulaJudge::FormulaJudge(const MethodText& text, const aggregation::Memories& memories, const aggregation::Layout& layout,
                           const LocalPart& local_part, aggregation::MemorySpace space)
    : ranges_(aggregation::formulas::ranges_of(layout)),
      vectors_(MethodFormulas::of(text.get()), memories, layout, local_part, space),
      judge_(executor_of(MethodFormulas::of(text.get()), Place::Judge)),
      room_(layout.num_floats(), space) {}

ConstParamSpan FormulaJudge::model(const aggregation::VisitMemories& memories, ConstParamSpan sent, const VisitFacts& facts) {
    vectors_.begin(memories, sent, facts);
    aggregation::copy(room_, sent);
    vectors_.set_all(judge_);
    judge_.write_to("w", room_);
    judge_.run(ranges_);
    return room_;
}

}  // namespace fedhive::clients
