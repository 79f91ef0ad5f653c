// Memories: named vectors beside the model that the server, a client or one visit of a client has, and how they travel. The
// arena's layout, traffic, checkpoints, the server's step and clients' records follow from this list. Plain data: workers
// read it from the control block.
//
//   a global region    [ model  | control | … ]     memories that the server sends (down), after the model, in the list's order
//   a slot             [ update | control | … ]     memories that clients send (up); for one that goes both ways, its change, at the same offset
//   beside a slot      [ residual | local | … ]     values that a visit writes and does not send
//   a client's record  [ residual | local | … ]     the client's own memories end to end (client_states.h)
//
// A memory that only goes down and one of the same shape that only goes up share an offset, since the first is never in a slot and the
// second never in a global region. The model is not in the list: it always comes first. An empty list means the model alone, at no cost.
#pragma once

#include "aggregation/base/error.h"
#include "aggregation/memory/param_span.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fedhive::aggregation {

inline constexpr const char* kModel = "model";

/// Who has the memory. Server: a global region holds it, and the server's step changes it. Client: the client's record holds it; if it goes
/// down, a global region holds the server's value, computed from all clients'. Visit: it is lost after the visit, except for what is sent up.
enum class MemoryOwner : std::uint32_t { Server, Client, Visit };

/// Trainable: as the model's parameters. Named: the model's tensors that match a pattern. Classes: a number for each class.
/// ClassesByFeatures: a row for each class, as wide as the input of the model's last layer. ClassesByClasses: a row for each class with a
/// number for each class. Scalar: one number.
enum class MemoryShape : std::uint32_t { Trainable, Named, Classes, ClassesByFeatures, ClassesByClasses, Scalar };

/// The value of a client's memory before its first accepted update, of the server's before the first round. Drawn: another model's initial
/// parameters, drawn by a seed of its own. Number: MemorySpec::start, for a Scalar.
enum class FirstValue : std::uint32_t { Zero, SentModel, Drawn, Number };

/// What happens to a client's memory when its update is accepted. Add: memory += the value that the visit wrote. Set: memory = that value.
/// AddUpdate: memory += the update's parameters, as the slot then holds them. Mixed: memory = the value that the server computes for this
/// client from the round's updates (formula_mix.h); the visit writes nothing.
enum class MemoryChange : std::uint32_t { Nothing, Add, Set, AddUpdate, Mixed };

/// The name of the memory that holds the sum of a client's accepted updates, for rules that weigh clients by it.
inline constexpr const char* kHistory = "history";

/// A memory as its user (a strategy, an upload step, a part of the model) declares it.
struct MemorySpec {
    std::string name;
    MemoryOwner owner = MemoryOwner::Visit;
    MemoryShape shape = MemoryShape::Trainable;
    FirstValue first = FirstValue::Zero;
    bool down = false;
    bool up = false;
    MemoryChange change = MemoryChange::Nothing;
    float start = 0.0F;  // FirstValue::Number
};

/// The sizes from which a MemoryShape gets its size; 0 where the model has no such thing.
struct Dimensions {
    std::uint64_t trainable = 0;   // floats of the parameters' part of the model, padding included
    std::uint64_t parameters = 0;  // the same without padding
    std::uint64_t named = 0;       // floats of the tensors that match
    std::uint64_t classes = 0;
    std::uint64_t features = 0;  // inputs of the last layer

    constexpr std::uint64_t floats_of(MemoryShape shape) const {
        switch (shape) {
            case MemoryShape::Trainable:
                return trainable;
            case MemoryShape::Named:
                return named;
            case MemoryShape::Classes:
                return classes;
            case MemoryShape::ClassesByFeatures:
                return classes * features;
            case MemoryShape::ClassesByClasses:
                return classes * classes;
            case MemoryShape::Scalar:
                return 1;
        }
        return 0;
    }
    constexpr std::uint64_t values_of(MemoryShape shape) const {
        return shape == MemoryShape::Trainable ? parameters : floats_of(shape);
    }
    constexpr std::uint64_t rows_of(MemoryShape shape) const {
        return shape == MemoryShape::ClassesByFeatures || shape == MemoryShape::ClassesByClasses ? classes : 1;
    }
};

