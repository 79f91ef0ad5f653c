#include "sim/ranks/ranks.h"

#include "aggregation/base/error.h"
#include "clients/protocol/watcher.h"
#include "tests/support/thread_ranks.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <atomic>
#include <csignal>

using namespace fedhive;
using namespace fedhive::sim;
using fedhive::testing::in_ranks;

namespace {

/// The message of the error that a thread of in_ranks() ends with.
template <typename Error>
std::string message_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& error) {
        return error.what();
    } catch (const std::exception& error) {
        return std::string("something else: ") + error.what();
    }
    return "nothing";
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_SUITE("Ranks") {
    TEST_CASE("OneAloneHearsItself") {
        CHECK(Ranks::alone().all_gather("mine", {}) == std::vector<std::string>{"mine"});
        CHECK(Ranks::alone().end_of(7) == 7);
        CHECK(Ranks::alone().leave());
    }

    TEST_CASE("EveryRankHearsAllInOrderWhateverTheyAreLong") {
        in_ranks(4, [](Ranks& ranks) {
            for (const std::size_t length : {0U, 10U, 4000U, 4096U, 5000U, 100000U}) {
                const auto text_of = [&](std::uint32_t rank) {
                    return std::string(length * (rank + 1), static_cast<char>('a' + rank));
                };
                const std::vector<std::string> all = ranks.all_gather(text_of(ranks.rank()), {});
                REQUIRE(all.size() == 4);
                for (std::uint32_t rank = 0; rank < 4; ++rank) CHECK((all[rank] == text_of(rank)));
            }
            CHECK(ranks.leave());
        });
    }

    TEST_CASE("PartsOfAWholeAreAllOfItAndDifferByOneAtMost") {
        in_ranks(3, [](Ranks& ranks) {
            for (const std::uint64_t total : {0ULL, 1ULL, 2ULL, 3ULL, 10ULL, 1000ULL}) {
                CHECK(ranks.begin_of(total, 0) == 0);
                CHECK(ranks.begin_of(total, 3) == total);
                const std::uint64_t size = ranks.end_of(total) - ranks.begin_of(total);
                CHECK(size >= total / 3);
                CHECK(size <= total / 3 + 1);
            }
        });
    }

    TEST_CASE("WorkersAreNumberedOverAllRanksACoordinatorThatTrainsCountsAsOne") {
        in_ranks(3, [](Ranks& ranks) {
            ranks.number_workers(2 * ranks.rank());
            CHECK(ranks.first_worker(0) == 0);
            CHECK(ranks.first_worker(1) == 1);
            CHECK(ranks.first_worker(2) == 3);
            CHECK(ranks.first_worker(3) == 7);
        });
    }

    TEST_CASE("WhatRank0HandsOutIsOnAllOfThemAndNobodySendsItMoreThanTwice") {
        for (const std::uint32_t size : {2U, 3U, 5U})
            for (const std::size_t length : {0U, 1U, 4U, 1000U})
                in_ranks(size, [&](Ranks& ranks) {
                    std::vector<std::byte> bytes(length, std::byte{0});
                    std::vector<std::byte> wanted(length);
                    for (std::size_t i = 0; i < length; ++i) wanted[i] = static_cast<std::byte>(i % 251 + 1);
                    if (ranks.rank() == 0) bytes = wanted;
                    ranks.hand_out(bytes, {});
                    CHECK((bytes == wanted));
                    CHECK(ranks.bytes_exchanged() <= 2 * length + size);
                });
    }

    TEST_CASE("ThoseOnOneGpuTakeTurns") {
        std::atomic<int> at_work{0};
        std::atomic<int> most{0};
        std::atomic<int> done{0};
        in_ranks(4, [&](Ranks& ranks) {
            CHECK(ranks.on_device_of(0) == 1);
            ranks.name_devices(ranks.rank() == 3 ? "" : ranks.rank() == 1 ? "b" : "a");
            CHECK(ranks.on_device_of(0) == 2);
            CHECK(ranks.on_device_of(1) == 1);
            CHECK(ranks.on_device_of(3) == 1);
            ranks.in_turns_on_device([&] {
                if (ranks.rank() == 0 || ranks.rank() == 2) {
                    most = std::max(most.load(), ++at_work);
                    std::this_thread::sleep_for(std::chrono::milliseconds(20));
                    --at_work;
                }
                ++done;
            });
            CHECK(done == 4);
        });
        CHECK(most == 1);
        int alone = 0;
        Ranks::alone().in_turns_on_device([&] { ++alone; });
        CHECK(alone == 1);
    }

    TEST_CASE("OneThatEndsIsHeardByAllWhereverTheyMeetNext") {
        in_ranks(3, [](Ranks& ranks) {
            const std::string message = message_of<RankFailed>([&] {
                if (ranks.rank() == 1) {
                    try {
                        throw Fault("the disk is full");
                    } catch (const Fault&) {
                        ranks.announce();
                        throw RankFailed("rank 1 knows");
                    }
                }
                ranks.all_gather("going on", {.seconds = 20.0});
            });
            CHECK(holds(message, ranks.rank() == 1 ? "rank 1 knows" : "the disk is full"));
            if (ranks.rank() != 1) CHECK(holds(message, "rank 1 (host "));
            CHECK(ranks.leave());
        });
    }

    TEST_CASE("WhatAUserCanMendIsToldBeforeAnInterrupt") {
        in_ranks(3, [](Ranks& ranks) {
            const std::string message = message_of<ConfigError>([&] {
                try {
                    if (ranks.rank() == 0) throw clients::Interrupted(SIGINT);
                    if (ranks.rank() == 2) throw ConfigError("no such file");
                } catch (const std::exception&) {
                    ranks.announce();
                    return;
                }
                ranks.all_gather("", {.seconds = 20.0});
            });
            if (ranks.rank() == 1) CHECK(holds(message, "no such file"));
            CHECK(ranks.leave());
        });
    }

    TEST_CASE("AnInterruptOfOneIsThatOfAll") {
        in_ranks(2, [](Ranks& ranks) {
            try {
                if (ranks.rank() == 1) throw clients::Interrupted(SIGHUP, false);
                ranks.all_gather("", {.seconds = 20.0});
                FAIL("nobody was interrupted");
            } catch (const clients::Interrupted& interrupted) {
                ranks.announce();
                CHECK(interrupted.signal_number == SIGHUP);
                CHECK_FALSE(interrupted.consistent);
            }
            CHECK(ranks.leave());
        });
    }

    TEST_CASE("AnErrorWhereOthersAreDoneAlreadyKeepsNobodyWaiting") {
        in_ranks(3, [](Ranks& ranks) {
            if (ranks.rank() == 0) {
                try {
                    throw Fault("no space for the model");
                } catch (const Fault&) {
                    ranks.announce();
                }
            }
            CHECK(ranks.leave());
        });
    }

    TEST_CASE("OneThatDoesNotComeIsNamedByAllOthers") {
        in_ranks(4, [](Ranks& ranks) {
            if (ranks.rank() == 2) return;  // leaves without a message
            const std::string message = message_of<RankFailed>([&] { ranks.all_gather("", {.seconds = 0.2}); });
            CHECK_MESSAGE(holds(message, "rank 2 (host "), message);
            CHECK(holds(message, "did not reach"));
            CHECK(ranks.is_broken());
            CHECK_FALSE(ranks.leave());
        });
    }

    TEST_CASE("OneThatExchangesNothingIsNamed") {
        in_ranks(2, [](Ranks& ranks) {
            if (ranks.rank() == 1) return;
            std::array<std::byte, 8> place{};
            const Incoming in{1, place};
            CHECK(holds(message_of<RankFailed>([&] { ranks.exchange({}, {&in, 1}, {.seconds = 0.1}); }), "rank 1 (host "));
        });
    }

    TEST_CASE("WhoWritesDoesNotWaitForOthersOnceItIsInterrupted") {
        in_ranks(2, [](Ranks& ranks) {
            if (ranks.rank() == 1) return;
            const Patience patience{.seconds = 60.0, .interrupted = [] { return true; }};
            CHECK(message_of<clients::Interrupted>([&] { ranks.all_gather("", patience); }) == "interrupted");
        });
    }
}
