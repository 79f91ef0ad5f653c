#include "sim/record/durable_file.h"

#include "aggregation/base/error.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace fedhive::sim {

namespace fs = std::filesystem;

namespace {

/// An open descriptor, closed on every way out.
class Descriptor {
public:
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    int number() const { return number_; }
    /// Some file systems report a failed write only here.
    bool close() { return ::close(std::exchange(number_, -1)) == 0; }

private:
    int number_;
};

void write_all(int descriptor, std::string_view content, const fs::path& file) {
    while (!content.empty()) {
        const ssize_t written = write(descriptor, content.data(), content.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) throw os_fault("writing " + file.string());
        content.remove_prefix(static_cast<std::size_t>(written));
    }
}

/// Always creates a new file: removes the remains of a killed process, or a foreign link.
int create(const fs::path& file) {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    int descriptor = open(file.c_str(), kFlags, 0644);
    if (descriptor < 0 && errno == EEXIST && unlink(file.c_str()) == 0) descriptor = open(file.c_str(), kFlags, 0644);
    if (descriptor < 0) throw os_fault("cannot write " + file.string());
    return descriptor;
}

void write_and_sync(const fs::path& file, const std::function<void(const WritePart&)>& write) {
    Descriptor descriptor(create(file));
    write([&](std::string_view part) { write_all(descriptor.number(), part, file); });
    if (fsync(descriptor.number()) != 0 || !descriptor.close()) throw os_fault("syncing " + file.string());
}

/// A rename lasts once its folder is synced.
void sync_folder(const fs::path& folder) {
    const Descriptor descriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (descriptor.number() < 0) throw os_fault("cannot open " + folder.string());
    // EINVAL: this file system cannot sync folders, and nothing more can be done.
    if (fsync(descriptor.number()) != 0 && errno != EINVAL) throw os_fault("syncing " + folder.string());
}

}  // namespace

void write_file(const fs::path& file, std::string_view content) {
    write_file(file, [&](const WritePart& write) { write(content); });
}

void write_file(const fs::path& file, const std::function<void(const WritePart&)>& write) {
    const fs::path aside = file.string() + ".part";
    try {
        write_and_sync(aside, write);
        if (std::rename(aside.c_str(), file.c_str()) != 0) throw os_fault("cannot write " + file.string());
    } catch (...) {
        unlink(aside.c_str());
        throw;
    }
    sync_folder(file.has_parent_path() ? file.parent_path() : ".");
}

int open_own_file(const fs::path& file, int flags) {
    const int descriptor = open(file.c_str(), flags | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
    if (descriptor < 0 && errno == ELOOP)
        throw Fault(fmt::format("cannot write {}: it is a symbolic link; remove it", file.string()));
    if (descriptor < 0) throw os_fault("cannot write " + file.string());
    struct stat status {};
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) return descriptor;
    close(descriptor);
    throw Fault(fmt::format("cannot write {}: it is not a regular file; remove it", file.string()));
}

}  // namespace fedhive::sim
