// The channel between a split model's halves through the arena: floats go through the `exchange` region of a slot (arena.h), notifications
// through a group of two ranks. The lower half is rank 0, the upper half rank 1.
//
//   exchange   [ activations | their gradient ]     both of the same size
#pragma once

#include "clients/engine/split_channel.h"
#include "clients/protocol/rank_group.h"

#include <cstring>

namespace fedhive::clients {

class ArenaChannel final : public SplitChannel {
public:
    /// `group` must have begun a collective, and must outlive the channel.
    ArenaChannel(RankGroup& group, aggregation::ParamSpan exchange) : group_(group), exchange_(exchange) {}

    aggregation::ParamSpan activations() override { return exchange_.first(exchange_.size / 2); }
    aggregation::ParamSpan gradient() override {
        return {exchange_.data + exchange_.size / 2, exchange_.size / 2, exchange_.space};
    }
    void send_activations(std::size_t count) override { send(count); }
    std::size_t receive_activations() override { return receive<std::size_t>(); }
    void send_gradient(std::size_t count) override { send(count); }
    std::size_t receive_gradient() override { return receive<std::size_t>(); }

    /// The upper half sends the loss after it has written its part of the update; the lower half
    /// receives it before it reads that part.
    void send_loss(double train_loss) { send(train_loss); }
    double receive_loss() { return receive<double>(); }

private:
    /// The place of a word: alternates between two, since the upper half may send the loss while the lower half reads the previous word.
    static std::size_t place(std::uint64_t number) { return number % 2 * sizeof(std::uint64_t); }

    template <typename Value>
    void send(Value value) {
        static_assert(sizeof value <= sizeof(std::uint64_t));
        ++sent_;
        std::memcpy(&group_.cell(group_.rank()).object[place(sent_)], &value, sizeof value);
        group_.publish(sent_);
    }
    template <typename Value>
    Value receive() {
        const std::size_t other = 1 - group_.rank();
        group_.await(other, ++received_);
        Value value{};
        std::memcpy(&value, &group_.cell(other).object[place(received_)], sizeof value);
        return value;
    }

    RankGroup& group_;
    aggregation::ParamSpan exchange_;
    std::uint64_t sent_ = 0;
    std::uint64_t received_ = 0;
};

}  // namespace fedhive::clients
