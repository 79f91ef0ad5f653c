// Reading of untrusted files: opening never blocks, and sizes and lines are limited. All code that reads a file by its name
// uses this header; exceptions are /proc, /sys and files that this process itself keeps open.
#pragma once

#include "aggregation/base/error.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace fedhive {

/// Why a file cannot be read. Missing: it does not exist; Folder: it is a folder; NotAFile: a pipe or a device; Unreadable:
/// this process has no permission; Broken: reading failed in the middle; TooLarge: it exceeds the limit.
enum class FileProblem { Missing, Folder, NotAFile, Unreadable, Broken, TooLarge };

struct FileError : ConfigError {
    FileError(const std::filesystem::path& file, FileProblem what, const std::string& why)
        : ConfigError(file.string() + ": " + why), problem(what), reason(why) {}
    FileProblem problem;
    std::string reason;  // the message without the path
};

/// Limit in bytes for texts that are read into memory as a whole: configs, manifests, records of sweeps.
inline constexpr std::uint64_t kMostText = std::uint64_t{256} << 20;

/// A regular file, open for reading. A pipe, a device or a folder of that name is an error at once; opening never waits.
class InputFile {
public:
    /// Throws FileError.
    explicit InputFile(std::filesystem::path file);
    ~InputFile();
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;

    const std::filesystem::path& path() const { return path_; }
    int descriptor() const { return descriptor_; }

    /// Size in bytes at the time of opening.
    std::uint64_t size() const { return size_; }

    /// Reads the next to.size() bytes and returns their number, which is smaller only at the end of the file.
    /// Throws FileError when reading fails.
    std::size_t read(std::span<char> to);

    /// Appends the rest of the file to `text`. Throws FileError, also when `text` would then exceed `most` bytes.
    void read_rest(std::string& text, std::uint64_t most);

    /// Moves the read position to `offset` bytes from the start. Throws FileError.
    void seek(std::uint64_t offset);

private:
    [[noreturn]] void too_large(std::uint64_t bytes, std::uint64_t most) const;

    std::filesystem::path path_;
    int descriptor_ = -1;
    std::uint64_t size_ = 0;
    std::uint64_t read_ = 0;  // read position in bytes
};

/// Returns the contents of the file. Throws FileError.
std::string read_file(const std::filesystem::path& file, std::uint64_t most = kMostText);

/// Like read_file(), but returns an empty string when the file does not exist. Throws FileError for everything else.
std::string read_file_if_there(const std::filesystem::path& file, std::uint64_t most = kMostText);

/// Like read_file(), but returns an empty string when the file cannot be read: for callers with a fallback.
std::string read_file_or_nothing(const std::filesystem::path& file, std::uint64_t most = kMostText);

/// The lines of a text file, one at a time.
class LineReader {
public:
    static constexpr std::size_t kLongestLine = std::size_t{16} << 20;

    /// Starts at byte `begin`. Throws FileError.
    explicit LineReader(std::filesystem::path file, std::uint64_t begin = 0) : file_(std::move(file)) { file_.seek(begin); }

    /// Stores the next line, without its line end, in `line`; returns false at the end of the file. Throws FileError when
    /// reading fails or a line has more than kLongestLine bytes.
    bool next(std::string& line);

    /// Whether the last line had a line end; a line that another process is still writing has none.
    bool ended() const { return ended_; }

private:
    InputFile file_;
    std::string buffer_;
    std::size_t begin_ = 0;  // first byte of buffer_ that next() has not returned yet
    bool ended_ = true;
};

}  // namespace fedhive
