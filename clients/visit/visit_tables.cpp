#include "clients/visit/visit_tables.h"

#include "aggregation/base/error.h"
#include "aggregation/formulas/simplified.h"
#include "aggregation/math/host_view.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace fedhive::clients {

using aggregation::ConstParamSpan;
using aggregation::HostView;
using aggregation::MemoryOwner;
using aggregation::ParamSpan;
using aggregation::formulas::MethodFormulas;
using aggregation::formulas::MethodMemory;
using aggregation::formulas::Place;
using aggregation::formulas::Target;

namespace {

/// Writes values to a memory, if it is wanted. False if one is not finite.
bool keep(ParamSpan to, const std::vector<float>& values) {
    if (to.size > 0) aggregation::copy(to, ConstParamSpan(values));
    return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

}  // namespace

std::vector<float> counts_by_class(const ExamplesView& examples, std::span<const std::uint32_t> shard, std::size_t classes) {
    std::vector<float> counts(classes, 0.0F);
    for (const std::uint32_t example : shard)
        if (const std::int32_t label = examples.labels[example]; label != kIgnored)
            counts[static_cast<std::size_t>(label)] += 1.0F;
    return counts;
}

VisitTables::VisitTables(const MethodFormulas& method, const aggregation::Memories& memories,
                         aggregation::formulas::RowSizes sizes)
    : sizes_(aggregation::formulas::ClassSizes::of(memories)), end_(method, Place::End, sizes_) {
    for (const MethodMemory& memory : method.memories)
        if (memory.is_by_class() && memory.owner != MemoryOwner::Visit && memories.find(memory.name) != nullptr)
            memories_.push_back(memory);
    for (const MethodMemory& memory : method.memories)
        if (memory.is_number()) numbers_.insert(memory.name);
    if (method.has(Place::Measure)) measure_.emplace(method, sizes);
}

VisitTables::Measure::Measure(const MethodFormulas& method, aggregation::formulas::RowSizes sizes)
    : rows(aggregation::formulas::simplified(method.parsed(Place::Measure), method.keys), sizes), others(rows, method.also_at) {
    answers.wants_features = rows.reads("z");
    for (const Target& target : rows.formulas().targets) sums.emplace_back(sizes.classes * rows.columns_of(target));
}

void VisitTables::begin(const aggregation::VisitMemories& memories, const VisitFacts& facts,
                        const std::map<std::string, double>& numbers, const ExamplesView& examples,
                        std::span<const std::uint32_t> shard) {
    shard_ = shard;
    labels_ = examples.labels;
    for (const MethodMemory& memory : memories_) {
        const bool is_own = memory.owner == MemoryOwner::Client;
        const HostView values(is_own ? memories.own(memory.name) : memories.down(memory.name));
        const std::size_t floats = sizes_.floats_of(memory.value_shape());
        std::vector<float>& read = read_[memory.name];
        read.assign(values.host().begin(), values.host().end());
        read.resize(floats, 0.0F);  // a client's own before its first update
        end_.set(memory.name, read);
    }
    if (end_.reads("counts") || (measure_ && measure_->rows.reads("counts")))
        counts_ = counts_by_class(examples, shard, sizes_.classes);
    end_.set("counts", counts_);
    take_facts(facts, numbers);
}

void VisitTables::take_facts(const VisitFacts& facts, const std::map<std::string, double>& numbers) {
    const auto set = [&](std::string_view name, double value) {
        end_.set(name, value);
        if (measure_) measure_->rows.set(name, value);
    };
    set("round", static_cast<double>(facts.round));
    set("n", static_cast<double>(facts.num_examples));
    set("lr", facts.lr);
    for (const auto& [name, value] : numbers) set(name, value);
    if (!measure_) return;
    if (!counts_.empty()) measure_->rows.set_counts(counts_);
    each_read([&](std::string_view name, std::span<const float> values) { measure_->rows.set_by_class(name, values); });
}

void VisitTables::measure(Evaluation& evaluation, ConstParamSpan model, const ExamplesView& from, std::uint64_t chunk,
                          const ModelAt& model_at, const std::function<void()>& after_piece) {
    Measure& measure = measure_.value();
    for (std::vector<double>& sums : measure.sums) std::ranges::fill(sums, 0.0);
    if (!measure.others.any()) evaluation.begin(model);
    for (std::size_t first = 0; first < shard_.size(); first += chunk) {
        const std::span<const std::uint32_t> examples =
            shard_.subspan(first, std::min<std::size_t>(chunk, shard_.size() - first));
        const std::span<const aggregation::formulas::RowAnswers> others =
            measure.others.answers(evaluation, model_at, from, examples);
        if (measure.others.any()) evaluation.begin(model);
        evaluation.answer(from, examples, measure.answers);
        measure.labels.clear();
        for (const std::uint32_t example : examples) measure.labels.push_back(labels_[example]);
        measure.rows.add_by_class({.rows = examples.size(),
                                   .labels = measure.labels.data(),
                                   .logits = measure.answers.logits.data(),
                                   .features = measure.answers.wants_features ? measure.answers.features.data() : nullptr,
                                   .others = others},
                                  measure.sums);
        if (after_piece) after_piece();
    }
    for (std::size_t t = 0; t < measure.sums.size(); ++t) {
        const std::string& name = measure.rows.formulas().targets[t].name;
        std::vector<float>& rounded = measure.rounded[name];
        if (!numbers_.contains(name)) {
            rounded.assign(measure.sums[t].begin(), measure.sums[t].end());
            end_.set(name, rounded);
            continue;
        }
        rounded = {static_cast<float>(std::accumulate(measure.sums[t].begin(), measure.sums[t].end(), 0.0))};
        measured_numbers_[name] = static_cast<double>(rounded.front());
        end_.set(name, measured_numbers_[name]);
    }
}

bool VisitTables::end(const aggregation::VisitMemories& memories, double steps, double loss) {
    end_.set("steps", steps);
    end_.set("loss", loss);
    end_.run();
    bool finite = true;
    for (const auto& [name, values] : end_.results()) finite = keep(memories.written(name), values) && finite;
    if (measure_)
        for (const auto& [name, values] : measure_->rounded) finite = keep(memories.written(name), values) && finite;
    return finite;
}

}  // namespace fedhive::clients
