// Traces a method file in Python: an installed Python runs its functions once on symbols and writes the method as YAML (its box).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fedhive::sim {

/// A new empty file, removed at the end.
class TemporaryFile {
public:
    TemporaryFile();
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile();
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

/// The file's text. Throws ConfigError for a file that cannot be read.
std::string content_of(const std::filesystem::path& file);

/// The text that `python3 -m MODULE FILE … --out RESULT` writes. If it fails, throws ConfigError with its message.
std::string python_result(const std::string& module, const std::filesystem::path& file,
                          const std::vector<std::string>& more = {});

/// The box that `python3 -m fedhive.method FILE --out BOX` writes. Throws as python_result().
std::string traced_method(const std::filesystem::path& file);

}  // namespace fedhive::sim
