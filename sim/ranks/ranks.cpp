#include "sim/ranks/ranks.h"

#include "aggregation/base/clock.h"
#include "aggregation/base/error.h"
#include "clients/protocol/watcher.h"
#include "sim/ranks/bytes.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <exception>
#include <utility>

namespace fedhive::sim {

namespace {

/// Part of a text that is sent together with its length; the rest is a second message.
constexpr std::size_t kFirstBytes = 4096;
constexpr std::size_t kFirstText = kFirstBytes - sizeof(std::uint64_t);

/// If this process did not run for so long between two looks, it was stopped, and so perhaps were the others: not counted as
/// their delay.
constexpr double kLongestLook = 0.5;

/// s; mpirun kills a second after it has asked to end, and a checkpoint must still be written within that second.
constexpr double kGraceOfInterrupt = 0.3;

constexpr double kUntilAllEnd = 600.0;  // s; rank 0 writes the model, or others train on until they meet

enum class Ending : std::uint32_t { None, Interrupted, Failed, Refused };

/// The message that a rank brings to a meeting.
std::string wrapped(Ending ending, std::int32_t signal, bool consistent, const std::string& text) {
    BytesWriter bytes;
    bytes.put(ending);
    bytes.put(signal);
    bytes.put(consistent);
    bytes.put_text(text);
    return bytes.take();
}

std::string ending_of_exception() {
    try {
        throw;
    } catch (const clients::Interrupted& interrupted) {
        return wrapped(Ending::Interrupted, interrupted.signal_number, interrupted.consistent, "");
    } catch (const ConfigError& error) {
        return wrapped(Ending::Refused, 0, false, error.what());
    } catch (const std::exception& error) {
        return wrapped(Ending::Failed, 0, false, error.what());
    }
}

struct FirstPart {
    std::array<std::byte, kFirstBytes> bytes{};
    std::uint64_t size() const {
        std::uint64_t size = 0;
        std::memcpy(&size, bytes.data(), sizeof size);
        return size;
    }
    void take(const std::string& text) {
        const std::uint64_t size = text.size();
        std::memcpy(bytes.data(), &size, sizeof size);
        std::memcpy(bytes.data() + sizeof size, text.data(), std::min(text.size(), kFirstText));
    }
    /// The beginning of the text, resized to its full length.
    std::string begin() const {
        std::string text(size(), '\0');
        std::memcpy(text.data(), bytes.data() + sizeof(std::uint64_t), std::min(text.size(), kFirstText));
        return text;
    }
};

std::span<std::byte> rest_of(std::string& text) {
    const auto all = std::as_writable_bytes(std::span(text));
    return all.subspan(std::min(all.size(), kFirstText));
}

std::string host_name() {
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    return name.data();
}

}  // namespace

Ranks& Ranks::alone() {
    static Ranks one;
    return one;
}

Ranks::Ranks(Transport& transport)
    : transport_(&transport), rank_(transport.rank()), size_(transport.num_ranks()), hosts_(transport.num_ranks(), "?") {
    hosts_ = all_gather(host_name(), {});
}

std::string Ranks::name_of(std::uint32_t rank) const { return fmt::format("rank {} (host {})", rank, hosts_.at(rank)); }

void Ranks::number_workers(std::uint32_t mine) {
    first_worker_ = {0};
    for (const std::string& theirs : all_gather(std::to_string(mine), {.seconds = kUntilAllEnd}))
        // Without workers, the coordinator trains and counts as one.
        first_worker_.push_back(first_worker_.back() + std::max(1U, static_cast<std::uint32_t>(std::stoul(theirs))));
}

void Ranks::name_devices(const std::string& mine) { devices_ = all_gather(mine, {.seconds = kUntilAllEnd}); }

bool Ranks::share_device(std::uint32_t one, std::uint32_t other) const {
    return one == other || (!devices_[one].empty() && devices_[one] == devices_[other] && hosts_[one] == hosts_[other]);
}

std::uint32_t Ranks::on_device_of(std::uint32_t rank) const {
    if (devices_.empty()) return 1;
    std::uint32_t count = 0;
    for (std::uint32_t other = 0; other < size_; ++other) count += share_device(rank, other) ? 1 : 0;
    return count;
}

void Ranks::in_turns_on_device(const std::function<void()>& work) {
    if (is_alone()) return work();
    std::uint32_t turns = 1;
    std::uint32_t mine = 0;
    for (std::uint32_t rank = 0; rank < size_; ++rank) {
        turns = std::max(turns, on_device_of(rank));
        if (rank < rank_ && share_device(rank, rank_)) ++mine;
    }
    for (std::uint32_t turn = 0; turn < turns; ++turn) {
        if (turn == mine) work();
        all_gather("", {.seconds = kUntilAllEnd});
    }
}

std::vector<std::string> Ranks::all_gather(const std::string& mine, const Patience& patience) {
    if (is_alone()) return {mine};
    const std::vector<std::string> all = gather(wrapped(Ending::None, 0, false, mine), patience);
    meet(all);
    std::vector<std::string> texts;
    for (const std::string& one : all) {
        BytesReader bytes(one);
        bytes.get<Ending>();
        bytes.get<std::int32_t>();
        bytes.get<bool>();
        texts.push_back(bytes.get_text());
    }
    return texts;
}

/// Throws if any rank ends: the worst ending, of the first rank that reports it.
void Ranks::meet(const std::vector<std::string>& endings) {
    Ending worst = Ending::None;
    for (const std::string& one : endings) worst = std::max(worst, BytesReader(one).get<Ending>());
    if (worst == Ending::None) return;
    ended_ = true;
    for (std::uint32_t rank = 0; rank < size_; ++rank) {
        BytesReader bytes(endings[rank]);
        if (bytes.get<Ending>() != worst) continue;
        const auto signal = bytes.get<std::int32_t>();
        const auto consistent = bytes.get<bool>();
        if (worst == Ending::Interrupted) throw clients::Interrupted(signal, consistent);
        const std::string message = fmt::format("{}: {}", name_of(rank), bytes.get_text());
        if (worst == Ending::Refused) throw ConfigError(message);
        throw RankFailed(message);
    }
}

void Ranks::announce() {
    if (is_alone() || ended_ || broken_) return;
    const std::string ending = ending_of_exception();
    ended_ = true;
    const bool interrupted = BytesReader(ending).get<Ending>() == Ending::Interrupted;
    Patience patience{.seconds = kUntilAllEnd};
    // Ranks without the signal train on until they meet; rank 0 must write its checkpoint and cannot wait for that.
    if (interrupted && writes()) patience.interrupted = [] { return true; };
    try {
        gather(ending, patience);
    } catch (const std::exception&) {
        broken_ = true;  // the reason for which this rank ends matters more
    }
}

bool Ranks::leave() {
    if (is_alone()) return true;
    if (broken_) return false;
    const auto leaves = [](const std::string& one) { return BytesReader(one).get<Ending>() == Ending::None; };
    try {
        // A rank that ends only now, with an error, announces that first.
        for (bool all_leave = false; !all_leave;) {
            const std::vector<std::string> all = gather(wrapped(Ending::None, 0, false, ""), {.seconds = kUntilAllEnd});
            all_leave = std::all_of(all.begin(), all.end(), leaves);
        }
    } catch (const std::exception&) {
        return false;
    }
    transport_->leave();
    return true;
}

void Ranks::abort(int status) {
    // Leaves rank 0 time to write how the run ended.
    constexpr unsigned kSecondsForRank0 = 5;
    if (rank_ != 0) sleep(kSecondsForRank0);
    transport_->abort(status);
    _exit(status);
}

/// All data pass through rank 0, which alone can name a missing rank.
std::vector<std::string> Ranks::gather(const std::string& mine, const Patience& patience) {
    if (rank_ == 0) return gather_here(mine, patience);
    send(0, mine, patience);
    // Rank 0 may come as late as any rank, and then waits as long for the others.
    const Patience both{.seconds = 2.0 * patience.seconds + 5.0, .interrupted = {}};
    FirstPart first;
    const Incoming in{0, first.bytes};
    transfer({}, {&in, 1}, both, "said nothing");
    std::string answer = first.begin();
    const Incoming more{0, rest_of(answer)};
    if (!more.bytes.empty()) transfer({}, {&more, 1}, both, "sent nothing more");
    BytesReader bytes(answer);
    if (const std::string lost = bytes.get_text(); !lost.empty()) {
        broken_ = true;
        throw RankFailed(lost);
    }
    std::vector<std::string> all;
    while (!bytes.empty()) all.push_back(bytes.get_text());
    return all;
}

std::vector<std::string> Ranks::gather_here(const std::string& mine, const Patience& patience) {
    std::vector<FirstPart> firsts(size_);
    std::vector<std::string> all(size_);
    std::vector<Incoming> in;
    std::string lost;
    try {
        for (std::uint32_t rank = 1; rank < size_; ++rank) in.push_back({rank, firsts[rank].bytes});
        transfer({}, in, patience, "did not reach the others' step");
        all[0] = mine;
        in.clear();
        for (std::uint32_t rank = 1; rank < size_; ++rank) {
            all[rank] = firsts[rank].begin();
            if (const auto rest = rest_of(all[rank]); !rest.empty()) in.push_back({rank, rest});
        }
        if (!in.empty()) transfer({}, in, patience, "did not send all its data");
    } catch (const RankFailed& failed) {
        lost = failed.what();
    }
    BytesWriter answer;
    answer.put_text(lost);
    if (lost.empty())
        for (const std::string& one : all) answer.put_text(one);
    const std::string text = answer.take();
    if (!lost.empty()) {
        // One time limit per rank, so that a lost rank does not use up the others' time.
        for (std::uint32_t rank = 1; rank < size_; ++rank) {
            try {
                send(rank, text, {.seconds = 0.2});
            } catch (const RankFailed&) {
                continue;
            }
        }
        throw RankFailed(lost);
    }
    FirstPart first;
    first.take(text);
    const auto rest = std::as_bytes(std::span(text)).subspan(std::min(text.size(), kFirstText));
    std::vector<Outgoing> out;
    for (std::uint32_t rank = 1; rank < size_; ++rank) {
        out.push_back({rank, first.bytes});
        if (!rest.empty()) out.push_back({rank, rest});
    }
    bytes_gathered_ += (size_ - 1) * (kFirstBytes + rest.size());
    transfer(out, {}, patience, "did not receive the others' data");
    return all;
}

void Ranks::send(std::uint32_t to, const std::string& text, const Patience& patience) {
    FirstPart first;
    first.take(text);
    const auto rest = std::as_bytes(std::span(text)).subspan(std::min(text.size(), kFirstText));
    std::vector<Outgoing> out{{to, first.bytes}};
    if (!rest.empty()) out.push_back({to, rest});
    bytes_gathered_ += kFirstBytes + rest.size();
    transfer(out, {}, patience, "did not receive this rank's data");
}

void Ranks::exchange(std::span<const Outgoing> out, std::span<const Incoming> in, const Patience& patience) {
    for (const Outgoing& one : out) bytes_exchanged_ += one.bytes.size();
    if (!out.empty() || !in.empty()) transfer(out, in, patience, "did not exchange its updates");
}

void Ranks::hand_out(std::span<std::byte> bytes, const Patience& patience) {
    const auto part = [&](std::uint32_t rank) {
        const std::uint64_t begin = begin_of(bytes.size(), rank);
        return bytes.subspan(begin, begin_of(bytes.size(), rank + 1) - begin);
    };
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    if (rank_ != 0) in.push_back({0, part(rank_)});
    for (std::uint32_t rank = 1; rank < size_ && rank_ == 0; ++rank) out.push_back({rank, part(rank)});
    exchange(out, in, patience);
    out.clear();
    in.clear();
    for (std::uint32_t rank = 0; rank < size_; ++rank) {
        if (rank == rank_) continue;
        if (rank != 0) out.push_back({rank, part(rank_)});
        if (rank_ != 0) in.push_back({rank, part(rank)});
    }
    exchange(out, in, patience);
}

void Ranks::transfer(std::span<const Outgoing> out, std::span<const Incoming> in, const Patience& patience, const char* what) {
    double waited_s = 0.0;
    std::int64_t last_ns = now_ns();
    double interrupted_at = -1.0;
    bool interrupted = false;
    const auto go_on = [&] {
        const std::int64_t present_ns = now_ns();
        waited_s += std::min(kLongestLook, seconds_between(last_ns, present_ns));
        last_ns = present_ns;
        if (interrupted_at < 0.0 && writes() && patience.interrupted && patience.interrupted()) interrupted_at = waited_s;
        interrupted = interrupted_at >= 0.0 && waited_s - interrupted_at > kGraceOfInterrupt;
        return !interrupted && waited_s < patience.seconds;
    };
    const std::vector<std::uint32_t> missing = transport_->exchange(out, in, go_on);
    if (missing.empty()) return;
    broken_ = true;
    if (interrupted) throw clients::Interrupted(SIGTERM, false);
    std::string names;
    for (const std::uint32_t rank : missing) names += (names.empty() ? "" : ", ") + name_of(rank);
    throw RankFailed(
        fmt::format("{} of {} {} within {:.0f} s; resume the run from its last checkpoint, with any number of ranks", names,
                    size_, what, patience.seconds));
}

}  // namespace fedhive::sim
