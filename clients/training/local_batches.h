// A client's batches in the order in which it takes them: what every way of training a client goes through.
#pragma once

#include "aggregation/base/random.h"
#include "clients/training/local_training.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace fedhive::clients {

class LocalBatches {
public:
    /// shard: indices of the client's training examples, at least one.
    LocalBatches(const LocalTraining& plan, std::uint32_t round, std::uint32_t client_id, std::span<const std::uint32_t> shard)
        : shuffling_(plan.seed, Purpose::Shuffle, round, client_id),
          order_(shard.begin(), shard.end()),
          batch_size_(plan.batch_size),
          steps_left_(plan.steps_of(shard.size())) {}

    /// Of the next local step, empty after the last one; valid until the next call. Each pass over the shard is shuffled anew.
    std::span<const std::uint32_t> next() {
        if (steps_left_ == 0) return {};
        --steps_left_;
        begins_epoch_ = first_ == 0;
        if (begins_epoch_) {
            shuffle(std::span(order_), shuffling_);
            ++num_epochs_;
        }
        const auto batch = epoch().subspan(first_, std::min<std::size_t>(batch_size_, order_.size() - first_));
        first_ = first_ + batch.size() < order_.size() ? first_ + batch.size() : 0;
        return batch;
    }

    /// Which pass that batch is of, from 0.
    std::uint32_t epoch_index() const { return num_epochs_ - 1; }

    /// Whether the batch that next() gave is the first of a pass.
    bool begins_epoch() const { return begins_epoch_; }

    /// The whole of that pass, of which batches are consecutive parts.
    std::span<const std::uint32_t> epoch() const { return order_; }

private:
    Stream shuffling_;
    std::vector<std::uint32_t> order_;
    std::uint64_t batch_size_;
    std::uint64_t steps_left_;
    std::size_t first_ = 0;         // of the next batch
    std::uint32_t num_epochs_ = 0;  // begun
    bool begins_epoch_ = false;
};

}  // namespace fedhive::clients
