// All mistakes of a config, reported at once. Private to sim/config.
#pragma once

#include "aggregation/base/error.h"

#include <string>
#include <vector>

namespace fedhive::sim {

class Mistakes {
public:
    static constexpr std::size_t kMostShown = 20;

    /// Adds one line of text. If it begins with "file:line: ", it is sorted among the mistakes of that file by line; others
    /// come last.
    void add(const std::string& text);

    /// Adds each line of the text() of another Mistakes.
    void add_lines(const std::string& text);

    bool none() const { return all_.empty(); }

    /// One line per mistake, up to kMostShown, then "and 3 more".
    std::string text() const;

private:
    struct Mistake {
        std::string file;
        int line;  // 0: no line
        std::string text;
    };
    std::vector<Mistake> all_;
};

}  // namespace fedhive::sim
