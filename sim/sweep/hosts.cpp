#include "sim/sweep/hosts.h"

#include "aggregation/base/error.h"
#include "aggregation/base/input_file.h"
#include "sim/ranks/bytes.h"
#include "sim/version.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>

namespace fedhive::sim {

namespace fs = std::filesystem;

namespace {

constexpr int kTickMs = 200;
constexpr double kUntilFirst = 3600.0;     // s; rank 0 estimates the runs before its first order
constexpr double kPatienceOfRanks = 60.0;  // s

enum class Order : std::uint32_t { CheckFolder, GoOn, Leave };

template <typename T>
void put(BytesWriter& bytes, const std::optional<T>& value) {
    bytes.put(value.has_value());
    bytes.put(value.value_or(T{}));
}

template <typename T>
std::optional<T> get(BytesReader& bytes) {
    const auto there = bytes.get<bool>();
    const T value = bytes.get<T>();
    return there ? std::optional(value) : std::nullopt;
}

void put(BytesWriter& bytes, const RunOrder& order) {
    bytes.put_text(order.sweep.string());
    bytes.put_text(order.id);
    bytes.put_text(order.config_hash);
    put(bytes, order.workers);
    put(bytes, order.until);
}

RunOrder get_order(BytesReader& bytes) {
    RunOrder order;
    order.sweep = bytes.get_text();
    order.id = bytes.get_text();
    order.config_hash = bytes.get_text();
    order.workers = get<std::int64_t>(bytes);
    order.until = get<std::int64_t>(bytes);
    return order;
}

void put(BytesWriter& bytes, const RunEnd& end) {
    bytes.put(end.signalled);
    bytes.put(end.exit_status);
    bytes.put(end.cpu_s);
    bytes.put(end.remains.begun);
    bytes.put_text(end.remains.config_hash);
    bytes.put_text(end.remains.exit_status);
    bytes.put_text(end.reason);
}

RunEnd get_end(BytesReader& bytes) {
    RunEnd end;
    end.signalled = bytes.get<bool>();
    end.exit_status = bytes.get<int>();
    end.cpu_s = bytes.get<double>();
    end.remains.begun = bytes.get<bool>();
    end.remains.config_hash = bytes.get_text();
    end.remains.exit_status = bytes.get_text();
    end.reason = bytes.get_text();
    return end;
}

std::string to_bytes(const HostNews& news) {
    BytesWriter bytes;
    bytes.put(news.cores);
    bytes.put(news.host_bytes);
    put(bytes, news.device_bytes);
    bytes.put(news.interrupt);
    bytes.put(news.haste);
    for (const RunNews& run : news.runs) {
        bytes.put(std::uint64_t{run.run});
        bytes.put(run.host_bytes);
        bytes.put(run.peak_bytes);
        bytes.put(run.settled);
        bytes.put(run.end.has_value());
        if (run.end) put(bytes, *run.end);
    }
    return bytes.take();
}

HostNews news_from(const std::string& text) {
    BytesReader bytes(text);
    HostNews news;
    news.cores = bytes.get<std::int64_t>();
    news.host_bytes = bytes.get<std::uint64_t>();
    news.device_bytes = get<std::uint64_t>(bytes);
    news.interrupt = bytes.get<std::int32_t>();
    news.haste = bytes.get<Haste>();
    while (!bytes.empty()) {
        RunNews& run = news.runs.emplace_back();
        run.run = bytes.get<std::uint64_t>();
        run.host_bytes = bytes.get<std::uint64_t>();
        run.peak_bytes = bytes.get<std::uint64_t>();
        run.settled = bytes.get<bool>();
        if (bytes.get<bool>()) run.end = get_end(bytes);
    }
    return news;
}

/// Throws on all ranks alike if they are of different builds, which must read each other's files.
void check_builds(Ranks& ranks) {
    const std::vector<std::string> builds =
        ranks.all_gather(fmt::format("{} ({})", kVersion, kCommit), {.seconds = kUntilFirst});
    for (std::uint32_t rank = 1; rank < ranks.size(); ++rank)
        if (builds[rank] != builds[0])
            throw ConfigError(fmt::format("{} has fedhive {}, but {} has {}; start the same program on every host",
                                          ranks.name_of(rank), builds[rank], ranks.name_of(0), builds[0]));
}

/// Throws on all ranks alike if a rank does not see the folder as rank 0 does.
void compare_folder(Ranks& ranks, const fs::path& folder, bool seen) {
    const std::vector<std::string> answers = ranks.all_gather(seen ? "seen" : "", {.seconds = kPatienceOfRanks});
    std::vector<std::string> blind;
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank)
        if (answers[rank].empty()) blind.push_back(ranks.name_of(rank));
    if (!blind.empty())
        throw ConfigError(
            fmt::format("{}: not visible on {}; every host of a sweep writes its runs there; set --out to a folder on a file "
                        "system that all hosts share",
                        folder.string(), fmt::join(blind, ", ")));
}

}  // namespace

