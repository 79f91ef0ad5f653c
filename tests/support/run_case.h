// Runs a test case of this program in a child process: for tests that need two processes, or crash.
#pragma once

#include <doctest/doctest.h>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace fedhive::testing {

/// Starts the case, even if it is marked skip.
inline pid_t start_case(const std::string& name) {
    std::string filter = "--test-case=" + name;
    std::string no_skip = "--no-skip";
    char program[] = "/proc/self/exe";
    char* arguments[] = {program, filter.data(), no_skip.data(), nullptr};
    pid_t child = 0;
    REQUIRE(posix_spawn(&child, program, nullptr, nullptr, arguments, environ) == 0);
    return child;
}

/// Status as from waitpid; 0 if it passed.
inline int status_of_case(const std::string& name) {
    const pid_t child = start_case(name);
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    return status;
}

}  // namespace fedhive::testing
