#include "aggregation/formulas/row_kernels.h"

#include "aggregation/base/processor.h"

namespace fedhive::aggregation::formulas {

extern const RowLoops row_loops_plain;
#if defined(FEDHIVE_X86_KERNELS)
extern const RowLoops row_loops_avx512;
extern const RowLoops row_loops_avx2;
#endif

namespace {

KernelSets<RowLoops> runnable_rows() {
#if defined(FEDHIVE_X86_KERNELS)
    return runnable_of(row_loops_plain, &row_loops_avx2, &row_loops_avx512);
#else
    return runnable_of<RowLoops>(row_loops_plain, nullptr, nullptr);
#endif
}

}  // namespace

const RowLoops& row_loops() {
    static const RowLoops& fastest = fastest_of(runnable_rows());
    return fastest;
}

const RowLoops* row_loops_by_name(std::string_view name) { return named(runnable_rows(), name); }

}  // namespace fedhive::aggregation::formulas
