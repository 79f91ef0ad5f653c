// A test case of this program in a process of its own, for what takes two: a child that opens a handle, or that is to crash.
#pragma once

#include <doctest/doctest.h>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace fedhive::testing {

/// Also one that is skipped otherwise.
inline pid_t start_case(const std::string& name) {
    std::string filter = "--test-case=" + name;
    std::string no_skip = "--no-skip";
    char program[] = "/proc/self/exe";
    char* arguments[] = {program, filter.data(), no_skip.data(), nullptr};
    pid_t child = 0;
    REQUIRE(posix_spawn(&child, program, nullptr, nullptr, arguments, environ) == 0);
    return child;
}

/// Its status as waitpid gives it; 0: it passed.
inline int status_of_case(const std::string& name) {
    const pid_t child = start_case(name);
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    return status;
}

}  // namespace fedhive::testing
