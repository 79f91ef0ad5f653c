#include "aggregation/formulas/vector_kernels.h"

#include "aggregation/base/processor.h"

namespace fedhive::aggregation::formulas {

extern const Loops loops_plain;
#if defined(FEDHIVE_X86_KERNELS)
extern const Loops loops_avx512;
extern const Loops loops_avx2;
#endif

namespace {

KernelSets<Loops> runnable() {
#if defined(FEDHIVE_X86_KERNELS)
    return runnable_of(loops_plain, &loops_avx2, &loops_avx512);
#else
    return runnable_of<Loops>(loops_plain, nullptr, nullptr);
#endif
}

}  // namespace

const Loops& loops() {
    static const Loops& fastest = fastest_of(runnable());
    return fastest;
}

const Loops* loops_by_name(std::string_view name) { return named(runnable(), name); }

}  // namespace fedhive::aggregation::formulas
