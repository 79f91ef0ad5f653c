#include "sim/screen/watched_file.h"

#include "aggregation/base/input_file.h"
#include "sim/record/run_lock.h"

#include <fmt/format.h>

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <charconv>
#include <chrono>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

namespace fedhive::sim {

namespace {

/// An open file; empty if it cannot be opened. A file that cannot be read, or is larger than any of ours, reads as empty: the
/// screen goes on, and the process that owns the file reports the problem.
class OpenFile {
public:
    explicit OpenFile(const std::filesystem::path& file) {
        try {
            file_.emplace(file);
        } catch (const FileError&) {
            file_.reset();
        }
    }

    bool status(struct stat& status) const { return file_ && fstat(file_->descriptor(), &status) == 0; }

    std::string read_from(std::uint64_t offset) {
        std::string content;
        try {
            file_->seek(offset);
            file_->read_rest(content, kMostText);
        } catch (const FileError&) {
            content.clear();
        }
        return content;
    }

private:
    std::optional<InputFile> file_;
};

std::int64_t written_ns(const struct stat& status) {
    return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

}  // namespace

std::optional<std::string> WatchedFile::if_changed() {
    struct stat status {};
    // stat by name: mostly the file has not changed, and need not be opened.
    if (stat(file_.c_str(), &status) != 0) return std::nullopt;
    if (Stamp{status.st_ino, status.st_size, written_ns(status)} == stamp_) return std::nullopt;
    OpenFile file(file_);
    if (!file.status(status)) return std::nullopt;
    stamp_ = {status.st_ino, status.st_size, written_ns(status)};
    return file.read_from(0);
}

GrowingTable::Added GrowingTable::read() {
    Added added;
    OpenFile file(file_);
    struct stat status {};
    if (!file.status(status)) {
        added.anew = offset_ > 0;
        *this = GrowingTable(file_);
        return added;
    }
    written_s_ = static_cast<double>(written_ns(status)) * 1e-9;
    std::string text = file.read_from(offset_ - last_line_.size());
    if (text.starts_with(last_line_)) {
        text.erase(0, last_line_.size());
    } else {
        added.anew = true;
        offset_ = 0;
        last_line_.clear();
        text = file.read_from(0);
    }
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
        added.lines.push_back(text.substr(begin, end - begin));
        last_line_ = added.lines.back() + '\n';
    }
    offset_ += begin;
    unfinished_ = text.size() - begin;
    return added;
}

LockHolder lock_holder(const std::filesystem::path& folder) {
    struct stat status {};
    if (stat((folder / RunLock::kName).c_str(), &status) != 0) return {};
    const std::string device = fmt::format("{:02x}:{:02x}:", major(status.st_dev), minor(status.st_dev));
    pid_t name = 0;
    const std::string holder = read_file_or_nothing(folder / RunLock::kName, 32);
    std::from_chars(holder.data(), holder.data() + holder.size(), name);
    // 1: FLOCK  ADVISORY  WRITE 21282 fe:00:11173919 0 EOF
    std::ifstream locks("/proc/locks");
    const std::string inode = fmt::format(":{} ", status.st_ino);
    for (std::string line; std::getline(locks, line);) {
        if (line.find(inode) == std::string::npos) continue;
        std::istringstream words(line);
        std::string number;
        std::string kind;
        std::string how;
        std::string access;
        std::string file;
        pid_t pid = 0;
        if (!(words >> number >> kind >> how >> access >> pid >> file) || kind != "FLOCK") continue;
        // With layered file systems (overlay, btrfs) the kernel's list shows another device than stat.
        if (file.starts_with(device) || pid == name) return {pid, static_cast<double>(written_ns(status)) * 1e-9};
    }
    return {};
}

double time_s() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

}  // namespace fedhive::sim
