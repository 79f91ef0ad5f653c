// The refused runs of a sweep, each with its mistakes. All runs are checked before the first one begins.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace fedhive::sim {

class RefusedRuns {
public:
    /// run: its id; text: of a ConfigError, a line for each mistake.
    void add(const std::string& run, const std::string& text);

    bool none() const { return runs_.empty(); }

    /// A line for each mistake in the order of Mistakes, with the first run that has it and the number of other runs. If two or more runs are
    /// refused, also says which of `all` runs they are.
    std::string text(std::size_t all) const;

private:
    std::vector<std::string> runs_{}, lines_{};
    std::map<std::string, std::vector<std::string>> runs_of_{};  // by line
};

}  // namespace fedhive::sim
