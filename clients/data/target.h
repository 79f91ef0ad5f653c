// The target of an example: its kinds and shape. C++17: kernels include it, too.
#pragma once

#include <cstdint>

namespace fedhive::clients {

/// One class per example; one class per position; numbers.
enum class TargetKind : std::uint32_t { Class, ClassEach, Numbers };

constexpr const char* text_of(TargetKind kind) {
    return kind == TargetKind::Class ? "a class" : kind == TargetKind::ClassEach ? "a class at each position" : "numbers";
}

/// A label that counts in no loss and no metric, as ignore_index of torch.nn.functional.cross_entropy.
constexpr std::int32_t kIgnored = -100;

/// Shape of one example's target.
struct TargetShape {
    TargetKind kind = TargetKind::Class;
    std::uint32_t width = 1;  // labels or numbers of one example: ClassEach: its positions; Numbers: its numbers
    bool ignores = false;     // some of the data set's targets are kIgnored (mark_ignored, ignored.h)

    constexpr bool operator==(const TargetShape& other) const {
        return kind == other.kind && width == other.width && ignores == other.ignores;
    }
};

}  // namespace fedhive::clients
