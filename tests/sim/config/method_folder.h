// Method files of a test, and what is refused in them.
#pragma once

#include "sim/config/method_file.h"

#include "tests/sim/config/config_files.h"

#include <doctest/doctest.h>

#include <string>

namespace fedhive::sim::testing {

/// Methods in a folder of their own.
struct MethodFolder : TemporaryFolder {
    std::string file(const std::string& content, const std::string& name = "m.yaml") const {
        return write(name, content).string();
    }
    std::string refused(const std::string& content, const std::string& name = "m.yaml") const {
        try {
            load_method(file(content, name));
        } catch (const ConfigError& error) {
            return error.what();
        }
        return "";
    }
    /// Checks that the content is refused with a message that contains `text`; its wording is in the golden file.
    void refuses(const std::string& content, const std::string& text) const {
        CAPTURE(content);
        const std::string message = refused(content);
        CHECK_MESSAGE(message.find(text) != std::string::npos, message);
        CHECK_MESSAGE_IS("config", content, message);
    }
};

}  // namespace fedhive::sim::testing
