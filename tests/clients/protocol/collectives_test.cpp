// Results of collectives for every number of ranks and around every boundary. The ranks are threads over one mapping, so that
// the thread sanitizer detects a write to a buffer that another rank reads; a random sequence also runs in processes.
#include "clients/protocol/collectives.h"

#include "aggregation/base/error.h"
#include "aggregation/base/random.h"
#include "aggregation/math/mean.h"
#include "tests/aggregation/spans.h"
#include "tests/support/ranks.h"
#include "tests/support/skip.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>

using namespace fedhive;
using namespace fedhive::clients;
using aggregation::testing::Floats;
using aggregation::testing::random_floats;
using aggregation::testing::same_bits;
using testing::Ranks;

namespace {

constexpr std::size_t kPiece = 16 * 1024;
#ifdef FEDHIVE_SANITIZED
constexpr std::size_t kMaxRanks =
    5;  // includes powers of two, odd numbers, a tree of three levels; 8 takes a sanitizer four times as long
#else
constexpr std::size_t kMaxRanks = 8;
#endif
constexpr float kUntouched = -7.0F;

/// Value of rank r at i: small integers, so that sums are exact; `salt` distinguishes operations.
float value(std::size_t rank, std::size_t i, std::size_t salt = 0) {
    return static_cast<float>((i * 7 + rank * 131 + salt * 17) % 1009);
}

float sum_of_all(std::size_t ranks, std::size_t i, std::size_t salt = 0) {
    float sum = 0.0F;
    for (std::size_t r = 0; r < ranks; ++r) sum += value(r, i, salt);
    return sum;
}

/// Fills the first `count` floats with their values, the others with kUntouched.
void fill(const Communicator& ranks, std::size_t count, std::size_t salt = 0) {
    const auto floats = ranks.buffer().host();
    for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = i < count ? value(ranks.rank(), i, salt) : kUntouched;
}

/// Throws for wrong floats; ranks cannot use doctest, and the test reports the outcome.
template <typename Expected>
void require_floats(const Communicator& ranks, std::size_t first, std::size_t end, const std::string& what, Expected expected) {
    const auto floats = ranks.buffer().host();
    for (std::size_t i = first; i < end; ++i)
        if (floats[i] != expected(i))
            throw std::runtime_error(fmt::format("{}, {} ranks: rank {} has {} at {} of {}, not {}", what, ranks.size(),
                                                 ranks.rank(), floats[i], i, end, expected(i)));
}

void require_untouched(const Communicator& ranks, std::size_t first, const std::string& what) {
    require_floats(ranks, first, ranks.buffer().size, what + " beyond", [](std::size_t) { return kUntouched; });
}

void check_returned(const Ranks& ranks) {
    for (std::size_t r = 0; r < ranks.size(); ++r) {
        CAPTURE(r);
        CHECK(ranks.outcome(r).message.get().empty());
        CHECK(ranks.outcome(r).end == Ranks::End::Returned);
    }
}

/// Counts around the number of ranks, one piece of a buffer, one piece of each part, and several pieces.
std::set<std::size_t> counts_for(std::size_t ranks) {
    std::set<std::size_t> counts{0, 1, ranks + 1, 3 * kPiece};
    for (const std::size_t boundary : {ranks, kPiece, ranks * kPiece})
        for (const std::size_t count : {boundary - 1, boundary, boundary + 1}) counts.insert(count);
    return counts;
}

enum class Holds { OnePart, AllParts };

/// Runs the body for each number of ranks and each count that fits, in one group per size without pauses in between.
template <typename Body>
void for_all(Holds holds, Body body) {
    for (std::size_t size = 1; size <= kMaxRanks; ++size) {
        const std::set<std::size_t> counts = counts_for(size);
        const std::size_t floats = holds == Holds::AllParts ? size * (kPiece + 1) : *counts.rbegin();
        Ranks ranks(size, floats + 5);
        ranks.run(Ranks::As::Threads, [&](Communicator& own) {
            for (const std::size_t count : counts)
                if (count * (holds == Holds::AllParts ? size : 1) <= floats) body(own, count);
        });
        check_returned(ranks);
    }
}

std::set<std::size_t> some_roots(std::size_t ranks) { return {0, ranks / 2, ranks - 1}; }

const char* name_of(AllReduce how) { return how == AllReduce::Star ? "star" : how == AllReduce::Ring ? "ring" : "tree"; }

constexpr AllReduce kAll[] = {AllReduce::Star, AllReduce::Ring, AllReduce::Tree};

}  // namespace

