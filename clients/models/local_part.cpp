#include "clients/models/local_part.h"

#include "aggregation/base/error.h"
#include "aggregation/math/vector_ops.h"
#include "clients/models/model_plan.h"

#include <algorithm>

namespace fedhive::clients {

LocalPart::LocalPart(const ModelSpec& spec) {
    if (!spec.local.any()) return;
    const aggregation::Layout layout = model_layout(spec);
    for (const aggregation::LayoutEntry& entry : layout.entries()) {
        if (!spec.local.match(entry.name)) continue;
        if (!ranges_.empty() && ranges_.back().offset + ranges_.back().size == entry.offset)
            ranges_.back().size += entry.size;
        else
            ranges_.push_back({entry.offset, entry.size});
        names_.push_back(entry.name);
        num_floats_ += entry.size;
        if (entry.kind == aggregation::TensorKind::Parameter) num_parameters_ += entry.size;
    }
}

namespace {

constexpr const char* kLocal = "local";

}  // namespace

aggregation::MemorySpec LocalPart::memory() {
    return {.name = kLocal,
            .owner = aggregation::MemoryOwner::Client,
            .shape = aggregation::MemoryShape::Named,
            .first = aggregation::FirstValue::SentModel,
            .change = aggregation::MemoryChange::Set};
}

aggregation::ConstParamSpan LocalPart::start(aggregation::ConstParamSpan global, const aggregation::VisitMemories& memories,
                                             aggregation::ParamBuffer& room) const {
    if (empty()) return global;
    const aggregation::ConstParamSpan kept = memories.own(kLocal);
    if (kept.size == 0) return global;
    FEDHIVE_CHECK_EQ(kept.size, num_floats_);
    if (room.span().size != global.size) room = aggregation::ParamBuffer(global.size, global.space);
    aggregation::copy(room, global);
    std::uint64_t first = 0;
    for (const Range& range : ranges_) {
        aggregation::copy(room.span().part(range.offset, range.size), kept.part(first, range.size));
        first += range.size;
    }
    return room;
}

aggregation::ConstParamSpan LocalPart::take(const aggregation::VisitMemories& memories,
                                            aggregation::ConstParamSpan model) const {
    const aggregation::ParamSpan kept = memories.written(kLocal);
    FEDHIVE_CHECK_EQ(kept.size, num_floats_);
    std::uint64_t first = 0;
    for (const Range& range : ranges_) {
        aggregation::copy(kept.part(first, range.size), model.part(range.offset, range.size));
        first += range.size;
    }
    return kept;
}

void LocalPart::hide(aggregation::ParamSpan model, aggregation::ConstParamSpan other) const {
    for (const Range& range : ranges_)
        aggregation::copy(model.part(range.offset, range.size), other.part(range.offset, range.size));
}

void LocalPart::clear(aggregation::ParamSpan gradient) const {
    for (const Range& range : ranges_)
        if (range.offset < gradient.size)
            aggregation::set_zero(gradient.part(range.offset, std::min(range.size, gradient.size - range.offset)));
}

}  // namespace fedhive::clients
