#include "sim/console.h"

#include "sim/machine.h"
#include "sim/memory_plan.h"

#include <fmt/format.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace fedhive::sim {

namespace {

/// To standard output; nobody there to read it is no reason to end a run, and tables hold what was said.
template <typename... Values>
void print(fmt::format_string<Values...> format, Values&&... values) {
    const std::string text = fmt::format(format, std::forward<Values>(values)...);
    [[maybe_unused]] const std::size_t written = std::fwrite(text.data(), 1, text.size(), stdout);
}

std::size_t terminal_width() {
    winsize size{};
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string clock_time(double seconds) {
    const std::int64_t total = std::llround(seconds);
    return total < 3600 ? fmt::format("{:02}:{:02}", total / 60, total % 60)
                        : fmt::format("{}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
}

/// "600 examples each" or "from 12 to 1,204 examples, 600 on average".
std::string shard_sizes(const clients::SharedDataset& dataset) {
    std::size_t smallest = dataset.shard(0).size();
    std::size_t largest = smallest;
    std::size_t total = 0;
    for (std::size_t client = 0; client < dataset.map().num_clients; ++client) {
        const std::size_t size = dataset.shard(client).size();
        smallest = std::min(smallest, size);
        largest = std::max(largest, size);
        total += size;
    }
    if (smallest == largest) return fmt::format("{} examples each", smallest);
    return fmt::format("{} to {} examples, {:.0f} on average", smallest, largest,
                       static_cast<double>(total) / static_cast<double>(dataset.map().num_clients));
}

/// One row of blocks a label, for the first few clients: how the labels are dealt.
std::string histogram_rows(const clients::SharedDataset& dataset) {
    static constexpr std::array blocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    constexpr std::size_t kMaxRows = 5;
    const std::size_t rows = std::min<std::size_t>(kMaxRows, dataset.map().num_clients);
    std::string text;
    for (std::size_t client = 0; client < rows; ++client) {
        std::vector<std::size_t> counts(static_cast<std::size_t>(dataset.map().num_classes));
        for (const std::uint32_t index : dataset.shard(client))
            ++counts[static_cast<std::size_t>(dataset.train().labels[index])];
        const std::size_t most = std::max<std::size_t>(1, *std::max_element(counts.begin(), counts.end()));
        text += fmt::format("{}client {:<3} |", client == 0 ? "" : "            ", client);
        for (const std::size_t count : counts) text += blocks[(count * (blocks.size() - 1) + most - 1) / most];
        text += fmt::format("| {}{}\n", dataset.shard(client).size(),
                            client == 0 ? "   labels 0, 1, … relative to the client's most frequent" : "");
    }
    if (rows < dataset.map().num_clients) text += fmt::format("            … and {} more\n", dataset.map().num_clients - rows);
    return text;
}

}  // namespace

Console::Console(bool quiet) : quiet_(quiet), terminal_(!quiet && isatty(STDOUT_FILENO) == 1) {}

void Console::show_plan(const Experiment& run, const std::string& folder) const {
    if (quiet_) return;
    const clients::DatasetMap& data = run.dataset.map();
    const RunConfig& config = run.config;
    const std::string workers = run.num_workers == 0 ? "none: the coordinator trains"
                                                     : fmt::format("{} processes, {} thread{} each", run.num_workers,
                                                                   config.threads, config.threads == 1 ? "" : "s");
    const std::string mode = config.mode.name == "synchronous" ? "" : " · " + config.mode.name;
    print("run         {} · {}{} · {} rounds · seed {}\n", config.name, config.strategy.name, mode, config.rounds, config.seed);
    print("device      {} · workers {}\n", run.space == aggregation::MemorySpace::Host ? "cpu" : "cuda", workers);
    print("model       {} · {} parameters · input {}x{}x{}\n", config.model.name, run.layout.num_values(), data.shape.channels,
          data.shape.height, data.shape.width);
    print("data        {} · {} training and {} test examples · {} classes\n", config.data.format, data.num_train, data.num_test,
          data.num_classes);
    print("clients     {} by {} · {} · {} per round\n", data.num_clients, config.data.partition.scheme,
          shard_sizes(run.dataset), run.mode.in_flight);
    print("partition   {}", histogram_rows(run.dataset));
    const std::string each =
        run.num_workers == 0
            ? ""
            : fmt::format(" · about {} per worker", human_bytes(host_bytes_of_worker(config, run.layout.num_floats())));
    print("memory      arena {} in {} slots · data {}{}\n", human_bytes(run.arena->geometry().total_bytes()),
          run.arena->geometry().num_slots, human_bytes(data.total_bytes()), each);
    print("folder      {}\n\n", folder);
    print("{:>6} {:>8} {:>9} {:>11} {:>10} {:>10} {:>9}\n", "round", "version", "accepted", "train loss", "test loss",
          "accuracy", "seconds");
    std::fflush(stdout);
}

Console::LiveLine Console::start_rounds(std::int64_t done, std::int64_t rounds,
                                        std::function<std::pair<std::size_t, std::size_t>()> tasks_done) {
    rounds_ = rounds;
    first_ = done;
    rounds_done_ = done;
    start_ns_ = now_ns();
    tasks_done_ = std::move(tasks_done);
    if (terminal_) {
        live_ = true;
        redrawer_ = std::thread([this] { redraw_loop(); });
    }
    return LiveLine(*this);
}

void Console::show_round(const RoundRecord& round, const Arrivals& arrived, const ServerState& server) {
    const std::lock_guard lock(mutex_);
    rounds_done_ = round.round;
    if (round.test) last_metrics_ = fmt::format(" · accuracy {:.4f}", round.test->test_accuracy);
    if (quiet_) return;
    if (live_) erase_live_line();
    const auto train_loss = arrived.train_loss();
    const std::string loss = round.test ? fmt::format("{:.4f}", round.test->test_loss) : "-";
    const std::string accuracy = round.test ? fmt::format("{:.4f}", round.test->test_accuracy) : "-";
    print("{:>6} {:>8} {:>9} {:>11} {:>10} {:>10} {:>9.3f}\n", round.round, server.version,
          fmt::format("{}/{}", arrived.accepted(), arrived.clients.size()),
          train_loss ? fmt::format("{:.4f}", *train_loss) : "-", loss, accuracy, seconds_between(round.start_ns, round.lap_ns));
    if (live_) draw_live_line();
    std::fflush(stdout);
}

void Console::stop_rounds() {
    {
        const std::lock_guard lock(mutex_);
        if (live_) erase_live_line();
        live_ = false;
        std::fflush(stdout);
    }
    changed_.notify_all();
    if (redrawer_.joinable()) redrawer_.join();
}

void Console::say(const std::string& line) {
    if (quiet_) return;
    const std::lock_guard lock(mutex_);
    if (live_) erase_live_line();
    print("{}\n", line);
    std::fflush(stdout);
}

void Console::redraw_loop() {
    std::unique_lock lock(mutex_);
    while (live_) {
        draw_live_line();
        std::fflush(stdout);
        changed_.wait_for(lock, std::chrono::milliseconds(200));
    }
}

void Console::draw_live_line() {
    const auto [finished, all] = tasks_done_();
    const double part = all == 0 ? 0.0 : static_cast<double>(std::min(finished, all)) / static_cast<double>(all);
    // A round hands out tasks twice, to train and to evaluate; the bar never goes back.
    shown_ = std::max(shown_, static_cast<double>(rounds_done_) + (rounds_done_ < rounds_ ? part : 0.0));
    const double elapsed = seconds_between(start_ns_, now_ns());
    const double fraction = shown_ / static_cast<double>(rounds_);
    const double left = static_cast<double>(rounds_) - shown_;
    constexpr std::size_t kBar = 20;
    const auto filled = static_cast<std::size_t>(fraction * kBar);
    std::string bar;
    for (std::size_t i = 0; i < kBar; ++i) bar += i < filled ? "█" : "░";
    // The rate counts whole rounds of this process, as soon as there is one.
    const std::string rate =
        rounds_done_ == first_
            ? ""
            : fmt::format(" · {:.2f} rounds/s · ETA {}", static_cast<double>(rounds_done_ - first_) / elapsed,
                          clock_time(elapsed * left / std::max(shown_ - static_cast<double>(first_), 1e-9)));
    const std::string head = fmt::format("round {}/{} ", std::min(rounds_done_ + 1, rounds_), rounds_);
    const std::string tail = fmt::format(" {:3.0f} % · {}{}{}", fraction * 100.0, clock_time(elapsed), rate, last_metrics_);
    // Too long a line would wrap and leave its first half behind.
    const std::size_t room = terminal_width() - 1;
    const std::string text = head.size() + kBar + tail.size() <= room ? head + bar + tail : (head + tail).substr(0, room);
    print("\r\x1b[K{}", text);
}

void Console::erase_live_line() const { print("\r\x1b[K"); }

}  // namespace fedhive::sim
