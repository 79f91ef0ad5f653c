#include "aggregation/math/gram.h"

#include "aggregation/base/divide_up.h"
#include "aggregation/base/processor.h"
#include "aggregation/math/dispatch.h"

#include <algorithm>
#include <vector>

namespace fedhive::aggregation {

namespace gram_kernels {

extern const Kernels kernels_plain;
#if defined(FEDHIVE_X86_KERNELS)
extern const Kernels kernels_avx512;
extern const Kernels kernels_avx2;
#endif

namespace {

KernelSets<Kernels> runnable() {
#if defined(FEDHIVE_X86_KERNELS)
    return runnable_of(kernels_plain, &kernels_avx2, &kernels_avx512);
#else
    return runnable_of<Kernels>(kernels_plain, nullptr, nullptr);
#endif
}

}  // namespace

const Kernels& kernels() {
    static const Kernels& fastest = fastest_of(runnable());
    return fastest;
}

const Kernels* kernels_by_name(std::string_view name) { return named(runnable(), name); }

}  // namespace gram_kernels

namespace {

using gram_kernels::kChunk;

/// to[c] = row[c] − base[c], and zeros after the last column.
void write_difference(float* to, const float* row, const float* base, std::size_t columns) {
    for (std::size_t c = 0; c < columns; ++c) to[c] = row[c] - base[c];
    std::fill(to + columns, to + kChunk, 0.0F);
}

void gram_on_host(std::span<const float* const> rows, std::size_t base_row, std::size_t columns, std::span<double> values) {
    const gram_kernels::Kernels& kernels = gram_kernels::kernels();
    const std::size_t count = rows.size();
    double* with_base = values.data() + count * (count + 1) / 2;
    std::vector<float> differences(round_up(count, gram_kernels::kRowsTogether) * kChunk, 0.0F);
    std::vector<float> ends(2 * kChunk, 0.0F);  // the base and a row of a chunk that is shorter
    std::fill(values.begin(), values.end(), 0.0);
    for (std::size_t first = 0; first < columns; first += kChunk) {
        const std::size_t width = std::min(kChunk, columns - first);
        const auto whole = [&](std::size_t row, float* end) -> const float* {
            if (width == kChunk) return rows[row] + first;
            std::copy_n(rows[row] + first, width, end);
            return end;
        };
        const float* base = whole(base_row, ends.data());
        for (std::size_t row = 0; row < count; ++row) {
            with_base[row] += kernels.dot(row == base_row ? base : whole(row, ends.data() + kChunk), base);
            write_difference(differences.data() + row * kChunk, rows[row] + first, base, width);
        }
        kernels.lower({differences.data(), count, values.data()});
    }
}

}  // namespace

void gram(std::span<const float* const> rows, std::size_t base, std::size_t columns, MemorySpace space,
          std::span<double> values) {
    if (base >= rows.size() || columns > kGramColumns || values.size() != gram_values(rows.size()))
        throw ShapeError(fmt::format("{} products of {} rows of {} columns", values.size(), rows.size(), columns));
    dispatch(
        space, [&] { gram_on_host(rows, base, columns, values); },
        [&] { return kernels::gram(values.data(), rows.data(), rows.size(), base, columns); });
}

}  // namespace fedhive::aggregation