struct Memory {
    static constexpr std::size_t kLongestName = 16;
    std::array<char, kLongestName> characters{};
    MemoryOwner owner = MemoryOwner::Visit;
    MemoryShape shape = MemoryShape::Trainable;
    FirstValue first = FirstValue::Zero;
    MemoryChange change = MemoryChange::Nothing;
    std::uint64_t floats = 0;
    std::uint64_t values = 0;  // floats without padding: the number that travels
    std::uint64_t rows = 1;    // of a table
    std::uint64_t offset = 0;  // floats: from the end of the model, or beside a slot from its start if it does not travel
    std::uint64_t record_offset = 0;  // floats, in a client's record
    float start = 0.0F;               // FirstValue::Number
    bool down = false;
    bool up = false;

    std::string_view name() const {
        return {characters.data(),
                static_cast<std::size_t>(std::find(characters.begin(), characters.end(), '\0') - characters.begin())};
    }
    bool travels() const { return down || up; }
    /// One float, `start`, of a memory with FirstValue::Number.
    ConstParamSpan first_number() const { return {&start, 1, MemorySpace::Host}; }
    bool in_record() const { return owner == MemoryOwner::Client; }
    bool is_of_update() const { return change == MemoryChange::AddUpdate; }
    /// Whether the server sets it, not the visit.
    bool is_mixed() const { return change == MemoryChange::Mixed; }
};

class Memories {
public:
    static constexpr std::size_t kMost = 16;

    /// Appends a memory. Throws Fault for more than kMost, an empty, too long or duplicate name, a size of 0, or a spec that
    /// contradicts itself.
    void add(const MemorySpec& spec, const Dimensions& dimensions) {
        FEDHIVE_CHECK(count_ < kMost, "memory '{}' after {} others; allowed: {} in all", spec.name, count_, kMost);
        FEDHIVE_CHECK(!spec.name.empty() && spec.name.size() <= Memory::kLongestName,
                      "the name '{}' of a memory is empty or too long", spec.name);
        FEDHIVE_CHECK(spec.name != kModel && find(spec.name) == nullptr, "two memories have the name '{}'", spec.name);
        FEDHIVE_CHECK((spec.owner == MemoryOwner::Client) == (spec.change != MemoryChange::Nothing),
                      "memory '{}': a client's memory must have a change, and no other may", spec.name);
        FEDHIVE_CHECK(spec.owner != MemoryOwner::Server || spec.down, "memory '{}' of the server must go down", spec.name);
        FEDHIVE_CHECK(spec.owner != MemoryOwner::Visit || !spec.down, "memory '{}' of a visit cannot go down", spec.name);
        FEDHIVE_CHECK(
            spec.first != FirstValue::SentModel || spec.change == MemoryChange::Set || spec.change == MemoryChange::Mixed,
            "memory '{}' begins as the model that is sent, so its change must be Set or Mixed", spec.name);
        FEDHIVE_CHECK(
            spec.first != FirstValue::Drawn || (spec.owner == MemoryOwner::Server && spec.shape == MemoryShape::Trainable),
            "memory '{}' is drawn as a model, so it must be the server's, of shape Trainable", spec.name);
        FEDHIVE_CHECK(spec.first != FirstValue::Number || spec.shape == MemoryShape::Scalar,
                      "memory '{}' begins as a number, so its shape must be Scalar", spec.name);
        FEDHIVE_CHECK(
            spec.change != MemoryChange::AddUpdate || (spec.shape == MemoryShape::Trainable && !spec.down && !spec.up),
            "memory '{}' adds updates, so its shape must be Trainable, and it cannot be sent", spec.name);
        FEDHIVE_CHECK(dimensions.floats_of(spec.shape) > 0, "memory '{}' has no values in this model", spec.name);
        Memory memory{.owner = spec.owner,
                      .shape = spec.shape,
                      .first = spec.first,
                      .change = spec.change,
                      .floats = dimensions.floats_of(spec.shape),
                      .values = dimensions.values_of(spec.shape),
                      .rows = dimensions.rows_of(spec.shape),
                      .start = spec.start,
                      .down = spec.down,
                      .up = spec.up};
        memory.offset = memory.is_of_update() ? 0 : memory.travels() ? offset_behind(memory) : padded(floats_beside());
        memory.record_offset = memory.in_record() ? padded(record_floats()) : 0;
        std::copy(spec.name.begin(), spec.name.end(), memory.characters.begin());
        list_[count_++] = memory;
    }

    std::span<const Memory> all() const { return {list_.data(), count_}; }

