#include "clients/models/graph_views.h"

#include "clients/exported/operations.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <string_view>

namespace fedhive::clients {

using exported::Argument;

namespace {

void view(GraphValues& values, GraphCall& call, bool in_a_row) {
    const bool already = values.operand(call, "self").shape.size() == 1;
    values.keep(
        call, "self",
        in_a_row && !already ? std::vector<GraphValues::Layer>{{LayerKind::Flatten, {}}} : std::vector<GraphValues::Layer>{});
}

using Parts = std::vector<std::optional<Arranged>>;

std::vector<std::string> results_of(const GraphCall& call) {
    const Argument& first = call.node().outputs.front();
    return first.kind == Argument::Kind::Tensors ? first.names : std::vector{first.text};
}

/// Sizes that a view gives; empty if one is computed from something else than the number of examples.
std::vector<ArrangedSize> sizes_of(const GraphValues& values, const Argument* argument) {
    std::vector<ArrangedSize> sizes;
    for (std::size_t i = 0; argument != nullptr && i < argument->ints.size(); ++i) {
        const std::string name = i < argument->names.size() ? argument->names[i] : "";
        const std::int64_t batches = name.empty() ? 0 : values.batches(name);
        if (!name.empty() && batches == 0) return {};
        sizes.push_back(name.empty() ? ArrangedSize{argument->ints[i], false} : ArrangedSize{batches, true});
    }
    return sizes;
}

Parts as_viewed(GraphValues& values, GraphCall& call, const Arranged& from) {
    return {viewed(from, sizes_of(values, call.sizes(call.node().input("shape") != nullptr ? "shape" : "size")))};
}

Parts as_unflattened(GraphValues& values, GraphCall& call, const Arranged& from) {
    return {unflattened(from, call.integer("dim", 0), sizes_of(values, call.sizes("sizes")))};
}

Parts as_permuted(GraphValues&, GraphCall& call, const Arranged& from) { return {permuted(from, call.integers("dims"))}; }

Parts as_transposed(GraphValues&, GraphCall& call, const Arranged& from) {
    return {swapped(from, call.integer("dim0", 0), call.integer("dim1", 0))};
}

Parts as_turned(GraphValues&, GraphCall&, const Arranged& from) { return {swapped(from, -2, -1)}; }

Parts as_flattened(GraphValues&, GraphCall& call, const Arranged& from) {
    return {flattened(from, call.integer("start_dim", 0), call.integer("end_dim", -1))};
}

Parts as_selected(GraphValues&, GraphCall& call, const Arranged& from) {
    return {selected(from, call.integer("dim", 0), call.integer("index", 0))};
}

Parts as_unsqueezed(GraphValues&, GraphCall& call, const Arranged& from) { return {unsqueezed(from, call.integer("dim", 0))}; }

Parts as_squeezed(GraphValues&, GraphCall& call, const Arranged& from) { return {squeezed(from, call.integer("dim", 0))}; }

Parts as_it_is(GraphValues&, GraphCall& call, const Arranged& from) {
    call.ignore("memory_format");
    return {from};
}

Parts as_sliced(GraphValues&, GraphCall& call, const Arranged& from) {
    const std::int64_t dim = call.integer("dim", 0), start = call.integer("start", 0),
                       end = call.integer("end", std::numeric_limits<std::int64_t>::max());
    const auto at = from.index(dim);
    if (!at || start < 0 || end < 0 || call.integer("step", 1) != 1) return {std::nullopt};
    const ArrangedSize size = from.size(*at);
    if (size.examples)
        return {start == 0 && end == std::numeric_limits<std::int64_t>::max() ? std::optional(from) : std::nullopt};
    return {sliced(from, dim, start, std::min(end, size.number) - start)};
}

/// Parts of the given sizes of a dimension, side by side.
Parts in_pieces(const Arranged& from, std::int64_t dim, const std::vector<std::int64_t>& sizes) {
    Parts parts;
    std::int64_t begin = 0;
    for (const std::int64_t size : sizes) {
        parts.push_back(sliced(from, dim, begin, size));
        begin += parts.back() ? size : 0;
    }
    return parts;
}

std::int64_t size_along(GraphCall& call, const Arranged& from, std::int64_t dim) {
    const auto at = from.index(dim);
    if (!at || from.size(*at).examples) call.refuse("splits examples");
    return from.size(*at).number;
}

Parts as_split(GraphValues&, GraphCall& call, const Arranged& from) {
    const std::int64_t dim = call.integer("dim", 0);
    std::vector<std::int64_t> sizes = call.integers(call.node().input("split_size") != nullptr ? "split_size" : "split_sizes");
    if (const std::int64_t size = size_along(call, from, dim); sizes.size() == 1 && sizes.front() >= 1)
        sizes.assign(static_cast<std::size_t>(size / sizes.front()), sizes.front());
    return in_pieces(from, dim, sizes);
}

Parts as_chunks(GraphValues&, GraphCall& call, const Arranged& from) {
    const std::int64_t dim = call.integer("dim", 0), chunks = call.integer("chunks", 1), size = size_along(call, from, dim);
    if (chunks < 1 || size % chunks != 0) call.refuse("gives parts of different sizes");
    return in_pieces(from, dim, std::vector<std::int64_t>(static_cast<std::size_t>(chunks), size / chunks));
}

Parts as_unbound(GraphValues&, GraphCall& call, const Arranged& from) {
    const std::int64_t dim = call.integer("dim", 0);
    Parts parts;
    for (std::int64_t i = 0; i < size_along(call, from, dim); ++i) parts.push_back(selected(from, dim, i));
    return parts;
}

struct Arrangement {
    std::string_view target;  // after "torch.ops.aten."
    bool only_other = false;  // reads no sequence in its own order: layers do that
    Parts (*read)(GraphValues& values, GraphCall& call, const Arranged& from) = nullptr;
};

constexpr auto kArrangements = std::to_array<Arrangement>({{"view.default", false, as_viewed},
                                                           {"reshape.default", false, as_viewed},
                                                           {"unflatten.int", false, as_unflattened},
                                                           {"permute.default", false, as_permuted},
                                                           {"transpose.int", false, as_transposed},
                                                           {"mT.default", false, as_turned},
                                                           {"flatten.using_ints", false, as_flattened},
                                                           {"select.int", true, as_selected},
                                                           {"unsqueeze.default", false, as_unsqueezed},
                                                           {"squeeze.dim", false, as_squeezed},
                                                           {"contiguous.default", true, as_it_is},
                                                           {"slice.Tensor", true, as_sliced},
                                                           {"split.Tensor", false, as_split},
                                                           {"split.sizes", false, as_split},
                                                           {"split_with_sizes.default", false, as_split},
                                                           {"chunk.default", false, as_chunks},
                                                           {"unbind.int", false, as_unbound}});

}  // namespace

bool read_arrangement(GraphValues& values, GraphCall& call) {
    const std::string& target = call.node().target;
    const auto found = std::ranges::find_if(kArrangements, [&](const Arrangement& each) {
        return target.starts_with(exported::kAten) && target.substr(exported::kAten.size()) == each.target;
    });
    const Argument* self = call.node().input("self");
    if (found == kArrangements.end() || self == nullptr || self->kind != Argument::Kind::Tensor) return false;
    const std::optional<Arranged> from = values.arranged(self->text, found->only_other);
    if (!from) return false;
    call.tensor("self");
    const std::vector<std::optional<Arranged>> parts = found->read(values, call, *from);
    const std::vector<std::string> names = results_of(call);
    if (parts.size() != names.size()) call.refuse("gives another number of values than expected");
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (!parts[i]) call.refuse("mixes examples, positions or features");
        values.keep_arranged(call, names[i], *parts[i]);
    }
    return true;
}

void read_product_of_sizes(GraphValues& values, GraphCall& call) {
    const Argument *a = call.sizes("a"), *b = call.sizes("b");
    if (a == nullptr || b == nullptr) return;
    if (a->kind == Argument::Kind::Int) std::swap(a, b);
    constexpr std::int64_t kMost = 1 << 30;
    if (b->kind == Argument::Kind::Int && std::abs(b->number) < kMost && values.batches(a->text) < kMost)
        values.keep_batches(call, values.batches(a->text) * b->number);  // 0 for another size
}

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
    const bool keeps_batch = batch.empty() ? to->ints.front() == -1 && !rest : values.batches(batch) == 1;
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
