// What every fuzz target shares: the function that libFuzzer and replay.cpp call, and a way to say that something is wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

/// One input. Returns 0; what is wrong ends the process.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace fedhive::fuzz {

inline void expect(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "expected: %s\n", what);
    std::abort();
}

}  // namespace fedhive::fuzz
