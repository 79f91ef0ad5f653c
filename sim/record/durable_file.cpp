#include "sim/record/durable_file.h"

#include "aggregation/base/error.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace fedhive::sim {

namespace fs = std::filesystem;

namespace {

/// An open descriptor, closed on every way out.
class Descriptor {
public:
    Descriptor(const fs::path& path, int flags) : number_(open(path.c_str(), flags | O_CLOEXEC, 0644)) {
        if (number_ < 0) throw os_fault("cannot open " + path.string());
    }
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

void write_and_sync(const fs::path& file, std::string_view content) {
    Descriptor descriptor(file, O_WRONLY | O_CREAT | O_TRUNC);
    write_all(descriptor.number(), content, file);
    if (fsync(descriptor.number()) != 0 || !descriptor.close()) throw os_fault("syncing " + file.string());
}

/// A rename lasts once the folder that holds both names is on the disk.
void sync_folder(const fs::path& folder) {
    const Descriptor descriptor(folder, O_RDONLY | O_DIRECTORY);
    // A file system that cannot sync folders says so with EINVAL; there is nothing more to be had from it.
    if (fsync(descriptor.number()) != 0 && errno != EINVAL) throw os_fault("syncing " + folder.string());
}

}  // namespace

void write_file(const fs::path& file, std::string_view content) {
    const fs::path aside = file.string() + ".part";
    try {
        write_and_sync(aside, content);
        if (std::rename(aside.c_str(), file.c_str()) != 0) throw os_fault("cannot write " + file.string());
    } catch (...) {
        unlink(aside.c_str());
        throw;
    }
    sync_folder(file.has_parent_path() ? file.parent_path() : ".");
}

}  // namespace fedhive::sim
