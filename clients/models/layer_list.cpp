#include "clients/models/layer_list.h"

#include "aggregation/base/error.h"

#include <algorithm>

namespace fedhive::clients {

LayerList& LayerList::add(LayerKind kind, const std::vector<float>& arguments, std::string_view name) {
    const std::vector<KeySpec>& keys = layer_spec(kind).keys;
    FEDHIVE_CHECK(arguments.size() <= keys.size() && keys.size() <= ListedLayer::kMostArguments,
                  "{} arguments for {}, which has {}", arguments.size(), name_of(kind), keys.size());
    FEDHIVE_CHECK(name.size() < sizeof(ListedLayer::name), "the name '{}' is too long", name);
    ListedLayer layer;
    layer.kind = static_cast<std::uint8_t>(kind);
    for (std::size_t i = 0; i < keys.size(); ++i)
        layer.arguments[i] = i < arguments.size() ? arguments[i] : default_argument(keys[i]);
    layer.name.set(name);
    return append(layer);
}

LayerList& LayerList::add(std::string_view kind, const std::vector<float>& arguments, std::string_view name) {
    const auto found = std::ranges::find(kLayerNames, kind);
    FEDHIVE_CHECK(found != kLayerNames.end(), "there is no layer '{}'", kind);
    return add(static_cast<LayerKind>(found - kLayerNames.begin()), arguments, name);
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
