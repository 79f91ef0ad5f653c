#include "sim/screen/terminal.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

using namespace fedhive::sim;

namespace {

std::string read_all(int descriptor) {
    std::string bytes;
    std::array<char, 65536> part{};
    pollfd input{descriptor, POLLIN, 0};
    while (poll(&input, 1, 50) == 1 && (input.revents & POLLIN) != 0) {
        const ssize_t size = read(descriptor, part.data(), part.size());
        if (size <= 0) break;
        bytes.append(part.data(), static_cast<std::size_t>(size));
    }
    return bytes;
}

/// A terminal emulator: rows wrap at its width and scroll at its height; it knows the codes that Terminal uses.
class Screen {
public:
    Screen(std::size_t width, std::size_t height) : width_(width), height_(height) {}

    void feed(const std::string& bytes) {
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            const char c = bytes[i];
            if (c == '\x1b') {
                const std::size_t end = bytes.find_first_of("AKJm", i);
                REQUIRE(end != std::string::npos);
                obey(bytes[end], bytes.substr(i + 2, end - i - 2));
                i = end;
            } else if (c == '\r') {
                column_ = 0;
            } else if (c == '\n') {
                ++row_;
            } else {
                if (column_ == width_) next_row();
                at(row_).resize(std::max(at(row_).size(), column_ + 1), ' ');
                at(row_)[column_++] = c;
            }
        }
    }

    /// All rows ever shown, including those scrolled away, without empty ones at the end.
    std::vector<std::string> rows() {
        while (!rows_.empty() && rows_.back().empty()) rows_.pop_back();
        return rows_;
    }

private:
    void obey(char code, const std::string& number) {
        const std::size_t top = rows_.size() > height_ ? rows_.size() - height_ : 0;
        if (code == 'A') row_ = std::max(top, row_ - std::min<std::size_t>(row_, std::stoul(number)));
        if (code == 'K' || code == 'J') at(row_).resize(std::min(at(row_).size(), column_));
        for (std::size_t below = row_ + 1; code == 'J' && below < rows_.size(); ++below) rows_[below].clear();
    }
    void next_row() {
        ++row_;
        column_ = 0;
    }
    std::string& at(std::size_t row) {
        if (row >= rows_.size()) rows_.resize(row + 1);
        return rows_[row];
    }

    std::size_t width_;
    std::size_t height_;
    std::vector<std::string> rows_;
    std::size_t row_ = 0;
    std::size_t column_ = 0;
};

/// A pseudo-terminal with a Terminal on it.
struct Pty {
    Pty(unsigned short width, unsigned short height, const char* term = "xterm", const char* no_color = "") {
        setenv("TERM", term, 1);
        setenv("NO_COLOR", no_color, 1);
        winsize size{height, width, 0, 0};
        REQUIRE(openpty(&outside, &inside, nullptr, nullptr, &size) == 0);
        terminal = std::make_unique<Terminal>(inside);
    }
    ~Pty() {
        close(inside);
        close(outside);
    }
    Pty(const Pty&) = delete;
    Pty& operator=(const Pty&) = delete;

    void resize(unsigned short width, unsigned short height) const {
        const winsize size{height, width, 0, 0};
        REQUIRE(ioctl(inside, TIOCSWINSZ, &size) == 0);
    }
    std::string bytes() const { return read_all(outside); }

    int outside = -1;
    int inside = -1;
    std::unique_ptr<Terminal> terminal;
};

using Lines = std::vector<std::string>;

}  // namespace

