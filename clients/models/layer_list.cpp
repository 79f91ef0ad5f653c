#include "clients/models/layer_list.h"

#include "aggregation/base/error.h"
#include "clients/models/layer_kind.h"

#include <algorithm>

namespace fedhive::clients {

LayerList& LayerList::add(std::string_view kind, const std::vector<float>& arguments, std::string_view name) {
    const auto& catalog = layer_catalog();
    const auto found = std::ranges::find(catalog, kind, &LayerKind::name);
    FEDHIVE_CHECK(found != catalog.end(), "there is no layer '{}'", kind);
    FEDHIVE_CHECK(arguments.size() <= found->keys.size() && found->keys.size() <= ListedLayer::kMostArguments,
                  "{} arguments for {}, which has {}", arguments.size(), kind, found->keys.size());
    FEDHIVE_CHECK(name.size() < sizeof(ListedLayer::name), "the name '{}' is too long", name);
    ListedLayer layer;
    layer.kind = static_cast<std::uint8_t>(found - catalog.begin());
    for (std::size_t i = 0; i < found->keys.size(); ++i)
        layer.arguments[i] = i < arguments.size() ? arguments[i] : default_argument(found->keys[i]);
    layer.name.set(name);
    return append(layer);
}

LayerList& LayerList::end() { return mark(kEnd, {}); }

LayerList& LayerList::shortcut(std::string_view name) { return mark(kShortcut, name); }

LayerList& LayerList::mark(std::uint8_t kind, std::string_view name) {
    FEDHIVE_CHECK(name.size() < sizeof(ListedLayer::name), "the name '{}' is too long", name);
    ListedLayer entry;
    entry.kind = kind;
    entry.name.set(name);
    return append(entry);
}

LayerList& LayerList::append(const ListedLayer& layer) {
    if (size_ == kCapacity)
        throw ConfigError(fmt::format(
            "too many layers; allowed: {}, where the end of a residual and its shortcut each count as one", kCapacity));
    entries_[size_++] = layer;
    return *this;
}

}  // namespace fedhive::clients
