// What a run must not leave behind: worker processes, processes that hold its shared memory, half-written files.
#pragma once

#include "tests/process/run_process.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <set>

namespace fedhive::testing {

/// Inodes of the anonymous segments (memfd) that a process has open or mapped; empty if it is gone or another user's.
inline std::set<std::string> segments_of(pid_t pid) {
    std::set<std::string> inodes;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid), none)) {
        struct stat file {};
        if (std::filesystem::read_symlink(entry.path(), none).string().rfind("/memfd:", 0) == 0 &&
            stat(entry.path().c_str(), &file) == 0)
            inodes.insert(std::to_string(file.st_ino));
    }
    for (const std::string& line : read_lines(fmt::format("/proc/{}/maps", pid))) {
        std::istringstream fields(line);  // addresses, rights, offset, device, inode, name
        std::string skipped, inode, name;
        fields >> skipped >> skipped >> skipped >> skipped >> inode >> name;
        if (name.rfind("/memfd:", 0) == 0) inodes.insert(inode);
    }
    return inodes;
}

/// All processes that hold one of those segments.
inline std::vector<pid_t> holders_of(const std::set<std::string>& segments) {
    std::vector<pid_t> holders;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", none)) {
        const std::string name = entry.path().filename().string();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        const pid_t pid = std::stoi(name);
        const std::set<std::string> held = segments_of(pid);
        if (std::any_of(held.begin(), held.end(), [&](const std::string& inode) { return segments.contains(inode); }))
            holders.push_back(pid);
    }
    return holders;
}

/// A run at work: its workers, and the memory that it shares with them.
struct AtWork {
    std::vector<pid_t> workers;
    std::set<std::string> segments;
};

/// Waits until the run has `count` workers.
inline AtWork at_work(const FedhiveRun& run, std::size_t count) {
    REQUIRE(eventually(30.0, [&] { return run.workers().size() == count; }));
    AtWork found{run.workers(), segments_of(run.pid())};
    REQUIRE(found.segments.size() >= 3);  // control block, arena, examples
    return found;
}

/// Checks that no worker, earlier or later, and no shared memory remains; `folder`: nor a half-written file in it.
inline void check_nothing_left(const AtWork& before, const std::filesystem::path& folder = {}) {
    CHECK(eventually(60.0, [&] { return std::none_of(before.workers.begin(), before.workers.end(), alive); }));
    CHECK(eventually(60.0, [&] { return holders_of(before.segments).empty(); }));
    if (folder.empty()) return;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
        CHECK_MESSAGE(entry.path().extension() != ".part", entry.path());
}

/// Expects status 1, the reason, complete rows, and nothing left behind. Returns the seconds it took.
inline double check_aborted(FedhiveRun& run, const AtWork& before, const std::string& reason) {
    const std::int64_t start = now_ns();
    CHECK(run.end() == "exited with status 1");
    const double seconds = seconds_between(start, now_ns());
    CHECK_MESSAGE(run.output().find(reason) != std::string::npos, run.output());
    CHECK(run.manifest()["exit_status"].get<std::string>().find("failed") == 0);
    CHECK(read_text(run.out() / "events.jsonl").find("\"event\":\"failure\"") != std::string::npos);
    check_nothing_left(before, run.out());
    return seconds;
}

/// Expects status 130 and nothing left behind. Returns the seconds it took.
inline double check_interrupted(FedhiveRun& run, const AtWork& before) {
    const std::int64_t start = now_ns();
    CHECK(run.end() == "exited with status 130");
    const double seconds = seconds_between(start, now_ns());
    check_nothing_left(before, run.out());
    return seconds;
}

/// Minimum of up to six measurements, stopping below `bound`: a busy machine is slow at times, a wrong wait every time.
inline double least_of_six(double bound, const std::function<double()>& seconds) {
    double least = seconds();
    for (int again = 0; again < 5 && least >= bound; ++again) least = std::min(least, seconds());
    return least;
}

}  // namespace fedhive::testing
