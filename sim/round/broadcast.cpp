#include "sim/round/broadcast.h"

#include "aggregation/math/vector_ops.h"

namespace fedhive::sim {

Broadcast::Broadcast(const clients::UploadPlan& download, bool by_changes, std::uint64_t seed,
                     const aggregation::Layout& layout, const clients::LocalPart& local)
    : chain_(download, layout, layout.without(local.names())), by_changes_(by_changes), seed_(seed) {}

void Broadcast::prepare(ServerState& server) {
    if (!any() || server.sent->round == server.round + 1) return;
    const aggregation::ParamSpan region = server.arena.global(server.sent->region);
    const aggregation::ParamSpan model = server.memories.of(region, aggregation::kModel);
    reserve(model.size, model.space);
    if (by_changes_) aggregation::copy(before_, model);
    aggregation::copy(region, server.region());
    const bool all_have_none = by_changes_ && server.sent->round == 0;
    if (!all_have_none) chain_.compress(model, before_, seed_, static_cast<std::uint32_t>(server.round));
    aggregation::synchronize(model.space);
    server.sent->round = server.round + 1;
}

void Broadcast::reserve(std::size_t size, aggregation::MemorySpace space) {
    if (!any() || before_.span().size > 0) return;
    before_ = aggregation::ParamBuffer(size, space);
    aggregation::set_zero(before_);
}

}  // namespace fedhive::sim
