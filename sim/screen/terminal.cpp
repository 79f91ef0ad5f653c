#include "sim/screen/terminal.h"

#include "aggregation/base/divide_up.h"
#include "sim/screen/screen_text.h"

#include <fmt/format.h>

#include <poll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace fedhive::sim {

namespace {

bool is_set(const char* variable) {
    const char* value = std::getenv(variable);
    return value != nullptr && *value != '\0';
}

bool is_dumb() {
    const char* term = std::getenv("TERM");
    return term != nullptr && std::string_view(term) == "dumb";
}

/// Queried at each drawing, so that no signal for a change is needed.
winsize size_of(int descriptor) {
    winsize size{};
    if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {24, 80, 0, 0};
    return size;
}

}  // namespace

Terminal::Terminal(int descriptor)
    : descriptor_(descriptor),
      wraps_(isatty(descriptor) == 1),
      live_(wraps_ && !is_dumb()),
      colour_(live_ && !is_set("NO_COLOR")) {}

std::size_t Terminal::width() const { return std::max<std::size_t>(2, size_of(descriptor_).ws_col) - 1; }
std::size_t Terminal::height() const { return std::max<std::size_t>(2, size_of(descriptor_).ws_row) - 1; }

/// Counts the screen lines of the block: a terminal that became narrower has wrapped it.
std::string Terminal::to_first_line() const {
    const std::size_t screen = size_of(descriptor_).ws_col;
    std::size_t rows = 0;
    for (const std::string& line : shown_) rows += std::max<std::size_t>(1, divide_up(columns(line), screen));
    return rows == 0 ? "" : fmt::format("\r\x1b[{}A", rows);
}

std::string Terminal::block(const std::vector<std::string>& lines) {
    const std::size_t most = width();
    shown_.assign(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(std::min(lines.size(), height())));
    std::string bytes;
    for (std::string& line : shown_) {
        line = cut(escaped_but_colours(line), most);
        bytes += line + "\x1b[K\n";
    }
    return bytes + "\x1b[J";
}

void Terminal::draw(const std::vector<std::string>& lines) {
    if (!live_) return;
    const std::string back = to_first_line();
    write_all(back + block(lines));
}

void Terminal::say(std::string_view text) {
    const std::string clean = escaped_but_colours(text);
    const std::string line = (wraps_ ? wrapped(clean, width()) : clean) + "\n";
    if (shown_.empty()) return write_all(line);
    const std::string back = to_first_line();
    write_all(back + "\x1b[J" + line + block(std::vector(shown_)));
}

void Terminal::erase() {
    if (shown_.empty()) return;
    write_all(to_first_line() + "\x1b[J");
    shown_.clear();
}

void Terminal::keep() {
    if (!shown_.empty()) write_all("\r\x1b[J");  // the terminal may have written ^C below the block
    shown_.clear();
}

bool Terminal::gone() const {
    pollfd output{descriptor_, 0, 0};
    return poll(&output, 1, 0) == 1 && (output.revents & (POLLERR | POLLHUP)) != 0;
}

/// Ignores errors: a missing reader is no reason to end a run, and tables have the same information.
void Terminal::write_all(std::string_view bytes) const {
    while (!bytes.empty()) {
        const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

}  // namespace fedhive::sim
