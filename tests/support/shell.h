// Child processes for tests about processes.
#pragma once

#include "clients/protocol/process.h"

#include <string>

namespace fedhive::testing {

/// Options that start a shell with that command.
inline clients::SpawnOptions shell(const std::string& command) {
    clients::SpawnOptions options;
    options.executable = "/bin/sh";
    options.arguments = {"-c", command};
    return options;
}

}  // namespace fedhive::testing
