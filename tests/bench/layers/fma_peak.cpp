#include "tests/bench/layers/fma_peak.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace fedhive::bench {

namespace {

// Independent sums: more than latency times throughput of a multiply-add, and few enough for the registers. Their initial
// values differ, since the compiler would compute equal ones once.
constexpr std::size_t kSums = 12;
constexpr float kFactor = 0.999F, kTerm = 1e-3F;  // converges to 1: no overflow and no denormals

#if defined(__x86_64__)
__attribute__((target("avx512f"))) float by_avx512(std::size_t turns) {
    __m512 sums[kSums];
    const __m512 factor = _mm512_set1_ps(kFactor), term = _mm512_set1_ps(kTerm);
    for (std::size_t k = 0; k < kSums; ++k) sums[k] = _mm512_set1_ps(static_cast<float>(k));
    for (std::size_t turn = 0; turn < turns; ++turn) {
#pragma GCC unroll 16
        for (__m512& sum : sums) sum = _mm512_fmadd_ps(sum, factor, term);
    }
    __m512 total = sums[0];
    for (std::size_t k = 1; k < kSums; ++k) total = _mm512_add_ps(total, sums[k]);
    return _mm512_cvtss_f32(total);
}

__attribute__((target("avx2,fma"))) float by_avx2(std::size_t turns) {
    __m256 sums[kSums];
    const __m256 factor = _mm256_set1_ps(kFactor), term = _mm256_set1_ps(kTerm);
    for (std::size_t k = 0; k < kSums; ++k) sums[k] = _mm256_set1_ps(static_cast<float>(k));
    for (std::size_t turn = 0; turn < turns; ++turn) {
#pragma GCC unroll 16
        for (__m256& sum : sums) sum = _mm256_fmadd_ps(sum, factor, term);
    }
    __m256 total = sums[0];
    for (std::size_t k = 1; k < kSums; ++k) total = _mm256_add_ps(total, sums[k]);
    return _mm256_cvtss_f32(total);
}
#endif

float by_plain(std::size_t turns) {
    float sums[kSums];
    for (std::size_t k = 0; k < kSums; ++k) sums[k] = static_cast<float>(k);
    for (std::size_t turn = 0; turn < turns; ++turn)
        for (float& sum : sums) sum = __builtin_fmaf(sum, kFactor, kTerm);
    float total = 0.0F;
    for (const float sum : sums) total += sum;
    return total;
}

}  // namespace

FmaRun multiply_and_add(std::string_view kernels, std::size_t turns) {
    const auto run = [&](float (*by)(std::size_t), double lanes) {
        return FmaRun{2.0 * lanes * static_cast<double>(kSums * turns), by(turns)};
    };
#if defined(__x86_64__)
    if (kernels == "avx512") return run(by_avx512, 16.0);
    if (kernels == "avx2") return run(by_avx2, 8.0);
#endif
    return run(by_plain, 1.0);
}

}  // namespace fedhive::bench
