// Where things are shown: a terminal, on which a block of lines is redrawn in place, or a pipe or file, which gets plain lines and no
// escape codes.
//
//   what was said stays, and scrolls away      say()
//   ┌ the block: at most the screen, each    ┐ draw()
//   └ line at most its width, so none wraps  ┘
//   the cursor waits here, in column 0         so that a killed process leaves a shell its own line
//
// One write(2) a call and no clearing of what is drawn over, so nothing flickers. The cursor is never hidden and the terminal's modes are
// never changed: there is nothing to put back. Not for several threads at once.
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

    /// A block can be drawn: it is a terminal, and TERM is not "dumb".
    bool live() const { return live_; }

    /// Live, and the user does not set NO_COLOR (https://no-color.org).
    bool colour() const { return colour_; }

    /// What a block may take at this moment: one column and one row less than the terminal has; 79 and 23 where there is none.
    std::size_t width() const;
    std::size_t height() const;

    /// Shows these lines in place of the block before; nothing where it is not live.
    void draw(const std::vector<std::string>& lines);

    /// Prints lines that stay, above the block; on a terminal, those that are too long go on below at a space.
    void say(std::string_view text);

    /// Takes the block away, or lets it stay for good.
    void erase();
    void keep();

    /// Nobody is there to read any more.
    bool gone() const;

private:
    std::string to_first_line() const;
    std::string block(const std::vector<std::string>& lines);
    void write_all(std::string_view bytes) const;

    int descriptor_;
    bool wraps_;  // it is a terminal
    bool live_;
    bool colour_;
    std::vector<std::string> shown_;  // the block, as it stands on the screen
};

}  // namespace fedhive::sim
