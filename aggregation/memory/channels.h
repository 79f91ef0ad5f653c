// Channels: named vectors that travel between server and clients beside the model, or that a client keeps to itself. The
// arena's layout, traffic, checkpoints, the server's step and client states follow from this list. Plain data:
// workers read it from the control block.
//
//   a global region   [ model  | control | … ]     downward channels, stored after the model in the list's order
//   a slot            [ update | control | … ]     upward channels at the same offsets: the change of what went down
//   kept of a slot    [ residual | local | … ]     channels that travel in neither direction
//
// The model is no entry of the list: it always comes first. An empty list means the model alone, at no cost.
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

/// What happens to the client's state when its update is accepted. Nothing: it stays; Add:
/// state += channel; Set: state = channel.
enum class Commit : std::uint32_t { Nothing, Add, Set };

/// A channel as its user (a strategy, an upload step) declares it. Its length is the
/// model's trainable part, except for `local`.
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
    std::uint64_t offset = 0;  // floats: from the end of the model, or from the start of the kept region if it does not travel
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

    /// Appends a channel of `floats` floats. Throws Fault for more than kMost channels, an empty, too long or duplicate name,
    /// or a second channel that clients keep.
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

    /// nullptr if there is no such channel.
    const Channel* find(std::string_view name) const {
        const auto found =
            std::find_if(all().begin(), all().end(), [&](const Channel& channel) { return channel.name() == name; });
        return found == all().end() ? nullptr : &*found;
    }
    /// The channel that updates the clients' state; nullptr if none does.
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

    /// Number of channels that go down to clients, and of those that come up.
    std::uint64_t num_down() const {
        return static_cast<std::uint64_t>(
            std::count_if(all().begin(), all().end(), [](const Channel& channel) { return channel.down; }));
    }
    std::uint64_t num_up() const {
        return static_cast<std::uint64_t>(
            std::count_if(all().begin(), all().end(), [](const Channel& channel) { return channel.up; }));
    }

    /// The channel's part of `region`: a global region, a slot or a slot's kept region. `kModel` gives the model's or the
    /// update's part. Throws Fault for an unknown name or a span that is too short.
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

    /// The channel's part of a global region; empty if it does not go down.
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
