#include "sim/screen/screen_text.h"

#include <doctest/doctest.h>

using namespace fedhive::sim;

TEST_SUITE("ScreenText") {
    TEST_CASE("WhatATerminalWouldObeyIsWrittenOut") {
        CHECK(escaped("plain, ä → 本\nsecond") == "plain, ä → 本\nsecond");
        CHECK(escaped("\x1b[2J\r\t\x7f") == "\\x1b[2J\\x0d\\x09\\x7f");
        CHECK(escaped("\u009b2J\u202e\u2066") == "\\u009b2J\\u202e\\u2066");
        CHECK(escaped("a\xff\xc3") == "a\\xff\\xc3");
        const std::string red = paint(Tone::Bad, "x", true) + paint(Tone::Good, "y", true) + paint(Tone::Dim, "z", true);
        CHECK(escaped_but_colours(red + "\x1b[2J\x1b[") == red + "\\x1b[2J\\x1b[");
        CHECK(escaped(red).find('\x1b') == std::string::npos);
    }

    TEST_CASE("ColumnsAreThoseOfATerminal") {
        CHECK(columns("") == 0);
        CHECK(columns("round 1") == 7);
        CHECK(columns("█░·…✓") == 5);
        CHECK(columns("漢字かな한") == 10);
        CHECK(columns("🙂") == 2);
        CHECK(columns("e\u0301") == 1);  // a letter with a combining accent
        CHECK(columns("\x1b[31mred\x1b[0m") == 3);
        CHECK(columns("a\xFFz") == 3);
        CHECK(columns("\xE2\x96") == 2);              // cut within a character
        CHECK(columns("\xC0\x80\xED\xA0\x80") == 5);  // invalid: an overlong zero, half of a surrogate pair
    }

    TEST_CASE("CutTextFitsAndSaysThatItIsCut") {
        CHECK(cut("abcdef", 6) == "abcdef");
        CHECK(cut("abcdef", 5) == "abcd…");
        CHECK(cut("abcdef", 1) == "…");
        CHECK(cut("abcdef", 0).empty());
        CHECK(cut("漢字", 4) == "漢字");
        CHECK(cut("漢字", 3) == "漢…");
        CHECK(cut("漢字", 2) == "…");  // a wide character does not fit
        CHECK(cut("\x1b[31mabcdef\x1b[0m", 4) == "\x1b[31mabc…\x1b[0m");
    }

    TEST_CASE("MiddleIsLeftOutWhereBothEndsCount") {
        CHECK(cut_middle("lr=0.1,clients=10,seed=2", 24) == "lr=0.1,clients=10,seed=2");
        CHECK(cut_middle("lr=0.1,clients=10,seed=2", 15) == "lr=0.1,…,seed=2");
        CHECK(cut_middle("abcdef", 2) == "a…");
        CHECK(columns(cut_middle("漢字かな漢字", 7)) <= 7);
    }

    TEST_CASE("PaddedTextHasItsWidth") {
        CHECK(left("ab", 4) == "ab  ");
        CHECK(right("ab", 4) == "  ab");
        CHECK(left("漢", 4) == "漢  ");
        CHECK(right("abcdef", 3) == "a…f");
    }

    TEST_CASE("LongLinesGoOnAtASpaceBelowTheirText") {
        CHECK(wrapped("run         abc def ghi", 23) == "run         abc def ghi");
        CHECK(wrapped("run         abc def ghi", 22) == "run         abc def\n            ghi");
        CHECK(wrapped("run         abc def ghi", 20) == "run         abc def\n            ghi");
        CHECK(wrapped("one two three four", 9) == "one two\nthree\nfour");
        CHECK(wrapped("  one two three", 9) == "  one two\n  three");
        CHECK(wrapped("short\n\nabc def\n", 4) == "short\n\nabc\ndef\n");
        CHECK(wrapped("folder      /a/path/without/spaces", 25) == "folder      /a/path/without/spaces");  // for copying
        CHECK(wrapped("a  b  c", 80) == "a  b  c");
        CHECK(wrapped("\x1b[32mgood news\x1b[0m", 5) == "\x1b[32mgood\nnews\x1b[0m");
        CHECK(wrapped("", 10).empty());
    }

    TEST_CASE("WhatCouldMoveTheCursorIsMadeHarmless") {
        CHECK(printable("a\x1b[2Jb\tc\r\nd\x7F") == "a [2Jb c  d ");
        CHECK(printable("\xC2\x9B"
                        "2J") == " 2J");  // ESC [ as one character
        CHECK(printable("ä\xFFö") == "ä?ö");
        CHECK(printable(std::string_view("a\0b", 3)) == "a b");
    }

    TEST_CASE("NoColourLeavesTheTextAsItIs") {
        CHECK(paint(Tone::Bad, "x", false) == "x");
        CHECK(paint(Tone::Plain, "x", true) == "x");
        CHECK(paint(Tone::Bad, "x", true) == "\x1b[31mx\x1b[0m");
        CHECK(paint(Tone::Good, "x", true) == "\x1b[32mx\x1b[0m");
    }

    TEST_CASE("BarAndClock") {
        CHECK(bar(0.0, 4) == "░░░░");
        CHECK(bar(0.5, 4) == "██░░");
        CHECK(bar(0.999, 4) == "███░");  // full only at 1
        CHECK(bar(1.0, 4) == "████");
        CHECK(bar(-1.0, 2) == "░░");
        CHECK(bar(7.0, 2) == "██");
        CHECK(clock_time(0.4) == "00:00");
        CHECK(clock_time(252.0) == "04:12");
        CHECK(clock_time(3852.0) == "1:04:12");
        CHECK(clock_time(100000.0) == "27:46:40");
    }
}
