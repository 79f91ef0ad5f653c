// Output to a terminal, where a block of lines is redrawn in place, or to a pipe or file, which gets plain lines without escape
// codes.
//
//   printed lines stay, and scroll away        say()
//   ┌ the block: at most the screen, each    ┐ draw()
//   └ line at most its width, so none wraps  ┘
//   the cursor waits here, in column 0         so that a killed process leaves a shell its own line
//
// One write(2) per call, and overwriting without clearing, so nothing flickers. Never hides the cursor and never changes the
// terminal's modes: nothing to restore. Not thread-safe.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::sim {

class Terminal {
public:
    explicit Terminal(int descriptor = STDOUT_FILENO);

    /// True if a block can be drawn: a terminal, and TERM is not "dumb".
    bool live() const { return live_; }

    /// True if live, and NO_COLOR (https://no-color.org) is not set.
    bool colour() const { return colour_; }

    /// The present maximum of a block: one column and one row less than the terminal; 79 and 23 without a terminal.
    std::size_t width() const;
    std::size_t height() const;

    /// Shows these lines in place of the previous block; does nothing if not live.
    void draw(const std::vector<std::string>& lines);

    /// Prints lines above the block, which stay. On a terminal, long lines are wrapped at spaces.
    void say(std::string_view text);

    /// Removes the block, or leaves it for good.
    void erase();
    void keep();

    /// The reader is gone.
    bool gone() const;

private:
    std::string to_first_line() const;
    std::string block(const std::vector<std::string>& lines);
    void write_all(std::string_view bytes) const;

    int descriptor_;
    bool wraps_;  // it is a terminal
    bool live_;
    bool colour_;
    std::vector<std::string> shown_;  // the block on the screen
};

}  // namespace fedhive::sim
