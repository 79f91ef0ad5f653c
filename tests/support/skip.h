// Marks a test that cannot run here as skipped, with the reason: CTest parses the printed line.
#pragma once

#include <cstdio>
#include <string>

#define FEDHIVE_SKIP(reason)                                        \
    do {                                                            \
        std::printf("[skipped] %s\n", std::string(reason).c_str()); \
        return;                                                     \
    } while (false)
