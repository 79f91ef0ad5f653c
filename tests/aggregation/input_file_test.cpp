#include "aggregation/base/input_file.h"

#include "tests/support/golden_messages.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

using namespace fedhive;

namespace {

namespace fs = std::filesystem;

struct Folder : testing::TemporaryFolder {
    fs::path put(const char* name, const std::string& text) const {
        std::ofstream(path() / name, std::ios::binary) << text;
        return path() / name;
    }
};

/// Reading the file must fail with this problem and reason, and without waiting.
void refused(const fs::path& file, FileProblem problem, const std::string& reason, std::uint64_t most = kMostText) {
    try {
        read_file(file, most);
        FAIL("was read: " << file.string());
    } catch (const FileError& error) {
        CHECK(error.problem == problem);
        CHECK(std::string(error.what()) == file.string() + ": " + error.reason);
        CHECK_MESSAGE(error.reason.find(reason) != std::string::npos, error.reason);
    }
}

}  // namespace

TEST_SUITE("InputFile") {
    TEST_CASE("WhatIsNoFileIsToldApartAndNeverWaitedFor") {
        const Folder folder;
        refused(folder.path() / "none", FileProblem::Missing, "no such file");
        refused(folder.put("file", "x") / "below", FileProblem::Missing, "no such file");
        refused(folder.path(), FileProblem::Folder, "is a folder");
        const fs::path pipe = folder.path() / "pipe";
        REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
        refused(pipe, FileProblem::NotAFile, "is not a regular file but a pipe");
        refused("/dev/zero", FileProblem::NotAFile, "is not a regular file but a device");
        const int listening = socket(AF_UNIX, SOCK_STREAM, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        const std::string name = (folder.path() / "socket").string();
        std::copy(name.begin(), name.end(), std::begin(address.sun_path));
        REQUIRE(bind(listening, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
        refused(name, FileProblem::NotAFile, "is not a regular file but a socket");
        close(listening);
        const fs::path loop = folder.path() / "loop";
        fs::create_symlink(loop, loop);
        refused(loop, FileProblem::Unreadable, "cannot be opened: ");
        refused(fs::path(std::string(300, 'x')), FileProblem::Unreadable, "File name too long");
    }

    TEST_CASE("ReadThatFailsIsNotTheEndOfTheFile") {
        // A regular file to the kernel, with nothing mapped at offset 0.
        refused("/proc/self/mem", FileProblem::Broken, "cannot be read: Input/output error");
        CHECK_THROWS_AS(read_file_if_there("/proc/self/mem"), FileError);
        std::string line;
        LineReader lines("/proc/self/mem");
        CHECK_THROWS_WITH_AS(lines.next(line), doctest::Contains("/proc/self/mem: cannot be read"), FileError);
    }

    TEST_CASE("FileThatIsTooLargeIsRefusedBeforeItIsRead") {
        const Folder folder;
        const fs::path file = folder.put("file", "12345678");
        CHECK(read_file(file, 8) == "12345678");
        refused(file, FileProblem::TooLarge, "has 8 bytes; allowed: at most 7", 7);
        fs::resize_file(file, std::uintmax_t{1} << 40);
        refused(file, FileProblem::TooLarge, "has 1099511627776 bytes");
#ifndef FEDHIVE_SANITIZED  // the address sanitizer aborts on such a large allocation
        // Larger than the address space of the process.
        refused(file, FileProblem::TooLarge, "bytes", std::uint64_t{1} << 62);
#endif
    }

    TEST_CASE("AllOfAFileIsReadWhateverTheKernelSaysOfItsSize") {
        const Folder folder;
        CHECK(read_file(folder.put("empty", "")).empty());
        const std::string large((3 << 20) + 7, 'x');
        CHECK(read_file(folder.put("large", large)) == large);
        CHECK(read_file("/proc/self/status").starts_with("Name:"));  // its size is reported as 0
        InputFile part(folder.put("part", "0123456789"));
        part.seek(4);
        std::string text = "at ";
        part.read_rest(text, 9);
        CHECK(text == "at 456789");
        part.seek(4);
        CHECK_THROWS_WITH_AS(part.read_rest(text, 14), doctest::Contains("has 15 bytes; allowed: at most 14"), FileError);
    }

    TEST_CASE("MissingIsNothingOnlyWhereThatIsAskedFor") {
        const Folder folder;
        CHECK(read_file_if_there(folder.path() / "none").empty());
        CHECK_THROWS_AS(read_file_if_there(folder.path()), FileError);
        CHECK(read_file_or_nothing(folder.path()).empty());
    }

    TEST_CASE("LinesAreGivenOneByOneAndTheTornOneIsTold") {
        const Folder folder;
        const std::string wide(700'000, 'w');
        LineReader lines(folder.put("table", "a\n\n" + wide + "\r\nlast"));
        std::string line;
        for (const std::string& wanted : {std::string("a"), std::string(), wide + "\r"}) {
            REQUIRE(lines.next(line));
            CHECK(line == wanted);
            CHECK(lines.ended());
        }
        REQUIRE(lines.next(line));
        CHECK(line == "last");
        CHECK_FALSE(lines.ended());
        CHECK_FALSE(lines.next(line));
        LineReader later(folder.path() / "table", 2);
        REQUIRE(later.next(line));
        CHECK(line.empty());
        fs::resize_file(folder.put("holes", "a\n"), std::uintmax_t{1} << 40);
        LineReader holes(folder.path() / "holes");
        CHECK(holes.next(line));
        CHECK_THROWN_MESSAGE("aggregation", "", FileError, holes.next(line));
    }
}
