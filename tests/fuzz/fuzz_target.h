// Shared by all fuzz targets: their entry points for libFuzzer and replay.cpp, and expect() for failures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

namespace fedhive::fuzz {

inline void expect(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "expected: %s\n", what);
    std::abort();
}

/// Reads one input. Returns 0; a failure ends the process.
using Target = int (*)(const std::uint8_t* data, std::size_t size);

/// The targets of this program, by name.
inline std::map<std::string, Target>& targets() {
    static std::map<std::string, Target> all;
    return all;
}

}  // namespace fedhive::fuzz

/// FEDHIVE_FUZZ_TARGET(name)(const std::uint8_t* data, std::size_t size) { … }: defines libFuzzer's entry point, or in
/// replay.cpp's program a target that it calls by name.
#ifdef FEDHIVE_FUZZ_REPLAY
#define FEDHIVE_FUZZ_TARGET(name)                                                                     \
    static int fuzz_##name(const std::uint8_t*, std::size_t);                                         \
    static const bool name##_is_listed = fedhive::fuzz::targets().emplace(#name, fuzz_##name).second; \
    static int fuzz_##name
#else
#define FEDHIVE_FUZZ_TARGET(name) extern "C" int LLVMFuzzerTestOneInput
#endif
