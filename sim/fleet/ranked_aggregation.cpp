#include "sim/fleet/ranked_aggregation.h"

#include "aggregation/base/divide_up.h"
#include "aggregation/base/error.h"
#include "aggregation/math/mean.h"
#include "aggregation/math/vector_ops.h"
#include "sim/fleet/shared_aggregation.h"

#include <utility>

namespace fedhive::sim {

using aggregation::Aggregate;
using aggregation::ColumnRule;
using aggregation::ConstParamSpan;
using aggregation::MemorySpace;
using aggregation::ParamSpan;
using aggregation::Update;

namespace {

std::span<const std::byte> bytes_of(ConstParamSpan values) { return std::as_bytes(std::span(values.data, values.size)); }
std::span<std::byte> bytes_of(ParamSpan values) { return std::as_writable_bytes(std::span(values.data, values.size)); }

void make_room(aggregation::ParamBuffer& buffer, std::size_t num_floats, MemorySpace space = MemorySpace::Host) {
    if (buffer.span().size < num_floats) buffer = aggregation::ParamBuffer(num_floats, space);
}

}  // namespace

RankedAggregator::RankedAggregator(Ranks& ranks, aggregation::Aggregator& rule, Owner owner, Local local, HowLong patience)
    : ranks_(ranks), rule_(rule), owner_(std::move(owner)), local_(std::move(local)), patience_(std::move(patience)) {}

void RankedAggregator::zero_init(std::size_t num_floats, MemorySpace space) {
    num_floats_ = num_floats;
    space_ = space;
    updates_.clear();
    sums_in_use_ = 0;
}

/// Start of a rank's range, aligned to a cache line.
std::size_t RankedAggregator::begin_of(std::uint32_t rank) const {
    if (whole()) return 0;
    constexpr std::size_t kFloats = 16;
    const std::size_t lines = divide_up(num_floats_, kFloats);
    return std::min(num_floats_, kFloats * ranks_.begin_of(lines, rank));
}

Aggregate RankedAggregator::finish() {
    if (updates_.empty()) throw Fault("nothing to aggregate: no update was accepted");
    std::vector<Part> all = parts();
    // Meet first: a worker that sums may fail, and a rank that already waits for ranges would not hear of it.
    if (updates_.size() * num_floats_ * sizeof(float) >= kSharedBytes) ranks_.all_gather("", patience_());
    bring_ranges_together(all);
    if (whole() && space_ == MemorySpace::Cuda) bring_to_device(all);
    const std::size_t range = range_of(ranks_.rank());
    rule_.zero_init(range, whole() ? space_ : MemorySpace::Host);
    for (const Part& part : all) rule_.aggregate(part.update);
    Aggregate result = rule_.finish();
    if (whole()) return result;
    make_room(result_, num_floats_);
    aggregation::copy(result_.span().part(begin_of(ranks_.rank()), range), result.values);
    hand_out_results();
    result.values = result_.span().first(num_floats_);
    if (space_ == MemorySpace::Host) return result;
    make_room(on_device_, num_floats_, space_);
    aggregation::copy(on_device_.span().first(num_floats_), result.values);
    result.values = on_device_.span().first(num_floats_);
    return result;
}

/// The partial sums; the same list on all ranks, except that only the owner has an entry's values.
std::vector<RankedAggregator::Part> RankedAggregator::parts() {
    std::vector<std::size_t> positions;
    std::vector<std::uint32_t> owners;
    for (const Update& update : updates_) {
        positions.push_back(update.position);
        owners.push_back(owner_(update));
    }
    const std::vector<std::size_t> counts = column_rule() == ColumnRule::Mean ? aggregation::partial_sums(positions, owners)
                                                                              : std::vector<std::size_t>(updates_.size(), 1);
    std::vector<Part> all;
    std::size_t first = 0;
    for (const std::size_t count : counts) {
        all.push_back(part_of(std::span(updates_).subspan(first, count), owners[first]));
        first += count;
    }
    return all;
}

RankedAggregator::Part RankedAggregator::part_of(std::span<const Update> updates, std::uint32_t rank) {
    if (updates.size() == 1) {
        Part part{updates.front(), rank};
        if (rank == ranks_.rank() && space_ == MemorySpace::Cuda) part.update.values = copied(part.update.values);
        return part;
    }
    std::vector<std::size_t> positions;
    std::vector<double> weights;
    Part part{{.values = {}, .position = updates.front().position, .scale = 1.0, .weight = 0.0, .clients = 0}, rank};
    for (const Update& update : updates) {
        positions.push_back(update.position);
        weights.push_back(update.weight);
        part.update.clients += update.clients;
    }
    part.update.weight = aggregation::sum_weights(positions, weights);
    if (rank == ranks_.rank()) part.update.values = sum_of(updates);
    return part;
}

ConstParamSpan RankedAggregator::sum_of(std::span<const Update> updates) {
    aggregation::Aggregator& by_all = local_(*sum_, updates.size());
    by_all.zero_init(num_floats_, space_);
    for (const Update& update : updates) by_all.aggregate(update);
    return copied(by_all.finish().values);
}

/// A copy in host memory, valid until the next zero_init.
ConstParamSpan RankedAggregator::copied(ConstParamSpan values) {
    if (sums_in_use_ == sums_.size()) sums_.emplace_back();
    aggregation::ParamBuffer& buffer = sums_[sums_in_use_++];
    make_room(buffer, num_floats_);
    aggregation::copy(buffer.span().first(num_floats_), values);
    aggregation::synchronize(space_);
    return buffer.span().first(num_floats_);
}

/// Moves the others' whole updates to the device; this rank's own stay in their slots.
void RankedAggregator::bring_to_device(std::vector<Part>& parts) {
    std::size_t others = 0;
    for (const Part& part : parts) others += part.rank == ranks_.rank() ? 0 : 1;
    make_room(on_device_, others * num_floats_, space_);
    others = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].rank == ranks_.rank()) {
            parts[i].update.values = updates_[i].values;
            continue;
        }
        const ParamSpan place = on_device_.span().part(others++ * num_floats_, num_floats_);
        aggregation::copy(place, parts[i].update.values);
        parts[i].update.values = place;
    }
}

/// Exchanges the parts: afterwards each part's values are this rank's range of it, or all of it if the rule is not column-wise.
void RankedAggregator::bring_ranges_together(std::vector<Part>& parts) {
    const std::uint32_t mine = ranks_.rank();
    const std::size_t range = range_of(mine);
    std::size_t others = 0;
    for (const Part& part : parts) others += part.rank == mine ? 0 : 1;
    make_room(received_, others * range);
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    for (Part& part : parts) {
        if (part.rank != mine) {
            const ParamSpan place = received_.span().part(in.size() * range, range);
            in.push_back({part.rank, bytes_of(place)});
            part.update.values = place;
            continue;
        }
        for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank)
            if (rank != mine) out.push_back({rank, bytes_of(part.update.values.part(begin_of(rank), range_of(rank)))});
        part.update.values = part.update.values.part(begin_of(mine), range);
    }
    ranks_.exchange(out, in, patience_());
}

void RankedAggregator::hand_out_results() {
    const std::uint32_t mine = ranks_.rank();
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
        if (rank == mine) continue;
        out.push_back({rank, bytes_of(ConstParamSpan(result_.span().part(begin_of(mine), range_of(mine))))});
        in.push_back({rank, bytes_of(result_.span().part(begin_of(rank), range_of(rank)))});
    }
    ranks_.exchange(out, in, patience_());
}

}  // namespace fedhive::sim
