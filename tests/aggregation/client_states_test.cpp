#include "aggregation/memory/client_states.h"

#include "aggregation/base/error.h"
#include "aggregation/memory/unnamed_file.h"
#include "tests/aggregation/spans.h"
#include "tests/support/skip.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <optional>

using namespace fedhive;
using namespace fedhive::aggregation;

namespace {

/// A folder for unnamed files; no directory entry ever appears in it.
class OwnFolder {
public:
    OwnFolder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "fedhive-test-XXXXXX").string();
        REQUIRE(mkdtemp(pattern.data()) != nullptr);
        path_ = pattern;
    }
    ~OwnFolder() { rmdir(path_.c_str()); }
    OwnFolder(const OwnFolder&) = delete;
    OwnFolder& operator=(const OwnFolder&) = delete;

    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

/// Bytes of memory allocated for the states.
std::uint64_t allocated(const ClientStates& states) {
    struct stat status {};
    REQUIRE(fstat(states.descriptor(), &status) == 0);
    return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

/// Resident bytes of this process.
std::uint64_t resident() {
    std::ifstream stream("/proc/self/statm");
    std::uint64_t all = 0, touched = 0;
    stream >> all >> touched;
    return touched * 4096;
}

/// Dirty pages of a range of the file; none if the kernel has no cachestat (Linux 6.5).
std::optional<std::uint64_t> dirty_pages(const ClientStates& states, std::uint64_t offset, std::uint64_t bytes) {
    constexpr long kCachestat = 451;
    struct Range {
        std::uint64_t offset, bytes;
    } range{offset, bytes};
    struct Pages {
        std::uint64_t cached, dirty, being_written, evicted, recently_evicted;
    } pages{};
    if (syscall(kCachestat, states.descriptor(), &range, &pages, 0) != 0) return std::nullopt;
    return pages.dirty;
}

std::vector<float> values_of(const ClientStates& states, std::uint64_t client) {
    const auto found = states.of(client).host();
    return {found.begin(), found.end()};
}

/// Five clients, a thousand floats each; some keep a state. The same for states in memory and in a file.
void check_keeping(ClientStates states, bool in_file) {
    const ClientStates reader = ClientStates::open(states.descriptor(), 5, 1000);
    CHECK(states.lies_in_file() == in_file);
    CHECK(reader.lies_in_file() == in_file);
    CHECK(states.keepers().empty());
    CHECK(reader.of(3).size == 0);
    const std::vector<float> one = testing::random_floats(1000, 1), other = testing::random_floats(1000, 2);
    states.add(3, one);
    CHECK(values_of(reader, 3) == one);
    states.add(3, other);
    std::vector<float> sum(1000);
    for (std::size_t i = 0; i < 1000; ++i) sum[i] = one[i] + other[i];
    CHECK(values_of(reader, 3) == sum);
    states.set(0, other);
    states.set(3, one);
    for (const std::uint64_t client : {0U, 3U, 4U}) reader.release_pages(client);
    states.release_pages(std::string_view(reinterpret_cast<const char*>(states.of(3).data), 8));
    states.release_pages(std::string_view("of somebody else"));
    CHECK(values_of(reader, 0) == other);
    CHECK(values_of(reader, 3) == one);
    CHECK(reader.keepers() == std::vector<std::uint64_t>{0, 3});
    CHECK(reader.of(4).size == 0);
    CHECK_THROWS_AS(states.of(5), Fault);
    CHECK_THROWS_AS(states.add(1, std::vector<float>(999)), Fault);
}

}  // namespace

