// All that is wrong with a config, told at once. Private to sim/config.
#pragma once

#include "aggregation/base/error.h"

#include <string>
#include <vector>

namespace fedhive::sim {

class Mistakes {
public:
    static constexpr std::size_t kMostShown = 20;

    /// One line of text. Where it begins with "file:line: ", it goes among the mistakes of that file by its line; what has no line comes last.
    void add(const std::string& text);

    /// Each line of a text that was made of mistakes; none where it is empty.
    void add_lines(const std::string& text);

    bool none() const { return all_.empty(); }

    /// A line for each, then "and 3 more".
    std::string text() const;

private:
    struct Mistake {
        std::string file;
        int line;  // 0: none
        std::string text;
    };
    std::vector<Mistake> all_;
};

/// Each line of an error's text with `suffix` at its end.
std::string on_every_line(const std::string& text, const std::string& suffix);

}  // namespace fedhive::sim
