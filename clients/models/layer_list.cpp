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

LayerList& LayerList::end() {
    ListedLayer mark;
    mark.kind = kEnd;
    return append(mark);
}

LayerList& LayerList::append(const ListedLayer& layer) {
    if (size_ == kCapacity)
        throw ConfigError(fmt::format("too many layers; allowed: {}, where the end of a residual counts as one", kCapacity));
    entries_[size_++] = layer;
    return *this;
}

}  // namespace fedhive::clients
