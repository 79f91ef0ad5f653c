// A model as data: its layers in forward order. Plain data of fixed size, since workers get it through the control block.
// Inputs and outputs of a kind of layer are defined in clients/models/layers; model_plan.h
// derives shapes and tensors of a list.
#pragma once

#include "clients/models/layer_kind.h"
#include "clients/protocol/fixed_text.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace fedhive::clients {

struct ListedLayer {
    static constexpr std::size_t kMostArguments = 6;

    std::array<float, kMostArguments> arguments{};  // in the order of the kind's keys; 0 for an integer that is left out
    std::uint8_t kind = 0;                          // a LayerKind, or LayerList::kEnd, LayerList::kShortcut
    FixedText<11> name{};                           // prefix of its parameters' names; empty: its number

    bool operator==(const ListedLayer& other) const {
        return kind == other.kind && arguments == other.arguments && name.characters == other.name.characters;
    }
};

/// A list of layers. A residual's layers are the entries between it and kEnd; those after a
/// kShortcut before that end form its shortcut.
class LayerList {
public:
    static constexpr std::size_t kCapacity = 96;
    static constexpr std::uint8_t kEnd = 0xFF, kShortcut = 0xFE;

    /// Appends a layer with arguments in the order of the kind's keys; missing ones get their defaults. A residual is open
    /// until end(). Throws ConfigError when the list is full, Fault for too many arguments.
    LayerList& add(LayerKind kind, const std::vector<float>& arguments = {}, std::string_view name = {});

    /// add() of the kind with that name. Throws Fault for an unknown name.
    LayerList& add(std::string_view kind, const std::vector<float>& arguments = {}, std::string_view name = {});
    LayerList& end();

    /// Makes the following layers, up to end(), the open residual's shortcut; `name` is their part of the parameters' names.
    LayerList& shortcut(std::string_view name = kShortcutName);
    static constexpr std::string_view kShortcutName = "shortcut";

    std::span<const ListedLayer> entries() const { return {entries_.data(), size_}; }
    bool empty() const { return size_ == 0; }
    void clear() { *this = {}; }

    bool operator==(const LayerList&) const = default;

private:
    LayerList& append(const ListedLayer& layer);
    LayerList& mark(std::uint8_t kind, std::string_view name);

    std::array<ListedLayer, kCapacity> entries_{};
    std::uint32_t size_ = 0;
};

static_assert(std::is_trivially_copyable_v<LayerList> &&
              sizeof(LayerList) <= 3460);  // of the 8,192 bytes that a worker's plan may have

}  // namespace fedhive::clients
