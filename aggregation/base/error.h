// Errors and always-on checks. Three kinds exist in fedhive: ConfigError (the user can mend it; exit code 2),
// Fault (operating system, CUDA or a broken invariant; exit code 1) and ClientFailure (plain data, clients/protocol/).
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace fedhive {

/// An error that the user can mend: a key, a value, a file. The message names it, what is allowed and what to do next.
struct ConfigError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The operating system, CUDA or an invariant of our own failed; the run ends after bounded clean-up.
struct Fault : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Two spans or layouts that should agree do not.
struct ShapeError : Fault {
    using Fault::Fault;
};

/// No memory, on the host or on a device.
struct OutOfMemory : Fault {
    using Fault::Fault;
};

/// A device reported an error; this process may not be able to use it any more.
struct DeviceFault : Fault {
    using Fault::Fault;
};

/// "what: No such file or directory", from errno.
inline Fault os_fault(const std::string& what) { return Fault(what + ": " + std::strerror(errno)); }

}  // namespace fedhive

/// Throws Fault unless `condition` holds; the other arguments format the message. Stays on in release builds; for phase
/// boundaries, not for inner loops.
#define FEDHIVE_CHECK(condition, ...)                                                                                  \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            throw ::fedhive::Fault(                                                                                    \
                fmt::format("{}:{}: check failed: {}: {}", __FILE__, __LINE__, #condition, fmt::format(__VA_ARGS__))); \
    } while (false)

/// Throws ShapeError with both operands when they differ. Stays on in release builds.
#define FEDHIVE_CHECK_EQ(left, right)                                                                                   \
    do {                                                                                                                \
        const auto& fedhive_left = (left);                                                                              \
        const auto& fedhive_right = (right);                                                                            \
        if (!(fedhive_left == fedhive_right))                                                                           \
            throw ::fedhive::ShapeError(fmt::format("{}:{}: {} == {} failed: {} against {}", __FILE__, __LINE__, #left, \
                                                    #right, fedhive_left, fedhive_right));                              \
    } while (false)
