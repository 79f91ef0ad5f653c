// An engine's table of the kinds of layers that it computes.
#pragma once

#include "aggregation/base/error.h"
#include "clients/models/layer_kind.h"

#include <array>
#include <initializer_list>
#include <optional>

namespace fedhive::clients {

/// Entries by their member `kind`, at most one for each.
template <typename Entry>
class LayerTable {
public:
    LayerTable(std::initializer_list<Entry> entries) {
        for (const Entry& entry : entries) {
            std::optional<Entry>& place = entries_[static_cast<std::size_t>(entry.kind)];
            FEDHIVE_CHECK(!place, "two entries for {}", name_of(entry.kind));
            place = entry;
        }
    }

    /// Null for a kind without an entry.
    const Entry* find(LayerKind kind) const {
        const std::optional<Entry>& place = entries_[static_cast<std::size_t>(kind)];
        return place ? &*place : nullptr;
    }

    /// Throws Fault for a kind without an entry.
    const Entry& at(LayerKind kind) const {
        const Entry* found = find(kind);
        FEDHIVE_CHECK(found != nullptr, "nobody computes layer '{}'", name_of(kind));
        return *found;
    }

private:
    std::array<std::optional<Entry>, kNumLayerKinds> entries_;
};

}  // namespace fedhive::clients
