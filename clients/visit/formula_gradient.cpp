#include "clients/visit/formula_gradient.h"

#include "aggregation/base/error.h"
#include "aggregation/math/vector_ops.h"

#include <algorithm>
#include <utility>

namespace fedhive::clients {

using aggregation::ConstParamSpan;
using aggregation::ParamBuffer;
using aggregation::ParamSpan;
using aggregation::formulas::ElementRange;
using aggregation::formulas::Executor;
using aggregation::formulas::MethodFormulas;
using aggregation::formulas::Place;

namespace {

/// The elements of `ranges` in [first, first + width), counted from `first`.
std::vector<ElementRange> inside(const std::vector<ElementRange>& ranges, std::size_t first, std::size_t width) {
    std::vector<ElementRange> found;
    for (const ElementRange& range : ranges) {
        const std::size_t begin = std::max(range.first, first), end = std::min(range.first + range.width, first + width);
        if (begin < end) found.push_back({begin - first, end - begin});
    }
    return found;
}

std::size_t trained_floats(const std::vector<ElementRange>& ranges) {
    return ranges.empty() ? 0 : ranges.back().first + ranges.back().width;
}

}  // namespace

void WholeVectors::set(std::string_view name, ConstParamSpan values) {
    const auto known = std::find_if(list_.begin(), list_.end(), [&](const Whole& one) { return one.name == name; });
    if (known != list_.end())
        known->values = values;
    else if (const std::size_t place = executor_.place_of(name); place != Executor::kNowhere)
        list_.push_back({std::string(name), place, values});
}

void WholeVectors::use(std::size_t first, std::size_t width) const {
    for (const Whole& whole : list_) executor_.set_at(whole.place, whole.values.part(first, width));
}

SecondGradient::SecondGradient(const MethodFormulas& method, std::vector<ElementRange> ranges)
    : executor_(executor_of(method, Place::Second)),
      vectors_(executor_),
      ranges_(std::move(ranges)),
      on_next_(method.second_on_next) {}

ConstParamSpan SecondGradient::take(TrainingStep& step, const RowBatch& batch) {
    OneRow* const row = step.one_row();
    FEDHIVE_CHECK(row != nullptr, "a second gradient in an engine with several rows");
    const ParamSpan model = step.parameters();
    const ParamSpan gradient = row->gradient();
    if (first_.span().size == 0) {
        first_ = ParamBuffer(gradient.size, gradient.space);
        model_ = ParamBuffer(model.size, model.space);
    }
    aggregation::copy(first_, gradient);
    aggregation::copy(model_, model);
    vectors_.set("g", ConstParamSpan(first_));
    vectors_.set("w", ConstParamSpan(model_));
    vectors_.use(0, gradient.size);
    executor_.write_to("w_2", model.first(gradient.size));
    executor_.run(ranges_);
    RowBatch again = on_next_ ? batch.next_batch() : batch;
    again.counts = false;
    step.compute_gradients({&again, 1});
    aggregation::copy(step.parameters(), model_);
    return first_;
}

FormulaOfSteps::FormulaOfSteps(const MethodFormulas& method, Place place, VisitVectors& vectors, StepRanges where)
    : executor_(executor_of(method, place)), whole_(executor_), where_(std::move(where)), visit_(vectors) {}

void FormulaOfSteps::begin_visit(ConstParamSpan began) {
    visit_.set_all(executor_);
    visit_.each([&](std::string_view name, ConstParamSpan values) { set_vector(name, values); });
    set_vector("w_0", began);
    stepped_ = visit_.stepped();
}

void FormulaOfSteps::begin(const ClientStart&) { steps_ = 0; }

void FormulaOfSteps::use(std::size_t first, std::size_t width) {
    const std::size_t begin = where_.first + first;
    whole_.use(begin, width);
    for (const VisitVectors::Stepped& memory : stepped_) executor_.write_to(memory.name, memory.value.part(begin, width));
}

FormulaGradient::FormulaGradient(const MethodFormulas& method, VisitVectors& vectors, StepRanges where)
    : FormulaOfSteps(method, Place::Gradient, vectors, std::move(where)),
      gradient_(executor_.place_of(method.has(Place::Second) ? "g_2" : "g")),
      parameters_(executor_.place_of("w")),
      reads_step_(executor_.reads("step")) {
    if (method.has(Place::Second)) second_.emplace(method, where_.ranges);
}

void FormulaGradient::set_vector(std::string_view name, ConstParamSpan values) {
    FormulaOfSteps::set_vector(name, values);
    if (second_) second_->vectors().set(name, values);
}

void FormulaGradient::begin_visit(ConstParamSpan began) {
    if (second_) visit_.set_all(second_->executor());
    FormulaOfSteps::begin_visit(began);
}

aggregation::formulas::GradientPass FormulaGradient::pass() {
    whole_.use(0, trained_floats(where_.ranges));
    return executor_.gradient_pass();
}

/// The ranges of the step's next piece.
std::span<const ElementRange> FormulaGradient::ranges_in(const GradientPiece& piece) {
    const std::size_t width = piece.gradients.width;
    if (next_piece_ == pieces_.size()) pieces_.emplace_back();
    PieceRanges& known = pieces_[next_piece_++];
    if (known.first != piece.first || known.width != width)
        known = {piece.first, width, inside(where_.ranges, where_.first + piece.first, width)};
    return known.ranges;
}

void FormulaGradient::begin_step() {
    if (reads_step_) executor_.set("step", static_cast<double>(steps_));
    ++steps_;
    next_piece_ = 0;
}

void FormulaGradient::change_piece(const GradientPiece& piece) {
    use(piece.first, piece.gradients.width);
    executor_.set_at(gradient_, piece.gradients.row(0), piece.gradients.stride);
    executor_.set_at(parameters_, piece.parameters.row(0), piece.parameters.stride);
    executor_.write_to("g", piece.gradients.row(0), piece.gradients.stride);
    executor_.run(ranges_in(piece), piece.gradients.rows);
}

void FormulaGradient::change(TrainingStep& step, std::span<const RowBatch> batches) {
    if (second_) {
        second_->executor().set("step", static_cast<double>(steps_));
        whole_.set("g", second_->take(step, only_batch(batches)));
    }
    begin_step();
    step.for_each_piece([this](const GradientPiece& piece) { change_piece(piece); });
}

FormulaAfter::FormulaAfter(const MethodFormulas& method, VisitVectors& vectors, StepRanges where)
    : FormulaOfSteps(method, Place::After, vectors, std::move(where)) {}

void FormulaAfter::applied(TrainingStep& step) {
    OneRow* const row = step.one_row();
    FEDHIVE_CHECK(row != nullptr, "formulas behind a step in an engine with several rows");
    executor_.set("step", static_cast<double>(steps_++));
    const ParamSpan trained = step.parameters().first(row->gradient().size);
    whole_.set("w", ConstParamSpan(trained));
    use(0, trained.size);
    executor_.write_to("w", trained);
    executor_.run(where_.ranges);
}

}  // namespace fedhive::clients
