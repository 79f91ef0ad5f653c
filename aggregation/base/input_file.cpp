#include "aggregation/base/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

namespace fedhive {

namespace {

constexpr std::size_t kPart = std::size_t{256} << 10;

/// The error for a path at which there is no regular file.
FileError not_a_file(const std::filesystem::path& file, mode_t mode) {
    if (S_ISDIR(mode)) return {file, FileProblem::Folder, "is a folder; name a file"};
    const char* kind = S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
    return {file, FileProblem::NotAFile, fmt::format("is not a regular file but {}; write its content to a file", kind)};
}

/// The problem behind a failed open(), by its errno.
FileError not_opened(const std::filesystem::path& file, int error) {
    struct stat status {};
    // A socket, or a device without a driver.
    if (stat(file.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) return not_a_file(file, status.st_mode);
    if (error == ENOENT || error == ENOTDIR) return {file, FileProblem::Missing, "no such file"};
    return {file, FileProblem::Unreadable, fmt::format("cannot be opened: {}", std::strerror(error))};
}

}  // namespace

InputFile::InputFile(std::filesystem::path file) : path_(std::move(file)) {
    // O_NONBLOCK: otherwise open() would wait for a pipe's writer, with interrupts blocked. It has no effect on a regular file.
    descriptor_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor_ < 0) throw not_opened(path_, errno);
    struct stat status {};
    const bool known = fstat(descriptor_, &status) == 0;
    if (known && S_ISREG(status.st_mode)) {
        size_ = static_cast<std::uint64_t>(status.st_size);
        return;
    }
    const int error = errno;
    close(descriptor_);
    throw known ? not_a_file(path_, status.st_mode) : not_opened(path_, error);
}

InputFile::~InputFile() { close(descriptor_); }

std::size_t InputFile::read(std::span<char> to) {
    std::size_t done = 0;
    while (done < to.size()) {
        const ssize_t got = ::read(descriptor_, to.data() + done, to.size() - done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw FileError(path_, FileProblem::Broken, fmt::format("cannot be read: {}", std::strerror(errno)));
        if (got == 0) break;
        done += static_cast<std::size_t>(got);
    }
    read_ += done;
    return done;
}

void InputFile::too_large(std::uint64_t bytes, std::uint64_t most) const {
    throw FileError(path_, FileProblem::TooLarge, fmt::format("has {} bytes; allowed: at most {}", bytes, most));
}

void InputFile::read_rest(std::string& text, std::uint64_t most) {
    const std::uint64_t rest = size_ - std::min(size_, read_);
    // Checked before anything is allocated: a sparse file may claim more bytes than there is memory.
    if (text.size() + rest > most) too_large(text.size() + rest, most);
    try {
        // One read suffices for a file of unchanged size; the additional byte detects its end.
        for (std::size_t part = rest + 1;; part = kPart) {
            const std::size_t before = text.size();
            text.resize(before + part);
            const std::size_t got = read(std::span(text).subspan(before));
            text.resize(before + got);
            if (text.size() > most) too_large(text.size(), most);
            if (got < part) return;
        }
    } catch (const std::bad_alloc&) {
        throw FileError(path_, FileProblem::TooLarge, fmt::format("has {} bytes, more than this process can read", size_));
    }
}

void InputFile::seek(std::uint64_t offset) {
    if (lseek(descriptor_, static_cast<off_t>(offset), SEEK_SET) < 0)
        throw FileError(path_, FileProblem::Broken, fmt::format("cannot be read: {}", std::strerror(errno)));
    read_ = offset;
}

std::string read_file(const std::filesystem::path& file, std::uint64_t most) {
    InputFile input(file);
    std::string text;
    input.read_rest(text, most);
    return text;
}

std::string read_file_if_there(const std::filesystem::path& file, std::uint64_t most) {
    try {
        return read_file(file, most);
    } catch (const FileError& error) {
        if (error.problem != FileProblem::Missing) throw;
        return "";
    }
}

std::string read_file_or_nothing(const std::filesystem::path& file, std::uint64_t most) {
    try {
        return read_file(file, most);
    } catch (const FileError&) {
        return "";
    }
}

bool LineReader::next(std::string& line) {
    std::size_t looked = 0;  // bytes after begin_ that were searched and contain no line end
    for (;;) {
        const std::size_t end = buffer_.find('\n', begin_ + looked);
        if (end != std::string::npos) {
            line.assign(buffer_, begin_, end - begin_);
            begin_ = end + 1;
            return ended_ = true;
        }
        buffer_.erase(0, std::exchange(begin_, 0));
        looked = buffer_.size();
        if (looked > kLongestLine)
            throw FileError(file_.path(), FileProblem::TooLarge,
                            fmt::format("has a line of more than {} bytes, so it is not a table", kLongestLine));
        buffer_.resize(looked + kPart);
        buffer_.resize(looked + file_.read(std::span(buffer_).subspan(looked)));
        if (buffer_.size() > looked) continue;
        if (looked == 0) return false;
        line = std::exchange(buffer_, "");
        ended_ = false;
        return true;
    }
}

}  // namespace fedhive
