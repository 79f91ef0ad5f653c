// The runs of a sweep that are refused, each with its mistakes: all of them, so that none is found when others have begun.
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

    /// A line for each mistake, with the first run that has it and the number of others, as Mistakes has them. From two refused runs
    /// on also which of `all` runs they are.
    std::string text(std::size_t all) const;

private:
    std::vector<std::string> runs_{}, lines_{};
    std::map<std::string, std::vector<std::string>> runs_of_{};  // by line
};

}  // namespace fedhive::sim
