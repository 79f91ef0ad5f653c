#include "sim/config/method_trace.h"

#include "aggregation/base/error.h"
#include "clients/protocol/python_process.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>

namespace fedhive::sim {

namespace fs = std::filesystem;

TemporaryFile::TemporaryFile() : path_((fs::temp_directory_path() / "fedhive-method-XXXXXX").string()) {
    const int created = mkstemp(path_.data());
    if (created < 0) throw os_fault(path_);
    close(created);
}

TemporaryFile::~TemporaryFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
}

std::string content_of(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    if (!stream || fs::is_directory(file))
        throw ConfigError(fmt::format("{}: no such file, or it cannot be read", file.string()));
    return text.str();
}

std::string python_result(const std::string& module, const fs::path& file, const std::vector<std::string>& more) {
    const TemporaryFile result, said;
    std::vector<std::string> arguments{file.string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.insert(arguments.end(), {"--out", result.path()});
    clients::SpawnOptions options = clients::python_module(module, arguments);
    options.log = said.path();
    clients::ChildProcess python(options);
    while (!python.wait_for(1.0)) {
    }
    const auto end = python.end();
    if (end && !end->signalled && end->exit_status == 0) return content_of(result.path());
    std::string text = content_of(said.path());
    while (!text.empty() && text.back() == '\n') text.pop_back();
    throw ConfigError(text.empty() ? fmt::format("{}: python {}", file.string(), end ? end->text : "is still running") : text);
}

std::string traced_method(const fs::path& file) { return python_result("fedhive.method", file); }

}  // namespace fedhive::sim