    /// nullptr if there is no such memory.
    const Memory* find(std::string_view name) const {
        const auto found =
            std::find_if(all().begin(), all().end(), [&](const Memory& memory) { return memory.name() == name; });
        return found == all().end() ? nullptr : &*found;
    }

    /// Sizes in floats: of what follows the model in a region or a slot, a multiple of 16; of what is beside a slot; of a client's record, 0
    /// if clients keep nothing.
    std::uint64_t floats_behind() const {
        return padded(end_of([](const Memory& memory) { return memory.travels() ? memory.offset + memory.floats : 0; }));
    }
    std::uint64_t floats_beside() const {
        return end_of(
            [](const Memory& memory) { return memory.travels() || memory.is_of_update() ? 0 : memory.offset + memory.floats; });
    }
    std::uint64_t record_floats() const {
        return end_of([](const Memory& memory) { return memory.in_record() ? memory.record_offset + memory.floats : 0; });
    }

    /// The memory's part of `region`: a global region, a slot, or the floats beside a slot. `kModel` gives the model's or the
    /// update's part. Throws Fault for an unknown name or a span that is too short.
    template <typename Span>
    Span of(Span region, std::string_view name) const {
        if (name == kModel) return region.part(0, model_floats(region.size));
        const Memory* memory = find(name);
        FEDHIVE_CHECK(memory != nullptr, "no memory '{}'", name);
        const std::uint64_t offset = memory->offset + (memory->travels() ? model_floats(region.size) : 0);
        FEDHIVE_CHECK(offset + memory->floats <= region.size, "memory '{}' of {} floats from {} on, of {}", name,
                      memory->floats, offset, region.size);
        return region.part(offset, memory->floats);
    }

private:
    /// The offset for a new memory: that of a memory of its shape that only goes the other way and shares its offset with none, or the end.
    std::uint64_t offset_behind(const Memory& memory) const {
        for (const Memory& other : all()) {
            const bool opposite = memory.down != memory.up && other.down == memory.up && other.up == memory.down;
            if (!opposite || other.shape != memory.shape) continue;
            const auto at_offset = [&](const Memory& one) { return one.travels() && one.offset == other.offset; };
            if (std::count_if(all().begin(), all().end(), at_offset) == 1) return other.offset;
        }
        return floats_behind();
    }

    static constexpr std::uint64_t padded(std::uint64_t floats) { return (floats + 15) / 16 * 16; }

    std::uint64_t model_floats(std::uint64_t region) const {
        FEDHIVE_CHECK(region >= floats_behind(), "memories of {} floats in a region of {}", floats_behind(), region);
        return region - floats_behind();
    }

    template <typename End>
    std::uint64_t end_of(const End& end) const {
        std::uint64_t last = 0;
        for (const Memory& memory : all()) last = std::max<std::uint64_t>(last, end(memory));
        return last;
    }

    std::array<Memory, kMost> list_{};
    std::uint64_t count_ = 0;
};

/// The memories of one client in one visit. Without a slot, what the visit writes is not needed (an evaluation).
struct VisitMemories {
    const Memories* all = nullptr;  // null: there are none
    ConstParamSpan region;          // that the client gets
    ConstParamSpan record;          // in host memory; empty before the client's first accepted update
    ParamSpan slot;
    ParamSpan beside;  // the slot

    /// The value that the server sent; empty if the memory does not go down.
    ConstParamSpan down(std::string_view name) const {
        const Memory* memory = find(name);
        return memory != nullptr && memory->down ? all->of(region, name) : ConstParamSpan();
    }

    /// The value in the client's record; empty if it is still the first value.
    ConstParamSpan own(std::string_view name) const {
        const Memory* memory = find(name);
        return memory != nullptr && record.size > 0 ? record.part(memory->record_offset, memory->floats) : ConstParamSpan();
    }

    /// The span to which the visit writes a value that is sent up, or the change of the client's memory; empty if neither is needed. For a
    /// memory with MemoryChange::AddUpdate: the update's parameters.
    ParamSpan written(std::string_view name) const {
        const Memory* memory = find(name);
        if (memory != nullptr && slot.size > 0 && memory->is_of_update()) return all->of(slot, kModel).first(memory->floats);
        return memory != nullptr && slot.size > 0 ? all->of(memory->travels() ? slot : beside, name) : ParamSpan();
    }

private:
    const Memory* find(std::string_view name) const { return all != nullptr ? all->find(name) : nullptr; }
};

}  // namespace fedhive::aggregation
