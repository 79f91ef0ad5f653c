#include "clients/direct/kernels.h"

#include "aggregation/base/error.h"
#include "aggregation/base/processor.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string>

namespace fedhive::clients::direct {

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

std::string names() {
    std::string text;
    for (const Kernels* kernels : runnable())
        if (kernels != nullptr) text += fmt::format("{}{}", text.empty() ? "" : ", ", kernels->name);
    return text;
}

}  // namespace

const Kernels& kernels() {
    static const Kernels& chosen = []() -> const Kernels& {
        if (const char* wanted = std::getenv("FEDHIVE_KERNELS"); wanted != nullptr && *wanted != '\0') {
            if (const Kernels* found = kernels_by_name(wanted); found != nullptr) return *found;
            throw ConfigError(
                fmt::format("FEDHIVE_KERNELS={}: this processor does not support these kernels; allowed: {}", wanted, names()));
        }
        return fastest_of(runnable());
    }();
    return chosen;
}

const Kernels* kernels_by_name(std::string_view name) { return named(runnable(), name); }

std::string remark_on(std::string_view name) {
    if (name != "plain") return "";
#if defined(FEDHIVE_X86_KERNELS)
    return remark_on_plain(__builtin_cpu_supports("avx2") != 0, __builtin_cpu_supports("fma") != 0);
#else
    return ": slow, because they use no vector instructions";
#endif
}

// Measured: a step of mnist_cnn, mlp and lr with batches of 10, on one core of an AMD EPYC (Zen 4), took 40, 72 and 60 times as
// long as with FEDHIVE_KERNELS=avx2. Without an FMA instruction (a function call per multiply-add), by
// GLIBC_TUNABLES=glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2,-AVX2_Usable,-FMA_Usable, it took 562, 1,000 and 906 times as long. To
// repeat: FEDHIVE_KERNELS=plain fedhive bench --layers CONFIG.
std::string remark_on_plain(bool has_avx2, bool has_fma) {
    const std::string_view share = has_fma ? "1/40 to 1/72" : "1/560 to 1/1,000";
    if (has_avx2) return fmt::format(": slow, {} of the speed of avx2", share);
    return fmt::format(
        ": slow, {} of the speed with AVX2, which this processor does not have; training.engine: libtorch may be faster",
        share);
}

}  // namespace fedhive::clients::direct
