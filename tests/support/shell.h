// Child processes of tests that look at processes.
#pragma once

#include "clients/protocol/process.h"

#include <chrono>
#include <functional>
#include <string>
#include <thread>

namespace fedhive::testing {

/// What starts a shell for that command.
inline clients::SpawnOptions shell(const std::string& command) {
    clients::SpawnOptions options;
    options.executable = "/bin/sh";
    options.arguments = {"-c", command};
    return options;
}

/// Whether it comes true within five seconds.
inline bool eventually(const std::function<bool()>& condition) {
    for (int i = 0; i < 1000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return condition();
}

}  // namespace fedhive::testing
