// The sequence of a client's batches, the same for each engine and way of training.
#pragma once

#include "aggregation/base/random.h"
#include "clients/visit/local_training.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace fedhive::clients {

class LocalBatches {
public:
    /// shard: indices of the client's training examples, at least one; must stay unchanged.
    LocalBatches(const LocalTraining& plan, std::uint32_t round, std::uint32_t client_id, std::span<const std::uint32_t> shard)
        : shard_(shard),
          beginning_(plan.seed, Purpose::Shuffle, round, client_id),
          shuffling_(beginning_),
          order_(shard.begin(), shard.end()),
          batch_size_(plan.batch_size),
          per_epoch_(plan.steps_of_epoch(shard.size())),
          num_steps_(plan.steps_of(shard.size())),
          dropout_seed_(Stream(plan.seed, Purpose::Dropout, round, client_id).next_u64()) {}

    std::uint64_t num_steps() const { return num_steps_; }

    /// Seed of all draws in the client's steps, except the order of its examples.
    std::uint64_t dropout_seed() const { return dropout_seed_; }

    /// The batch of the next local step, empty after the last one; valid until the next call.
    RowBatch next() { return next_ < num_steps_ ? at(next_++) : RowBatch{}; }

    /// The batch of local step `step`, from 0. Each pass over the shard is shuffled anew:
    /// going forward is cheaper than going back.
    RowBatch at(std::uint64_t step) {
        go_to_epoch(step / per_epoch_);
        const std::span<const std::uint32_t> from_here = std::span(order_).subspan(step % per_epoch_ * batch_size_);
        const std::size_t size = std::min<std::size_t>(batch_size_, from_here.size());
        return {from_here.first(size), {dropout_seed_, num_epochs_ - 1}, from_here.subspan(size)};
    }

private:
    void go_to_epoch(std::uint64_t epoch) {
        if (num_epochs_ > epoch + 1) {
            shuffling_ = beginning_;
            std::copy(shard_.begin(), shard_.end(), order_.begin());
            num_epochs_ = 0;
        }
        for (; num_epochs_ <= epoch; ++num_epochs_) shuffle(std::span(order_), shuffling_);
    }

    std::span<const std::uint32_t> shard_;
    Stream beginning_, shuffling_;
    std::vector<std::uint32_t> order_;
    std::uint64_t batch_size_, per_epoch_, num_steps_;
    std::uint64_t dropout_seed_;
    std::uint64_t next_ = 0;
    std::uint32_t num_epochs_ = 0;  // passes begun
};

}  // namespace fedhive::clients
