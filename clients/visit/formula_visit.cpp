#include "clients/visit/formula_visit.h"

#include "aggregation/math/vector_ops.h"

#include <algorithm>
#include <utility>

namespace fedhive::clients {

using aggregation::ConstParamSpan;
using aggregation::ParamBuffer;
using aggregation::ParamSpan;
using aggregation::formulas::Executor;
using aggregation::formulas::MethodFormulas;
using aggregation::formulas::MethodMemory;
using aggregation::formulas::Place;
using aggregation::formulas::Range;

namespace {

Executor executor_of(const MethodFormulas& method, Place place) {
    Executor executor(method.parsed(place));
    for (const auto& [name, value] : method.keys) executor.set(name, value);
    return executor;
}

void set_facts(Executor& executor, const VisitFacts& facts) {
    executor.set("round", static_cast<double>(facts.round));
    executor.set("n", static_cast<double>(facts.num_examples));
    executor.set("lr", facts.lr);
}

/// The elements of `ranges` in [first, first + width), counted from `first`.
std::vector<Range> inside(const std::vector<Range>& ranges, std::size_t first, std::size_t width) {
    std::vector<Range> found;
    for (const Range& range : ranges) {
        const std::size_t begin = std::max(range.first, first), end = std::min(range.first + range.width, first + width);
        if (begin < end) found.push_back({begin - first, end - begin});
    }
    return found;
}

/// values <- 0 where no range is.
void zero_outside(ParamSpan values, const std::vector<Range>& ranges) {
    if (values.space != aggregation::MemorySpace::Host) return aggregation::set_zero(values);
    std::size_t end = 0;
    for (const Range& range : ranges) {
        std::fill(values.data + end, values.data + range.first, 0.0F);
        end = range.first + range.width;
    }
    std::fill(values.data + end, values.data + values.size, 0.0F);
}

}  // namespace

FormulaGradient::FormulaGradient(const MethodFormulas& method, std::vector<Range> ranges)
    : executor_(executor_of(method, Place::Gradient)),
      ranges_(std::move(ranges)),
      gradient_(executor_.place_of("g")),
      parameters_(executor_.place_of("w")),
      reads_step_(executor_.reads("step")) {}

void FormulaGradient::set_vector(const std::string& name, ConstParamSpan values) {
    const auto known = std::find_if(vectors_.begin(), vectors_.end(), [&](const Whole& one) { return one.name == name; });
    if (known != vectors_.end())
        known->values = values;
    else if (const std::size_t place = executor_.place_of(name); place != Executor::kNowhere)
        vectors_.push_back({name, place, values});
}

void FormulaGradient::begin(const ClientStart& start) {
    steps_ = 0;
    set_vector("w_0", start.global);
}

std::span<const Range> FormulaGradient::ranges_in(std::size_t index, const GradientPiece& piece) {
    const std::size_t width = piece.gradients.width;
    if (index == pieces_.size()) pieces_.emplace_back();
    PieceRanges& known = pieces_[index];
    if (known.first != piece.first || known.width != width) known = {piece.first, width, inside(ranges_, piece.first, width)};
    return known.ranges;
}

void FormulaGradient::change(TrainingStep& step, std::span<const RowBatch>) {
    if (reads_step_) executor_.set("step", static_cast<double>(steps_++));
    std::size_t pieces = 0;
    step.for_each_piece([&](const GradientPiece& piece) {
        for (const Whole& whole : vectors_)
            executor_.set_at(whole.place, whole.values.part(piece.first, piece.gradients.width));
        const std::span<const Range> ranges = ranges_in(pieces++, piece);
        for (std::size_t row = 0; row < piece.gradients.rows; ++row) {
            executor_.set_at(gradient_, piece.gradients.row(row));
            executor_.set_at(parameters_, piece.parameters.row(row));
            executor_.write_to("g", piece.gradients.row(row));
            executor_.run(ranges);
        }
    });
}

FormulaVisit::FormulaVisit(const MethodText& text, const aggregation::Memories& memories, const aggregation::Layout& layout,
                           const LocalPart& local_part, const Reports& reports, aggregation::MemorySpace space)
    : method_(MethodFormulas::of(text.get())),
      space_(space),
      trainable_(layout.num_trainable()),
      ranges_(aggregation::formulas::ranges_of(layout)),
      shared_ranges_(aggregation::formulas::ranges_of(layout, local_part.names())) {
    if (method_.has(Place::Start)) start_ = executor_of(method_, Place::Start);
    if (method_.has(Place::End)) end_ = executor_of(method_, Place::End);
    for (const MethodMemory& memory : method_.memories)
        if (memories.find(memory.name) != nullptr && memory.owner != aggregation::MemoryOwner::Visit)
            memories_.push_back({.name = memory.name,
                                 .is_clients = memory.owner == aggregation::MemoryOwner::Client,
                                 .begins_as_model = memory.begins_as_model});
    for (const std::string& report : method_.reports) report_places_.push_back(reports.index_of(report));
}

void FormulaVisit::add_to(LocalStep& step) {
    if (!method_.has(Place::Gradient)) return;
    gradients_.push_back(&step.add<FormulaGradient>(method_, ranges_));
    if (sent_.size > 0) set_all(*gradients_.back());  // the step is made within a visit
}

void FormulaVisit::set_all(FormulaGradient& gradient) const {
    set_facts(gradient.executor(), facts_);
    gradient.set_vector("w_t", sent_);
    for (const Bound& memory : memories_) gradient.set_vector(memory.name, memory.values);
}

void FormulaVisit::bind(Bound& memory, const aggregation::VisitMemories& memories, ConstParamSpan sent) {
    if (!memory.is_clients) {
        memory.values = memories.down(memory.name);
        return;
    }
    const ConstParamSpan own = memories.own(memory.name);  // in host memory
    if (own.size > 0 && space_ == aggregation::MemorySpace::Host) {
        memory.values = own;
        return;
    }
    if (own.size == 0 && memory.begins_as_model) {
        memory.values = sent.part(0, trainable_);
        return;
    }
    if (memory.room.span().size == 0) memory.room = ParamBuffer(trainable_, space_);
    own.size > 0 ? aggregation::copy(memory.room, own) : aggregation::set_zero(memory.room);
    memory.values = memory.room;
}

void FormulaVisit::set_all(Executor& executor) const {
    set_facts(executor, facts_);
    executor.set("w_t", sent_);
    executor.set("w_0", began_);
    for (const Bound& memory : memories_) executor.set(memory.name, memory.values);
}

ConstParamSpan FormulaVisit::begin(const aggregation::VisitMemories& memories, ConstParamSpan sent, const VisitFacts& facts) {
    facts_ = facts;
    sent_ = began_ = sent;
    for (Bound& memory : memories_) bind(memory, memories, sent);
    if (start_) {
        if (start_room_.span().size == 0) start_room_ = ParamBuffer(sent.size, space_);
        aggregation::copy(start_room_, sent);
        set_all(*start_);
        start_->write_to("w", start_room_);
        start_->run(ranges_);
        began_ = start_room_;
    }
    for (FormulaGradient* gradient : gradients_) set_all(*gradient);
    return began_;
}

void FormulaVisit::end(const aggregation::VisitMemories& memories, ConstParamSpan local, const ClientResult& result,
                       double loss, ReportValues& reports) {
    set_all(*end_);
    end_->set("steps", static_cast<double>(result.steps));
    end_->set("loss", loss);
    end_->set("w", local);
    if (end_->reads("u")) {
        if (update_room_.span().size == 0) update_room_ = ParamBuffer(trainable_, space_);
        aggregation::copy(update_room_, local.part(0, trainable_));
        aggregation::add_scaled(update_room_, sent_.part(0, trainable_), -1.0);
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

}  // namespace fedhive::clients
