#include "aggregation/memory/shared_segment.h"

#include "aggregation/base/error.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <limits>

using namespace fedhive::aggregation;
using fedhive::Fault;
namespace fs = std::filesystem;

namespace {

/// A temporary folder with the files that set memory limits, used in place of /.
class FakeRoot {
public:
    FakeRoot() {
        std::string path = (fs::temp_directory_path() / "fedhive-test-XXXXXX").string();
        REQUIRE(mkdtemp(path.data()) != nullptr);
        path_ = path;
        put("proc/meminfo", "MemTotal:  2000 kB\nMemAvailable:  1000 kB\nHugePages_Total: 0\n");
    }
    ~FakeRoot() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    FakeRoot(const FakeRoot&) = delete;
    FakeRoot& operator=(const FakeRoot&) = delete;

    void put(const fs::path& file, const std::string& text) const {
        fs::create_directories((path_ / file).parent_path());
        std::ofstream(path_ / file) << text;
    }
    std::uint64_t available() const { return available_memory_bytes(path_); }

private:
    fs::path path_;
};

/// Runs work in a forked child and returns its exit code.
template <typename Work>
int in_child(Work work) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) _exit(work());
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status);
}

}  // namespace

TEST_SUITE("SharedSegment") {
    TEST_CASE("SegmentIsZeroedAndAnotherProcessSeesItsBytes") {
        SharedSegment segment("test", 100000);
        CHECK(segment.size() == 100000);
        CHECK(std::all_of(segment.data(), segment.data() + segment.size(), [](std::byte b) { return b == std::byte{0}; }));
        segment.data()[99999] = std::byte{42};
        const int code = in_child([&] {
            const SharedSegmentView view(segment.descriptor(), 100000);
            if (view.data()[99999] != std::byte{42}) return 1;
            view.data()[7] = std::byte{9};
            return 0;
        });
        CHECK(code == 0);
        CHECK(segment.data()[7] == std::byte{9});
    }

    TEST_CASE("SegmentReadOnlyViewFollowsTheWriter") {
        SharedSegment segment("test", 4096);
        const SharedSegmentView view(segment.descriptor(), 4096, SegmentAccess::ReadOnly);
        segment.data()[5] = std::byte{77};
        CHECK(view.data()[5] == std::byte{77});
        const int code = in_child([&] {
            // The memory protection must stop a write, in a child that reports its SIGSEGV.
            const pid_t writer = fork();
            if (writer == 0) {
                std::signal(SIGSEGV, [](int) { _exit(3); });
                *const_cast<volatile std::byte*>(view.data()) = std::byte{1};
                _exit(0);
            }
            int status = 0;
            waitpid(writer, &status, 0);
            return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
        });
        CHECK(code == 3);
    }

    TEST_CASE("SegmentIsNotInheritedThroughExecAndCloses") {
        int descriptor = -1;
        {
            const SharedSegment segment("test", 1);
            descriptor = segment.descriptor();
            CHECK((fcntl(descriptor, F_GETFD) & FD_CLOEXEC) != 0);
        }
        CHECK(fcntl(descriptor, F_GETFD) == -1);
    }

    TEST_CASE("SegmentViewOfTooShortOrNoSegmentIsRefused") {
        const SharedSegment segment("test", 4096);
        CHECK_THROWS_AS(SharedSegmentView(segment.descriptor(), 4097), Fault);
        CHECK_THROWS_AS(SharedSegmentView(-1, 1), Fault);
    }

    TEST_CASE("SegmentLargerThanMemoryNamesWantedAndAvailableBytes") {
        // No file can be this long: if the check is ever lost, the kernel refuses at once instead of exhausting memory.
        const std::size_t wanted = std::size_t{1} << 63;
        std::string message;
        try {
            const SharedSegment segment("test", wanted);
        } catch (const Fault& fault) {
            message = fault.what();
        }
        CHECK(message.find(std::to_string(wanted) + " bytes of memory") != std::string::npos);
        CHECK(message.ends_with("bytes are available"));
    }
}

TEST_SUITE("AvailableMemory") {
    TEST_CASE("AvailableMemoryOfThisMachineIsPlausible") {
        CHECK(available_memory_bytes() > 1000000);
        CHECK(available_memory_bytes() < std::uint64_t{1} << 50);
    }

    TEST_CASE("AvailableMemoryWithoutLimitsIsTheMachines") {
        const FakeRoot root;
        CHECK(root.available() == 1024000);
        root.put("proc/self/cgroup", "0::/\n");
        root.put("sys/fs/cgroup/memory.max", "max\n");
        CHECK(root.available() == 1024000);
    }

    TEST_CASE("AvailableMemoryCountsPageCacheAsFree") {
        const FakeRoot root;
        root.put("proc/self/cgroup", "0::/\n");
        root.put("sys/fs/cgroup/memory.max", "500000\n");
        root.put("sys/fs/cgroup/memory.current", "300000\n");
        CHECK(root.available() == 200000);
        root.put("sys/fs/cgroup/memory.stat", "anon 1\ninactive_file 100000\nactive_file 5\n");
        CHECK(root.available() == 300000);
        root.put("sys/fs/cgroup/memory.current", "900000\n");
        CHECK(root.available() == 0);
    }

    TEST_CASE("AvailableMemoryObeysTheTightestGroupOnTheWayUp") {
        const FakeRoot root;
        root.put("proc/self/cgroup", "0::/slice/job\n");
        root.put("sys/fs/cgroup/slice/job/memory.max", "max\n");
        root.put("sys/fs/cgroup/slice/memory.max", "400000\n");
        root.put("sys/fs/cgroup/slice/memory.current", "1000\n");
        CHECK(root.available() == 399000);
    }

    TEST_CASE("AvailableMemoryKnowsCgroupVersionOne") {
        const FakeRoot root;
        root.put("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/seen/by/the/host/only\n");
        root.put("sys/fs/cgroup/memory/memory.limit_in_bytes", "600000\n");
        root.put("sys/fs/cgroup/memory/memory.usage_in_bytes", "200000\n");
        CHECK(root.available() == 400000);
    }
}
