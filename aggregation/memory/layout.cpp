#include "aggregation/memory/layout.h"

#include "aggregation/base/divide_up.h"
#include "aggregation/base/error.h"

#include <algorithm>
#include <map>

namespace fedhive::aggregation {

namespace {

constexpr std::size_t kAlignedFloats = 16;  // floats: one cache line

std::size_t padded(std::size_t floats) { return round_up(floats, kAlignedFloats); }

/// FNV-1a over 64-bit words.
void mix(std::uint64_t& hash, std::uint64_t value) { hash = (hash ^ value) * 0x100000001B3U; }

}  // namespace

void Layout::add(std::string name, std::vector<std::int64_t> shape, TensorKind kind) {
    if (kind == TensorKind::Parameter && !entries_.empty() && entries_.back().kind == TensorKind::Buffer)
        throw ShapeError(fmt::format("parameter '{}' after a buffer", name));
    std::size_t size = 1;
    for (const std::int64_t dimension : shape) {
        if (dimension < 0) throw ShapeError(fmt::format("tensor '{}' has a dimension of {}", name, dimension));
        if (__builtin_mul_overflow(size, static_cast<std::size_t>(dimension), &size))
            throw ShapeError(fmt::format("tensor '{}' has more values than can be counted", name));
    }
    if (std::any_of(entries_.begin(), entries_.end(), [&](const LayoutEntry& entry) { return entry.name == name; }))
        throw ShapeError(fmt::format("two tensors are named '{}'", name));
    entries_.push_back({std::move(name), std::move(shape), kind, num_floats(), size});
}

std::size_t Layout::num_floats() const { return entries_.empty() ? 0 : padded(entries_.back().offset + entries_.back().size); }

std::size_t Layout::num_trainable() const {
    const auto buffer = std::find_if(entries_.begin(), entries_.end(),
                                     [](const LayoutEntry& entry) { return entry.kind == TensorKind::Buffer; });
    return buffer == entries_.end() ? num_floats() : buffer->offset;
}

std::size_t Layout::num_values() const {
    std::size_t total = 0;
    for (const LayoutEntry& entry : entries_) total += entry.size;
    return total;
}

std::size_t Layout::num_parameters() const {
    std::size_t total = 0;
    for (const LayoutEntry& entry : entries_) total += entry.kind == TensorKind::Parameter ? entry.size : 0;
    return total;
}

std::uint64_t Layout::fingerprint() const {
    std::uint64_t hash = 0xCBF29CE484222325U;
    for (const LayoutEntry& entry : entries_) {
        for (const char character : entry.name) mix(hash, static_cast<unsigned char>(character));
        mix(hash, entry.shape.size());
        for (const std::int64_t dimension : entry.shape) mix(hash, static_cast<std::uint64_t>(dimension));
        mix(hash, static_cast<std::uint64_t>(entry.kind));
        mix(hash, entry.offset);
    }
    return hash;
}

Layout Layout::without(const std::vector<std::string>& names) const {
    Layout others = *this;
    std::erase_if(others.entries_,
                  [&](const LayoutEntry& entry) { return std::find(names.begin(), names.end(), entry.name) != names.end(); });
    return others;
}

std::vector<float> part_of(const Layout& whole, ConstParamSpan values, const Layout& part) {
    FEDHIVE_CHECK_EQ(values.size, whole.num_floats());
    std::map<std::string, const LayoutEntry*> by_name;
    for (const LayoutEntry& entry : whole.entries()) by_name[entry.name] = &entry;
    std::vector<float> found(part.num_floats(), 0.0F);
    for (const LayoutEntry& entry : part.entries()) {
        const auto at = by_name.find(entry.name);
        FEDHIVE_CHECK(at != by_name.end() && at->second->size == entry.size, "the whole has no such tensor '{}'", entry.name);
        const LayoutEntry& from = *at->second;
        std::copy_n(values.data + from.offset, entry.size, found.data() + entry.offset);
    }
    return found;
}

}  // namespace fedhive::aggregation
