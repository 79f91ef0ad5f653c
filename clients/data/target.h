// What is to be told of an example. C++17: kernels read it, too.
#pragma once

#include <cstdint>

namespace fedhive::clients {

/// A class; a class at each of its positions; numbers.
enum class TargetKind : std::uint32_t { Class, ClassEach, Numbers };

constexpr const char* text_of(TargetKind kind) {
    return kind == TargetKind::Class ? "a class" : kind == TargetKind::ClassEach ? "a class at each position" : "numbers";
}

/// In a class's place: this target counts in no loss and in no metric, as ignore_index of torch.nn.functional.cross_entropy has it.
constexpr std::int32_t kIgnored = -100;

/// Of one example: as many classes, or numbers.
struct TargetShape {
    TargetKind kind = TargetKind::Class;
    std::uint32_t width = 1;  // of ClassEach its positions, of Numbers how many
    bool ignores = false;     // some of the data set's targets are kIgnored (mark_ignored, ignored.h)

    constexpr bool operator==(const TargetShape& other) const {
        return kind == other.kind && width == other.width && ignores == other.ignores;
    }
};

}  // namespace fedhive::clients
