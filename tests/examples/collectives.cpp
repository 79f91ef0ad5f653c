// Runs each collective once, with processes over one segment, and prints every rank's buffer before and after it.
//
//   collectives_example [RANKS]        2 to 8, by default 4
//
// Rank r begins with the floats 10 r, 10 r + 1, …, one per rank. Rank 0 prints; it gets the others' lines by gather_object().
#include "clients/protocol/collectives.h"
#include "aggregation/memory/shared_segment.h"

#include <fmt/ranges.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <new>

using namespace fedhive;
using clients::AllReduce;
using clients::Communicator;
using clients::RankCell;

namespace {

struct Collective {
    const char* name;
    void (*call)(Communicator& own);
};

constexpr Collective kCollectives[] = {
    {"broadcast from rank 0", [](Communicator& own) { own.broadcast(own.size(), 0); }},
    {"scatter from rank 0", [](Communicator& own) { own.scatter(1, 0); }},
    {"gather to rank 0", [](Communicator& own) { own.gather(1, 0); }},
    {"all_gather", [](Communicator& own) { own.all_gather(1); }},
    {"reduce to rank 0", [](Communicator& own) { own.reduce(own.size(), 0); }},
    {"reduce_scatter", [](Communicator& own) { own.reduce_scatter(own.size()); }},
    {"all_reduce", [](Communicator& own) { own.all_reduce(own.size(), AllReduce::Ring); }},
};

std::string shown(const Communicator& own) { return fmt::format("{}", fmt::join(own.buffer().host(), " ")); }

void run_rank(Communicator& own) {
    for (const Collective& collective : kCollectives) {
        for (std::size_t i = 0; i < own.size(); ++i) own.buffer().host()[i] = static_cast<float>(10 * own.rank() + i);
        std::string line = shown(own);
        own.barrier();
        collective.call(own);
        line += "  ->  " + shown(own);
        const auto lines = own.gather_object(std::as_bytes(std::span(line)), 0);
        if (!lines.empty()) fmt::print("{}\n", collective.name);  // only at the root
        for (std::size_t r = 0; r < lines.size(); ++r)
            fmt::print("  rank {}   {}\n", r, std::string(reinterpret_cast<const char*>(lines[r].data()), lines[r].size()));
    }
}

/// [ RankCell × R | R floats × R ], inherited by the processes.
int run_ranks(std::size_t ranks) {
    const std::size_t cells_bytes = ranks * sizeof(RankCell);
    const aggregation::SharedSegment segment("fedhive-example", cells_bytes + ranks * ranks * sizeof(float));
    const std::span cells(reinterpret_cast<RankCell*>(segment.data()), ranks);
    std::vector<aggregation::ParamSpan> buffers;
    for (std::size_t r = 0; r < ranks; ++r) {
        new (&cells[r]) RankCell;
        float* floats = reinterpret_cast<float*>(segment.data() + cells_bytes) + r * ranks;
        buffers.push_back({floats, ranks, aggregation::MemorySpace::Host});
    }
    for (std::size_t r = 0; r < ranks; ++r) {
        if (fork() != 0) continue;
        try {
            Communicator own({.cells = cells, .rank = r, .buffers = buffers});
            run_rank(own);
            std::fflush(stdout);
            _exit(0);
        } catch (const std::exception& error) {
            fmt::print(stderr, "rank {}: {}\n", r, error.what());
            _exit(1);
        }
    }
    int failed = 0;
    for (int status = 0; wait(&status) > 0;) failed |= status;
    return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    std::size_t ranks = 4;
    const char* given = argc > 1 ? argv[1] : "4";
    const char* end = given + std::strlen(given);
    if (argc > 2 || std::from_chars(given, end, ranks).ptr != end || ranks < 2 || ranks > 8) {
        fmt::print(stderr, "usage: collectives_example [RANKS]        2 to 8\n");
        return 2;
    }
    return run_ranks(ranks);
}
