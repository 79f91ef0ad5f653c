// What travels between the server and its clients beside the model, and what a client keeps to itself: a list of vectors by name, from which the
// arena, the bytes that travel, checkpoints, the server's step and what clients keep follow. Plain data, since workers get it through the control
// block.
//
//   a global region   [ model  | control | … ]     what goes down lies behind the model, in the list's order
//   a slot            [ update | control | … ]     what comes up lies in the same places: a change of what went down
//   kept of a slot    [ residual | local | … ]     what neither goes down nor comes up
//
// The model is no entry: it is always there, in front. An empty list is the model alone, and costs nothing.
#pragma once

#include "aggregation/base/error.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace fedhive::aggregation {

inline constexpr std::string_view kModel = "model";
inline constexpr std::string_view kControl = "control";
inline constexpr std::string_view kResidual = "residual";
inline constexpr std::string_view kLocal = "local";

/// What a client keeps when its update is accepted: nothing of the channel, what it kept and this, or this.
enum class Commit : std::uint32_t { Nothing, Add, Set };

/// A channel as whoever needs it says it; but for `local`, it is as long as the trainable part of the model.
struct ChannelSpec {
    std::string_view name;
    bool down = false;
    bool up = false;
    Commit commit = Commit::Nothing;
};

struct Channel {
    static constexpr std::size_t kLongestName = 16;
    std::array<char, kLongestName> characters{};
    std::uint64_t floats = 0;
    std::uint64_t offset = 0;  // behind the model, or from the beginning of what is kept
    bool down = false;
    bool up = false;
    Commit commit = Commit::Nothing;

    std::string_view name() const {
        return {characters.data(),
                static_cast<std::size_t>(std::find(characters.begin(), characters.end(), '\0') - characters.begin())};
    }
    bool travels() const { return down || up; }
};

class Channels {
public:
    static constexpr std::size_t kMost = 4;

    /// At the end of the list. Throws Fault: too many, a name that is too long or there already, a second channel that clients keep.
    void add(const ChannelSpec& spec, std::uint64_t floats) {
        FEDHIVE_CHECK(count_ < kMost, "a channel '{}' beside {}, {} at most", spec.name, count_, kMost);
        FEDHIVE_CHECK(!spec.name.empty() && spec.name.size() <= Channel::kLongestName, "a channel's name '{}'", spec.name);
        FEDHIVE_CHECK(spec.name != kModel && find(spec.name) == nullptr, "two channels '{}'", spec.name);
        FEDHIVE_CHECK(spec.commit == Commit::Nothing || committed() == nullptr, "channel '{}' is a second one that is kept",
                      spec.name);
        Channel channel{.floats = floats, .down = spec.down, .up = spec.up, .commit = spec.commit};
        channel.offset = channel.travels() ? floats_behind() : kept_floats();
        std::copy(spec.name.begin(), spec.name.end(), channel.characters.begin());
        list_[count_++] = channel;
    }

    std::span<const Channel> all() const { return {list_.data(), count_}; }

    /// nullptr where there is none.
    const Channel* find(std::string_view name) const {
        const auto found =
            std::find_if(all().begin(), all().end(), [&](const Channel& channel) { return channel.name() == name; });
        return found == all().end() ? nullptr : &*found;
    }
    /// What clients keep; nullptr: nothing.
    const Channel* committed() const {
        const auto found =
            std::find_if(all().begin(), all().end(), [](const Channel& channel) { return channel.commit != Commit::Nothing; });
        return found == all().end() ? nullptr : &*found;
    }

    std::uint64_t floats_behind() const {
        return floats_of([](const Channel& channel) { return channel.travels(); });
    }
    std::uint64_t kept_floats() const {
        return floats_of([](const Channel& channel) { return !channel.travels(); });
    }

    /// How many vectors go down and come up beside the model.
    std::uint64_t num_down() const {
        return static_cast<std::uint64_t>(
            std::count_if(all().begin(), all().end(), [](const Channel& channel) { return channel.down; }));
    }
    std::uint64_t num_up() const {
        return static_cast<std::uint64_t>(
            std::count_if(all().begin(), all().end(), [](const Channel& channel) { return channel.up; }));
    }

    /// The channel's part of a region or a slot, or of what is kept of a slot; `kModel`: the model's, or its update's. Throws Fault for a name that is
    /// not there, or a span that is not long enough.
    template <typename Span>
    Span of(Span region, std::string_view name) const {
        if (name == kModel) return region.part(0, model_floats(region.size));
        const Channel* channel = find(name);
        FEDHIVE_CHECK(channel != nullptr, "no channel '{}'", name);
        const std::uint64_t offset = channel->offset + (channel->travels() ? model_floats(region.size) : 0);
        FEDHIVE_CHECK(offset + channel->floats <= region.size, "channel '{}' of {} floats from {} on, of {}", name,
                      channel->floats, offset, region.size);
        return region.part(offset, channel->floats);
    }

    /// What of the channel lies in a global region; empty where it does not come down.
    template <typename Span>
    Span come_down(Span region, std::string_view name) const {
        const Channel* channel = find(name);
        return channel != nullptr && channel->down ? of(region, name) : Span{};
    }

private:
    std::uint64_t model_floats(std::uint64_t region) const {
        FEDHIVE_CHECK(region >= floats_behind(), "channels of {} floats in a region of {}", floats_behind(), region);
        return region - floats_behind();
    }

    template <typename Which>
    std::uint64_t floats_of(const Which& which) const {
        std::uint64_t floats = 0;
        for (const Channel& channel : all()) floats += which(channel) ? channel.floats : 0;
        return floats;
    }

    std::array<Channel, kMost> list_{};
    std::uint64_t count_ = 0;
};

}  // namespace fedhive::aggregation
