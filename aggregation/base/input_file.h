// Files that somebody named or may have put there: opened without waiting for anybody, read without believing them. Whoever reads a file
// by its name reads it through here; /proc, /sys and what this process itself keeps open are read otherwise.
#pragma once

#include "aggregation/base/error.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace fedhive {

/// Why a file gives nothing: it is not there, a folder, a pipe or a device, closed to this process, breaks off in the middle, is larger than
/// what is allowed.
enum class FileProblem { Missing, Folder, NotAFile, Unreadable, Broken, TooLarge };

struct FileError : ConfigError {
    FileError(const std::filesystem::path& file, FileProblem what, const std::string& why)
        : ConfigError(file.string() + ": " + why), problem(what), reason(why) {}
    FileProblem problem;
    std::string reason;  // the message without the path
};

/// Bytes; of texts that are taken into memory as a whole: configs, manifests, records of sweeps.
inline constexpr std::uint64_t kMostText = std::uint64_t{256} << 20;

/// A regular file, open for reading. A pipe, a device or a folder under that name is an error at once, never a wait.
class InputFile {
public:
    /// Throws FileError.
    explicit InputFile(std::filesystem::path file);
    ~InputFile();
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;

    const std::filesystem::path& path() const { return path_; }
    int descriptor() const { return descriptor_; }

    /// Bytes, when it was opened.
    std::uint64_t size() const { return size_; }

    /// The next bytes; fewer than asked for only at the file's end. Throws FileError where reading fails.
    std::size_t read(std::span<char> to);

    /// What has not been read yet, appended to `text`, which may then have `most` bytes. Throws FileError.
    void read_rest(std::string& text, std::uint64_t most);

    /// The next byte to be read.
    void seek(std::uint64_t offset);

private:
    [[noreturn]] void too_large(std::uint64_t bytes, std::uint64_t most) const;

    std::filesystem::path path_;
    int descriptor_ = -1;
    std::uint64_t size_ = 0;
    std::uint64_t read_ = 0;  // up to which byte
};

/// The whole file. Throws FileError.
std::string read_file(const std::filesystem::path& file, std::uint64_t most = kMostText);

/// The same of one that need not be there: empty then. Throws FileError for everything else.
std::string read_file_if_there(const std::filesystem::path& file, std::uint64_t most = kMostText);

/// The same of one that may be in any state, where its reader has something else to go by: empty where it cannot be read.
std::string read_file_or_nothing(const std::filesystem::path& file, std::uint64_t most = kMostText);

/// The lines of a text file, one at a time.
class LineReader {
public:
    static constexpr std::size_t kLongestLine = std::size_t{16} << 20;

    /// From that byte on. Throws FileError.
    explicit LineReader(std::filesystem::path file, std::uint64_t begin = 0) : file_(std::move(file)) { file_.seek(begin); }

    /// The next line without its end; false where there is none. Throws FileError: reading fails, or a line has more than kLongestLine bytes.
    bool next(std::string& line);

    /// Whether the last line had an end: one that a process was writing has none.
    bool ended() const { return ended_; }

private:
    InputFile file_;
    std::string buffer_;
    std::size_t begin_ = 0;  // of what has not been given out
    bool ended_ = true;
};

}  // namespace fedhive