Hosts::Hosts(Ranks& ranks, Host& own) : ranks_(ranks), own_(own) {
    if (!ranks.is_alone()) check_builds(ranks);
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) names_.push_back(ranks.is_alone() ? "" : ranks.name_of(rank));
    look();
}

std::int64_t Hosts::cores() const {
    return std::accumulate(news_.begin(), news_.end(), std::int64_t{0},
                           [](std::int64_t sum, const HostNews& host) { return sum + host.cores; });
}

void Hosts::check_folder(const fs::path& folder) {
    if (ranks_.is_alone()) return;
    BytesWriter bytes;
    bytes.put(Order::CheckFolder);
    bytes.put_text(folder.string());
    bytes.put_text(read_file_or_nothing(folder / kSweepFile));
    ranks_.all_gather(bytes.take(), {.seconds = kPatienceOfRanks});
    compare_folder(ranks_, folder, true);
}

void Hosts::start(std::size_t host, std::size_t run, const RunOrder& order) {
    if (host == 0)
        own_.start(run, order);
    else
        begins_.push_back({host, run, order});
}

void Hosts::end_runs(Haste haste) {
    own_.end_runs(haste);
    haste_ = std::max(haste_, haste);
}

std::string Hosts::orders() const {
    BytesWriter bytes;
    bytes.put(Order::GoOn);
    bytes.put(haste_);
    for (const Begin& begin : begins_) {
        bytes.put(std::uint64_t{begin.host});
        bytes.put(std::uint64_t{begin.run});
        put(bytes, begin.order);
    }
    return bytes.take();
}

void Hosts::look() {
    const HostNews own = own_.look();
    if (ranks_.is_alone()) {
        news_ = {own};
        return;
    }
    const std::vector<std::string> all = ranks_.all_gather(orders(), {.seconds = kPatienceOfRanks});
    begins_.clear();
    news_ = {own};
    for (std::size_t rank = 1; rank < all.size(); ++rank) news_.push_back(news_from(all[rank]));
}

void Hosts::wait() const { own_.wait(kTickMs); }

void Hosts::leave(int exit_status) {
    if (ranks_.is_alone()) return;
    BytesWriter bytes;
    bytes.put(Order::Leave);
    bytes.put(exit_status);
    ranks_.all_gather(bytes.take(), {.seconds = kPatienceOfRanks});
}

int serve_sweep(Ranks& ranks, Host& own) {
    check_builds(ranks);
    for (double patience = kUntilFirst;; patience = kPatienceOfRanks) {
        const std::string told = ranks.all_gather(to_bytes(own.look()), {.seconds = patience})[0];
        BytesReader orders(told);
        const auto order = orders.get<Order>();
        if (order == Order::Leave) return orders.get<int>();
        if (order == Order::CheckFolder) {
            const fs::path folder = orders.get_text();
            compare_folder(ranks, folder, read_file_or_nothing(folder / kSweepFile) == orders.get_text());
            continue;
        }
        own.end_runs(orders.get<Haste>());
        while (!orders.empty()) {
            const auto host = orders.get<std::uint64_t>();
            const auto run = orders.get<std::uint64_t>();
            const RunOrder begin = get_order(orders);
            if (host == ranks.rank()) own.start(run, begin);
        }
        own.wait(kTickMs / 2);
    }
}

}  // namespace fedhive::sim