TEST_SUITE("Terminal") {
    TEST_CASE("PipeGetsWhatIsSaidAndNothingElse") {
        std::array<int, 2> ends{};
        REQUIRE(pipe(ends.data()) == 0);
        Terminal terminal(ends[1]);
        CHECK_FALSE(terminal.live());
        CHECK_FALSE(terminal.colour());
        terminal.draw({"a block"});
        terminal.say("one");
        terminal.draw({"a block"});
        terminal.say("two\nthree\x1b[2J");
        terminal.erase();
        CHECK(read_all(ends[0]) == "one\ntwo\nthree\\x1b[2J\n");
        CHECK_FALSE(terminal.gone());
        close(ends[0]);
        CHECK(terminal.gone());
        close(ends[1]);
    }

    TEST_CASE("TermAndNoColorAreObeyed") {
        CHECK(Pty(80, 24).terminal->colour());
        const Pty plain(80, 24, "xterm", "1");
        CHECK(plain.terminal->live());
        CHECK_FALSE(plain.terminal->colour());
        const Pty dumb(80, 24, "dumb");
        CHECK_FALSE(dumb.terminal->live());
        dumb.terminal->draw({"a block"});
        dumb.terminal->say("one");
        CHECK(dumb.bytes() == "one\r\n");
    }

    TEST_CASE("WhatIsSaidIsBrokenAtSpaces") {
        const Pty narrow(24, 5);
        narrow.terminal->say("plan        four words and more");
        CHECK(narrow.bytes() == "plan        four words\r\n            and more\r\n");
    }

    TEST_CASE("SizeIsThatOfTheMoment") {
        const Pty pty(80, 24);
        CHECK(pty.terminal->width() == 79);
        CHECK(pty.terminal->height() == 23);
        pty.resize(40, 10);
        CHECK(pty.terminal->width() == 39);
        CHECK(pty.terminal->height() == 9);
        pty.resize(1, 1);
        CHECK(pty.terminal->width() == 1);
        CHECK(pty.terminal->height() == 1);
        pty.resize(0, 0);  // a terminal of unknown size
        CHECK(pty.terminal->width() == 79);
    }

    TEST_CASE("BlockIsWrittenOverWhereItStands") {
        const Pty pty(80, 24);
        pty.terminal->draw({"a", "b"});
        CHECK(pty.bytes() == "a\x1b[K\r\nb\x1b[K\r\n\x1b[J");
        pty.terminal->draw({"c", "d"});
        CHECK(pty.bytes() ==
              "\r\x1b[2A"
              "c\x1b[K\r\nd\x1b[K\r\n\x1b[J");
        pty.terminal->erase();
        CHECK(pty.bytes() == "\r\x1b[2A\x1b[J");
        pty.terminal->erase();
        CHECK(pty.bytes().empty());
    }

    TEST_CASE("ScreenHoldsWhatWasSaidAndTheLastBlock") {
        const Pty pty(20, 6);
        Screen screen(20, 6);
        Terminal& terminal = *pty.terminal;
        terminal.say("head");
        for (int round = 1; round <= 12; ++round) {
            terminal.draw(Lines(static_cast<std::size_t>(1 + round % 3), fmt::format("live {}", round)));
            terminal.say(fmt::format("row {}", round));
            if (round == 5) terminal.say("a line of more than twenty columns");  // wraps to the next row, and stays
        }
        terminal.draw({"a", "b"});
        screen.feed(pty.bytes());
        Lines expected{"head", "row 1", "row 2", "row 3", "row 4", "row 5", "a line of more than", "twenty columns"};
        for (int round = 6; round <= 12; ++round) expected.push_back(fmt::format("row {}", round));
        expected.insert(expected.end(), {"a", "b"});
        CHECK(screen.rows() == expected);
        screen.feed("^C");  // the terminal's echo
        terminal.keep();
        terminal.say("end");
        screen.feed(pty.bytes());
        expected.emplace_back("end");
        CHECK(screen.rows() == expected);
    }

    TEST_CASE("BlockNeitherWrapsNorScrolls") {
        const Pty pty(10, 4);
        pty.terminal->draw({"0123456789abc", "漢字漢字漢字", "c", "d", "e", "f"});
        CHECK(pty.bytes() == "01234567…\x1b[K\r\n漢字漢字…\x1b[K\r\nc\x1b[K\r\n\x1b[J");
    }

    TEST_CASE("RowsOfATerminalThatBecameNarrowerAreCounted") {
        const Pty pty(80, 24);
        pty.terminal->draw({std::string(70, 'x'), "y"});
        pty.resize(30, 24);  // 70 columns now take three rows
        pty.bytes();
        pty.terminal->draw({"a"});
        CHECK(pty.bytes() ==
              "\r\x1b[4A"
              "a\x1b[K\r\n\x1b[J");
    }
}