TEST_SUITE("ClientStates") {
    TEST_CASE("WhatIsAddedIsKeptAndReadByWhoeverOpensIt") {
        const OwnFolder folder;
        SUBCASE("in memory") { check_keeping(ClientStates::create(5, 1000), false); }
        SUBCASE("in a file") { check_keeping(ClientStates::create_in(folder.path(), 5, 1000), !lies_in_memory(folder.path())); }
        CHECK(std::filesystem::is_empty(folder.path()));
    }

    TEST_CASE("MemoryGrowsWithTheClientsThatKeepSomething") {
        constexpr std::uint64_t kFloats = 100'000;
        ClientStates states = ClientStates::create(10'000, kFloats);  // 4 GB if it were all allocated
        const std::uint64_t before = allocated(states);
        CHECK(before <= 4 * 4096);
        const std::vector<float> change(kFloats, 1.0F);
        for (const std::uint64_t client : {7U, 9'999U}) {
            CHECK(states.of(client).size == 0);
            states.add(client, change);
        }
        CHECK(allocated(states) - before == 2 * ClientStates::bytes_each(kFloats));
        CHECK(ClientStates::bytes_each(kFloats) < kFloats * sizeof(float) + 4096);
        const ClientStates reader = ClientStates::open(states.descriptor(), 10'000, kFloats);
        for (std::uint64_t client = 0; client < 10'000; ++client)
            if (client != 7) REQUIRE((reader.of(client).size > 0) == (client == 9'999));
        CHECK(allocated(states) - before == 2 * ClientStates::bytes_each(kFloats));
    }

    TEST_CASE("WhatLiesInAFileIsNotInThisProcesssMemory") {
        const OwnFolder folder;
        if (lies_in_memory(folder.path())) FEDHIVE_SKIP(folder.path().string() + " lies in memory");
        constexpr std::uint64_t kFloats = 1'000'000, kClients = 20;
        ClientStates states = ClientStates::create_in(folder.path(), 1000, kFloats);
        const std::uint64_t empty = allocated(states);
        const ClientStates reader = ClientStates::open(states.descriptor(), 1000, kFloats);
        const std::vector<float> change(kFloats, 2.0F);
        const std::uint64_t before = resident();
        for (std::uint64_t client = 0; client < kClients; ++client) {
            states.add(client, change);
            states.add(client, change);
            CHECK(reader.of(client).data[kFloats - 1] == 4.0F);
            reader.release_pages(client);
        }
        CHECK(allocated(states) - empty >= kClients * ClientStates::bytes_each(kFloats));
        CHECK(resident() < before + 3 * ClientStates::bytes_each(kFloats));
        // As when a checkpoint is written: pages are released after they were read.
        for (std::uint64_t client = 0; client < kClients; ++client) {
            const auto kept = states.of(client).host();
            CHECK(std::accumulate(kept.begin(), kept.end(), 0.0) == 4.0 * kFloats);
            states.release_pages(std::string_view(reinterpret_cast<const char*>(kept.data()), kept.size_bytes()));
        }
        CHECK(resident() < before + 3 * ClientStates::bytes_each(kFloats));
    }

    TEST_CASE("WhatLiesInAFileIsOnItsWayToTheDiskWhenItIsKept") {
        const OwnFolder folder;
        if (lies_in_memory(folder.path())) FEDHIVE_SKIP(folder.path().string() + " lies in memory");
        constexpr std::uint64_t kFloats = 100'000;
        ClientStates states = ClientStates::create_in(folder.path(), 5, kFloats);
        if (!dirty_pages(states, 0, 4096)) FEDHIVE_SKIP("this kernel has no cachestat");
        const std::vector<float> change(kFloats, 1.0F);
        for (const std::uint64_t client : {3U, 1U}) {
            const std::uint64_t each = ClientStates::bytes_each(kFloats);
            client == 3 ? states.add(client, change) : states.set(client, change);
            CHECK(*dirty_pages(states, 4096 + client * each, each) == 0);
        }
    }

    TEST_CASE("DiskWithoutRoomIsNamed") {
        CHECK_THROWS_WITH_AS(ClientStates::create_in("/nowhere/at/all", 5, 10), doctest::Contains("/nowhere/at/all"), Fault);
        const OwnFolder folder;
        ClientStates states = ClientStates::create_in(folder.path(), 5, 100'000);
        const std::vector<float> change(100'000, 1.0F);
        states.add(0, change);
        // A limit of this process refuses to extend the file, like a full disk. The file has its length
        // already, so more is requested.
        REQUIRE(ftruncate(states.descriptor(), 4096 + static_cast<off_t>(ClientStates::bytes_each(100'000))) == 0);
        rlimit before{};
        REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
        const rlimit least{4096 + ClientStates::bytes_each(100'000), before.rlim_max};
        std::signal(SIGXFSZ, SIG_IGN);
        REQUIRE(setrlimit(RLIMIT_FSIZE, &least) == 0);
        std::string problem;
        try {
            states.add(1, change);
        } catch (const Fault& fault) {
            problem = fault.what();
        }
        REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
        std::signal(SIGXFSZ, SIG_DFL);
        CHECK_MESSAGE(problem.starts_with(fmt::format("the state of client 1 needs {} bytes on the disk of {}, but ",
                                                      ClientStates::bytes_each(100'000), folder.path().string())),
                      problem);
        CHECK(problem.ends_with(fmt::format(" bytes are free: {}; free space, then resume the run", std::strerror(EFBIG))));
        CHECK(problem.find(", 0 bytes are free") == std::string::npos);
        CHECK(states.keepers() == std::vector<std::uint64_t>{0});
    }

    TEST_CASE("NobodyKeepsAnythingInNone") {
        const ClientStates none;
        CHECK(none.descriptor() == -1);
        CHECK(none.clients() == 0);
        CHECK(none.keepers().empty());
    }
}
