#include "clients/models/graph_views.h"

#include <algorithm>

namespace fedhive::clients {

using exported::Argument;

namespace {

void view(GraphValues& values, GraphCall& call, bool in_a_row) {
    const bool already = values.operand(call, "self").shape.size() == 1;
    values.keep(
        call, "self",
        in_a_row && !already ? std::vector<GraphValues::Layer>{{LayerKind::Flatten, {}}} : std::vector<GraphValues::Layer>{});
}

}  // namespace

void read_flatten(GraphValues& values, GraphCall& call) {
    if (const GraphValues::Grouped* grouped = values.grouped(call.tensor("self"))) {
        if (call.integer("start_dim", 0) != 1 || call.integer("end_dim", -1) != 2)
            call.refuse("flattens other sizes than groups and their channels");
        return values.keep_shuffle(call, *grouped);
    }
    const auto rank = static_cast<std::int64_t>(values.operand(call, "self").shape.size()) + 1;
    const auto from_front = [&](std::int64_t dim) { return dim < 0 ? dim + rank : dim; };
    const std::int64_t first = from_front(call.integer("start_dim", 0)), last = from_front(call.integer("end_dim", -1));
    if (first == 0 && last > 0) call.refuse("mixes examples");
    if (first != last && (first != 1 || last != rank - 1)) call.refuse("flattens only a part of an example's sizes");
    view(values, call, first != last);
}

void read_view(GraphValues& values, GraphCall& call) {
    const GraphValues::Grouped* grouped = values.grouped(call.tensor("self"));
    const std::string from = grouped != nullptr ? grouped->from : call.tensor("self");
    const Shape shape = grouped != nullptr ? values.shape_of(from) : values.operand(call, "self").shape;
    const Argument* to = call.sizes(call.node().input("shape") != nullptr ? "shape" : "size");
    if (to == nullptr || to->ints.size() < 2) call.refuse("does not give examples with several values");
    const std::string batch = to->names.empty() ? "" : to->names.front();
    const auto size = static_cast<std::int64_t>(num_values(shape));
    Shape wanted(to->ints.begin() + 1, to->ints.end());
    for (std::size_t i = 1; i < to->names.size(); ++i)
        if (!to->names[i].empty()) call.refuse("gives examples of a computed size");
    const bool rest = std::ranges::count(wanted, -1) == 1;
    const bool keeps_batch = batch.empty() ? to->ints.front() == -1 && !rest : values.is_batch_size(batch);
    if (rest && size > 0) {
        const double others = -num_values(wanted);
        if (others > 0) std::ranges::replace(wanted, std::int64_t{-1}, size / static_cast<std::int64_t>(others));
    }
    if (!keeps_batch || num_values(wanted) != num_values(shape)) call.refuse("mixes examples");
    if (grouped != nullptr && wanted == shape) return values.keep_shuffle(call, *grouped);
    const bool groups = grouped == nullptr && shape.size() == 3 && wanted.size() == 4 &&
                        std::equal(wanted.begin() + 2, wanted.end(), shape.begin() + 1);
    if (groups) return values.keep_grouped(call, {from, wanted[0]});
    if (grouped != nullptr || (wanted != shape && wanted.size() != 1)) call.refuse("changes the shape of examples");
    view(values, call, wanted != shape);
}

/// The exchange of groups and channels of a group, [batch, groups, channels, height, width].
void read_turned(GraphValues& values, GraphCall& call, GraphValues::Grouped grouped) {
    const auto from_front = [](std::int64_t dim) { return dim < 0 ? dim + 5 : dim; };
    std::vector<std::int64_t> dims = call.integers("dims");
    std::ranges::transform(dims, dims.begin(), from_front);
    Shape swapped{from_front(call.integer("dim0", 0)), from_front(call.integer("dim1", 0))};
    std::ranges::sort(swapped);
    if (grouped.turned || (dims.empty() ? swapped != Shape{1, 2} : dims != Shape{0, 2, 1, 3, 4}))
        call.refuse("does not exchange groups of channels and the channels of a group");
    grouped.turned = true;
    values.keep_grouped(call, grouped);
}

void read_channel_shuffle(GraphValues& values, GraphCall& call) {
    values.keep(call, "self", {{LayerKind::ChannelShuffle, {{"groups", call.integer("groups", 1)}}}});
}

}  // namespace fedhive::clients
