// Child processes of tests that look at processes.
#pragma once

#include "clients/protocol/process.h"

#include <string>

namespace fedhive::testing {

/// What starts a shell for that command.
inline clients::SpawnOptions shell(const std::string& command) {
    clients::SpawnOptions options;
    options.executable = "/bin/sh";
    options.arguments = {"-c", command};
    return options;
}

}  // namespace fedhive::testing
