#include "clients/visit/visit_vectors.h"

#include "aggregation/base/error.h"
#include "aggregation/formulas/cohort_values.h"
#include "aggregation/math/host_view.h"
#include "aggregation/math/vector_ops.h"

#include <algorithm>

namespace fedhive::clients {

using aggregation::ConstParamSpan;
using aggregation::MemoryOwner;
using aggregation::MemorySpace;
using aggregation::ParamBuffer;
using aggregation::ParamSpan;
using aggregation::formulas::ElementRange;
using aggregation::formulas::Executor;
using aggregation::formulas::MethodFormulas;
using aggregation::formulas::MethodMemory;
using aggregation::formulas::Place;

namespace {

bool any_reads(const MethodFormulas& method, std::string_view name) {
    return std::any_of(method.lines.begin(), method.lines.end(),
                       [&](const auto& of_place) { return method.parsed(of_place.first).reads(name); });
}

/// [trainable], 1 in the tensors that stay with the client, else 0.
ParamBuffer mask_of(const aggregation::Layout& layout, const LocalPart& local_part, MemorySpace space) {
    std::vector<float> values(layout.num_trainable(), 0.0F);
    for (const aggregation::LayoutEntry& entry : layout.entries()) {
        const bool is_local = std::ranges::find(local_part.names(), entry.name) != local_part.names().end();
        if (entry.kind == aggregation::TensorKind::Parameter && is_local)
            std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(entry.offset), entry.size, 1.0F);
    }
    ParamBuffer mask(values.size(), space);
    aggregation::copy(mask, ConstParamSpan{values.data(), values.size(), MemorySpace::Host});
    return mask;
}

}  // namespace

Executor executor_of(const MethodFormulas& method, Place place) {
    Executor executor(method.of_vectors(place));
    aggregation::formulas::set_keys(executor, method);
    return executor;
}

void zero_outside(ParamSpan values, const std::vector<ElementRange>& ranges) {
    if (values.space != MemorySpace::Host) return aggregation::set_zero(values);
    std::size_t end = 0;
    for (const ElementRange& range : ranges) {
        std::fill(values.data + end, values.data + range.first, 0.0F);
        end = range.first + range.width;
    }
    std::fill(values.data + end, values.data + values.size, 0.0F);
}

VisitVectors::VisitVectors(const MethodFormulas& method, const aggregation::Memories& memories,
                           const aggregation::Layout& layout, const LocalPart& local_part, MemorySpace space)
    : space_(space), trainable_(layout.num_trainable()) {
    for (const MethodMemory& memory : method.memories) {
        if (memory.is_by_class()) continue;
        if (memory.is_number()) {
            if (memories.find(memory.name) != nullptr) number_memories_.emplace_back(memory.name, memory.owner);
            continue;
        }
        const bool changes = method.changes_in_steps(memory);
        const bool is_of_visit = memory.owner == MemoryOwner::Visit;
        if (is_of_visit ? !changes : memories.find(memory.name) == nullptr) continue;
        memories_.push_back({.owner = memory.owner,
                             .name = memory.name,
                             .begins_as_model = memory.begins_as_model,
                             .changes_in_steps = changes});
    }
    if (any_reads(method, "local")) mask_ = mask_of(layout, local_part, space);
}

ParamSpan VisitVectors::mean_gradient() {
    if (mean_gradient_.span().size == 0) mean_gradient_ = ParamBuffer(trainable_, space_);
    return mean_gradient_;
}

/// Empty: 0.
ConstParamSpan VisitVectors::before_steps(const Bound& memory, const aggregation::VisitMemories& memories) const {
    const ConstParamSpan own = memory.owner == MemoryOwner::Client ? memories.own(memory.name) : ConstParamSpan();
    return own.size == 0 && memory.begins_as_model ? sent_.part(0, trainable_) : own;
}

void VisitVectors::bind(Bound& memory, const aggregation::VisitMemories& memories) {
    if (memory.owner == MemoryOwner::Server) {
        memory.values = memories.down(memory.name);
        return;
    }
    const ConstParamSpan value = before_steps(memory, memories);
    const bool is_at_hand = value.size > 0 && value.space == space_;  // a record is in host memory
    if (is_at_hand && !memory.changes_in_steps) {
        memory.values = value;
        return;
    }
    if (memory.room.span().size == 0) memory.room = ParamBuffer(trainable_, space_);
    value.size > 0 ? aggregation::copy(memory.room, value) : aggregation::set_zero(memory.room);
    memory.values = memory.room;
}

void VisitVectors::begin(const aggregation::VisitMemories& memories, ConstParamSpan sent, const VisitFacts& facts) {
    facts_ = facts;
    sent_ = sent;
    for (Bound& memory : memories_) bind(memory, memories);
    for (const auto& [name, owner] : number_memories_) {
        const ConstParamSpan kept = owner == MemoryOwner::Client ? memories.own(name) : memories.down(name);
        const ConstParamSpan value = kept.size > 0 ? kept : memories.all->find(name)->first_number();
        numbers_[name] = static_cast<double>(aggregation::HostView(value).host().front());
    }
}

void VisitVectors::set_all(Executor& executor) const {
    executor.set("round", static_cast<double>(facts_.round));
    executor.set("n", static_cast<double>(facts_.num_examples));
    executor.set("steps", static_cast<double>(facts_.steps));
    executor.set("lr", facts_.lr);
    for (const auto& [name, value] : numbers_) executor.set(name, value);
    each([&](std::string_view name, ConstParamSpan values) { executor.set(name, values); });
}

ConstParamSpan VisitVectors::values_of(std::string_view name) const {
    ConstParamSpan found{};
    each([&](std::string_view one, ConstParamSpan values) {
        if (one == name) found = values;
    });
    FEDHIVE_CHECK(found.size > 0, "a visit has no '{}'", name);
    return found;
}

ConstParamSpan VisitVectors::model_at(std::string_view name, const std::vector<ElementRange>& shared, ParamBuffer& room) const {
    if (name == "w_t") return sent_;
    if (room.span().size == 0) room = ParamBuffer(sent_.size, space_);
    aggregation::copy(room, sent_);
    const ConstParamSpan values = values_of(name);
    for (const ElementRange& range : shared)
        aggregation::copy(room.span().part(range.first, range.width), values.part(range.first, range.width));
    return room;
}

std::vector<VisitVectors::Stepped> VisitVectors::stepped() {
    std::vector<Stepped> found;
    for (Bound& memory : memories_)
        if (memory.changes_in_steps) found.push_back({memory.name, memory.room});
    return found;
}

}  // namespace fedhive::clients
