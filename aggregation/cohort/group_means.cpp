#include "aggregation/cohort/group_means.h"

#include "aggregation/base/error.h"
#include "aggregation/math/vector_ops.h"

#include <algorithm>

namespace fedhive::aggregation {

namespace {

/// Columns at a time: a cache holds the means of a block on the host; a device has one block, so that it starts few kernels.
std::size_t block_of(MemorySpace space, std::size_t num_floats) {
    constexpr std::size_t kHostBlock = 4096;
    return space == MemorySpace::Host ? std::min(kHostBlock, num_floats) : num_floats;
}

}  // namespace

void GroupMeans::zero_init(std::size_t num_floats, MemorySpace space) {
    updates_.reset(num_floats, space);
    if (result_.span().size != num_floats || result_.span().space != space) result_ = ParamBuffer(num_floats, space);
}

void GroupMeans::means_of_block(std::size_t first, std::size_t size) {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        mean_->zero_init(size, updates_.space());
        for (const std::size_t k : groups_[g]) {
            Update update = updates_.all()[k];
            update.values = update.values.part(first, size);
            update.scale = update.weight = 1.0;
            mean_->aggregate(update);
        }
        copy(rows_.span().part(g * size, size), mean_->finish().values);
    }
}

Aggregate GroupMeans::finish() {
    FEDHIVE_CHECK(!groups_.empty(), "no groups of {} updates", updates_.all().size());
    for (const auto& group : groups_)
        FEDHIVE_CHECK(!group.empty() && group.back() < updates_.all().size(), "update {} of {}", group.back(),
                      updates_.all().size());
    const std::size_t block = block_of(updates_.space(), updates_.num_floats());
    if (rows_.span().size < groups_.size() * block || rows_.span().space != updates_.space())
        rows_ = ParamBuffer(groups_.size() * block, updates_.space());
    for (std::size_t first = 0; first < updates_.num_floats(); first += block) {
        const std::size_t size = std::min(block, updates_.num_floats() - first);
        means_of_block(first, size);
        rule_->zero_init(size, updates_.space());
        for (std::size_t g = 0; g < groups_.size(); ++g)
            rule_->aggregate({.values = rows_.span().part(g * size, size), .position = g});
        copy(result_.span().part(first, size), rule_->finish().values);
    }
    return {result_, updates_.weight(), updates_.num_clients()};
}

}  // namespace fedhive::aggregation