TEST_SUITE("Collectives") {
    TEST_CASE("AllReduceLeavesTheSumAtEveryRank") {
        for_all(Holds::OnePart, [](Communicator& own, std::size_t count) {
            for (const AllReduce how : kAll) {
                fill(own, count);
                own.all_reduce(count, how);
                require_floats(own, 0, count, name_of(how), [&](std::size_t i) { return sum_of_all(own.size(), i); });
                require_untouched(own, count, name_of(how));
            }
        });
    }

    TEST_CASE("BroadcastLeavesRootsFloatsAtEveryRank") {
        for_all(Holds::OnePart, [](Communicator& own, std::size_t count) {
            for (const std::size_t root : some_roots(own.size())) {
                fill(own, count);
                own.broadcast(count, root);
                require_floats(own, 0, count, "broadcast", [&](std::size_t i) { return value(root, i); });
                require_untouched(own, count, "broadcast");
            }
        });
    }

    TEST_CASE("ReduceLeavesTheSumAtRoot") {
        for_all(Holds::OnePart, [](Communicator& own, std::size_t count) {
            for (const std::size_t root : some_roots(own.size())) {
                fill(own, count);
                own.reduce(count, root);
                if (own.rank() == root)
                    require_floats(own, 0, count, "reduce", [&](std::size_t i) { return sum_of_all(own.size(), i); });
                require_untouched(own, count, "reduce");
            }
        });
    }

    TEST_CASE("ReduceScatterLeavesEachRankItsPartOfTheSum") {
        for_all(Holds::OnePart, [](Communicator& own, std::size_t count) {
            fill(own, count);
            own.reduce_scatter(count);
            const aggregation::ParamSpan part = own.part(count, own.rank());
            const auto first = static_cast<std::size_t>(part.data - own.buffer().data);
            require_floats(own, first, first + part.size, "reduce_scatter",
                           [&](std::size_t i) { return sum_of_all(own.size(), i); });
            require_untouched(own, count, "reduce_scatter");
        });
    }

    TEST_CASE("PartsFollowOneAnotherAndDifferByOneAtMost") {
        const Ranks ranks(5, 17);
        const Communicator own(ranks.options(0));
        const float* next = own.buffer().data;
        for (std::size_t r = 0; r < 5; ++r) {
            CHECK(own.part(17, r).data == next);
            CHECK((own.part(17, r).size == 3 || own.part(17, r).size == 4));
            next += own.part(17, r).size;
        }
        CHECK(next == own.buffer().data + 17);
    }

    TEST_CASE("AllGatherLeavesAllPartsInTheirPlaceAtEveryRank") {
        for_all(Holds::AllParts, [](Communicator& own, std::size_t count) {
            fill(own, own.size() * count);
            own.all_gather(count);
            require_floats(own, 0, own.size() * count, "all_gather", [&](std::size_t i) { return value(i / count, i); });
            require_untouched(own, own.size() * count, "all_gather");
        });
    }

    TEST_CASE("GatherLeavesThePartsAtRootAndScatterGivesThemBack") {
        for_all(Holds::AllParts, [](Communicator& own, std::size_t count) {
            for (const std::size_t root : some_roots(own.size())) {
                const std::size_t all = own.size() * count;
                const bool at_root = own.rank() == root;
                fill(own, at_root ? all : count);
                own.gather(count, root);
                const auto part_of = [&](std::size_t i) {
                    return i / count == root ? value(root, i) : value(i / count, i % count);
                };
                if (at_root) require_floats(own, 0, all, "gather", part_of);
                require_untouched(own, at_root ? all : count, "gather");
                if (!at_root) fill(own, count, 1);
                own.scatter(count, root);
                if (at_root) require_floats(own, 0, all, "scatter at root", part_of);
                if (!at_root) require_floats(own, 0, count, "scatter", [&](std::size_t i) { return value(own.rank(), i); });
                require_untouched(own, at_root ? all : count, "scatter");
            }
        });
    }

    TEST_CASE("BarrierIsPassedByNobodyBeforeAllHaveCome") {
        for (std::size_t size = 1; size <= kMaxRanks; ++size) {
            Ranks ranks(size, 0);
            std::atomic<std::size_t> come{0};
            ranks.run(Ranks::As::Threads, [&](Communicator& own) {
                for (std::size_t round = 1; round <= 50; ++round) {
                    ++come;
                    own.barrier();
                    if (come < round * size) throw std::runtime_error(fmt::format("passed with {} of {}", come, round * size));
                    own.barrier();
                }
            });
            check_returned(ranks);
        }
    }

    TEST_CASE("ObjectsOfDifferentSizeComeToRootByRank") {
        for (std::size_t size = 1; size <= kMaxRanks; ++size) {
            Ranks ranks(size, 0);
            ranks.run(Ranks::As::Threads, [&](Communicator& own) {
                for (std::size_t round = 0; round < 20; ++round) {
                    const auto object_of = [&](std::size_t rank) {
                        return std::vector<std::byte>((rank * 400 + round * 100) % (RankCell::kObjectBytes + 1),
                                                      static_cast<std::byte>(rank + round));
                    };
                    const std::size_t root = round % own.size();
                    const auto all = own.gather_object(object_of(own.rank()), root);
                    if (all.size() != (own.rank() == root ? own.size() : 0)) throw std::runtime_error("number of objects");
                    for (std::size_t r = 0; r < all.size(); ++r)
                        if (all[r] != object_of(r)) throw std::runtime_error(fmt::format("object of rank {}", r));
                }
            });
            check_returned(ranks);
        }
    }

    TEST_CASE("StarTreeAndReduceHaveTheBitsOfThePairwiseTreeAndRingThoseOfItsOrder") {
        constexpr std::size_t kCount = 2 * kPiece + 77;
        for (std::size_t size = 2; size <= kMaxRanks; ++size) {
            std::vector<Floats> terms;
            for (std::size_t r = 0; r < size; ++r) terms.push_back(random_floats(kCount, static_cast<std::uint32_t>(r)));
            std::vector<std::size_t> positions(size);
            std::iota(positions.begin(), positions.end(), 0);
            const std::vector<std::uint8_t> folds = aggregation::tree_folds(positions);
            const auto by_tree = [&](std::size_t i) {
                std::vector<float> stack;
                const auto fold = [&] {
                    const float top = stack.back();
                    stack.pop_back();
                    stack.back() += top;
                };
                for (std::size_t r = 0; r < size; stack.push_back(terms[r++][i]))
                    for (std::size_t k = 0; k < folds[r]; ++k) fold();
                while (stack.size() > 1) fold();
                return stack.front();
            };
            const auto by_ring = [&](std::size_t i) {
                std::size_t owner = 0;
                while (kCount * (owner + 1) / size <= i) ++owner;
                float sum = terms[(owner + 1) % size][i];
                for (std::size_t k = 2; k <= size; ++k) sum += terms[(owner + k) % size][i];
                return sum;
            };
            Ranks ranks(size, kCount);
            ranks.run(Ranks::As::Threads, [&](Communicator& own) {
                const auto restore = [&] { std::copy_n(terms[own.rank()].data(), kCount, own.buffer().data); };
                for (const AllReduce how : kAll) {
                    restore();
                    own.all_reduce(kCount, how);
                    if (how == AllReduce::Ring) require_floats(own, 0, kCount, "ring", by_ring);
                    if (how != AllReduce::Ring) require_floats(own, 0, kCount, name_of(how), by_tree);
                }
                restore();
                own.reduce(kCount, own.size() - 1);
                if (own.rank() == own.size() - 1) require_floats(own, 0, kCount, "reduce", by_tree);
            });
            check_returned(ranks);
        }
    }

    TEST_CASE("CollectivesInRandomSequenceDoNotDisturbEachOther") {
        constexpr std::size_t kFloats = 4 * kPiece;
        const auto mixed = [](Communicator& own) {
            Stream common(5, Purpose::Sampling);  // the same draws at every rank
            Stream delays(5, Purpose::Faults, 0, static_cast<std::uint32_t>(own.rank()));
            const std::size_t size = own.size();
            for (std::size_t salt = 0; salt < 120; ++salt) {
                if (delays.below(8) == 0) std::this_thread::sleep_for(std::chrono::microseconds(delays.below(400)));
                const std::size_t operation = common.below(8);
                const std::size_t count = common.below(common.below(4) == 0 ? kFloats / size : 600 / size);
                const std::size_t root = common.below(size);
                fill(own, count * size, salt);
                const auto sum = [&](std::size_t i) { return sum_of_all(size, i, salt); };
                const std::string what = fmt::format("operation {} at {}", operation, salt);
                if (operation < 3) {
                    own.all_reduce(count, kAll[operation]);
                    require_floats(own, 0, count, what, sum);
                } else if (operation == 3) {
                    own.broadcast(count, root);
                    require_floats(own, 0, count, what, [&](std::size_t i) { return value(root, i, salt); });
                } else if (operation == 4) {
                    own.reduce(count, root);
                    if (own.rank() == root) require_floats(own, 0, count, what, sum);
                } else if (operation == 5) {
                    own.all_gather(count);
                    require_floats(own, 0, count * size, what, [&](std::size_t i) { return value(i / count, i, salt); });
                } else if (operation == 6) {
                    own.scatter(count, root);
                    const std::size_t first = own.rank() == root ? 0 : own.rank() * count;
                    require_floats(own, 0, count, what, [&](std::size_t i) { return value(root, first + i, salt); });
                } else {
                    own.barrier();
                }
            }
        };
        for (const Ranks::As as : {Ranks::As::Threads, Ranks::As::Processes})
            for (const std::size_t size : {2U, 3U, 4U, 7U}) {
                Ranks ranks(size, kFloats);
                ranks.run(as, mixed);
                check_returned(ranks);
            }
    }

    TEST_CASE("GroupWhoseBuffersDifferAndWhatDoesNotFitAreRefused") {
        const Ranks ranks(2, 64);
        GroupOptions options = ranks.options(0);
        options.buffers[1] = options.buffers[1].first(63);
        CHECK_THROWS_WITH_AS(Communicator{options}, doctest::Contains("63 against 64"), ShapeError);
        options.buffers[1] = {options.buffers[1].data, 64, aggregation::MemorySpace::Cuda};
        CHECK_THROWS_WITH_AS(Communicator{options}, doctest::Contains("different memory spaces"), ShapeError);
        options.buffers.pop_back();
        CHECK_THROWS_AS(Communicator{options}, ShapeError);

        Communicator own(ranks.options(0));
        CHECK_THROWS_WITH_AS(own.all_reduce(65, AllReduce::Star), doctest::Contains("65 floats in a buffer of 64"), Fault);
        CHECK_THROWS_WITH_AS(own.all_gather(33), doctest::Contains("66 floats in a buffer of 64"), Fault);
        CHECK_THROWS_WITH_AS(own.broadcast(1, 2), doctest::Contains("rank 2 of 2"), Fault);
        CHECK_THROWS_WITH_AS(own.gather_object(std::vector<std::byte>(RankCell::kObjectBytes + 1), 0),
                             doctest::Contains("an object of 1025 bytes, there is room for 1024"), ShapeError);
    }

    TEST_CASE("Gpu: AllReduceOnCudaHasTheBitsOfTheHost") {
        if (const std::string reason = aggregation::testing::no_gpu_reason(); !reason.empty()) FEDHIVE_SKIP(reason);
        constexpr std::size_t kCount = (3U << 20) + 333;  // several pieces
        constexpr std::size_t kSize = 3;
        for (const AllReduce how : kAll) {
            Ranks ranks(kSize, kCount);
            std::vector<aggregation::ParamBuffer> device;
            for (std::size_t r = 0; r < kSize; ++r) {
                const Floats terms = random_floats(kCount, static_cast<std::uint32_t>(r));
                aggregation::copy(ranks.buffer(r), terms);
                device.push_back(aggregation::testing::upload(terms, aggregation::MemorySpace::Cuda));
            }
            std::vector<RankCell> cells(kSize);
            std::vector<std::thread> threads;
            for (std::size_t r = 0; r < kSize; ++r)
                threads.emplace_back([&, r] {
                    Communicator own({cells, r, {device.begin(), device.end()}});
                    own.all_reduce(kCount, how);
                });
            for (std::thread& thread : threads) thread.join();
            ranks.run(Ranks::As::Threads, [&](Communicator& own) { own.all_reduce(kCount, how); });
            check_returned(ranks);
            for (std::size_t r = 0; r < kSize; ++r)
                CHECK(same_bits(aggregation::testing::download(device[r]), aggregation::testing::download(ranks.buffer(r))));
        }
    }
}
