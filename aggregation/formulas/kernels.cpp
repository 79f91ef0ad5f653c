#include "aggregation/formulas/kernels.h"

#include "aggregation/base/processor.h"

namespace fedhive::aggregation::formulas {

extern const Loops loops_plain;
#if defined(FEDHIVE_X86_KERNELS)
extern const Loops loops_avx512;
extern const Loops loops_avx2;
#endif

namespace {

/// The kernels that this processor runs, fastest first; null for the others.
std::array<const Loops*, 3> runnable() {
    std::array<const Loops*, 3> found{};
#if defined(FEDHIVE_X86_KERNELS)
    if (runs_avx512()) found[0] = &loops_avx512;
    if (runs_avx2()) found[1] = &loops_avx2;
#endif
    found[2] = &loops_plain;
    return found;
}

}  // namespace

const Loops& loops() {
    static const Loops& fastest = []() -> const Loops& {
        for (const Loops* one : runnable())
            if (one != nullptr) return *one;
        return loops_plain;
    }();
    return fastest;
}

const Loops* loops_by_name(std::string_view name) {
    for (const Loops* one : runnable())
        if (one != nullptr && one->name == name) return one;
    return nullptr;
}

}  // namespace fedhive::aggregation::formulas
