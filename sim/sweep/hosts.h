// The machines of a sweep as the scheduler sees them: this one alone, or one for each rank that MPI has started. The scheduler is rank 0's;
// the others do what it orders. They meet several times a second, where news go one way and orders the other.
//
//   rank 0   scheduler ─ look() ─▶ news of all ─▶ pack ─▶ start() ─┐       ┌─ look() ─▶ …
//   rank 1   host: wait ───────────▶ news                          └▶ orders ─▶ starts runs ─▶ wait ─▶ …
//
// Runs are as they would be on one machine, and write into the sweep's folder, which all hosts have to see.
#pragma once

#include "sim/ranks/ranks.h"
#include "sim/sweep/host.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fedhive::sim {

class Hosts {
public:
    /// To be made by rank 0; the others call serve_sweep(). `own` is this machine. Waits for all to come.
    Hosts(Ranks& ranks, Host& own);

    std::size_t size() const { return news_.size(); }
    const std::string& name(std::size_t host) const { return names_[host]; }  // empty where there is one

    /// Of all hosts, when last looked.
    const std::vector<HostNews>& news() const { return news_; }
    std::int64_t cores() const;  // of all

    /// Throws ConfigError naming the hosts that do not see the sweep's folder, whose sweep.json must be there.
    void check_folder(const std::filesystem::path& folder);

    /// Orders reach other machines with the next look(), which brings what has happened since the last one. The first haste asked for interrupts all
    /// runs, the second kills them.
    void start(std::size_t host, std::size_t run, const RunOrder& order);
    void end_runs(Haste haste);
    void look();
    void wait() const;

    /// The others end too, with this exit status.
    void leave(int exit_status);

private:
    void meet(const std::string& orders);
    std::string orders() const;

    struct Begin {
        std::size_t host = 0;
        std::size_t run = 0;
        RunOrder order;
    };
    Ranks& ranks_;
    Host& own_;
    std::vector<std::string> names_;
    std::vector<HostNews> news_;
    std::vector<Begin> begins_;  // by other hosts, not yet told
    Haste haste_ = Haste::None;
};

/// What ranks but the first do: runs that rank 0 orders, until it leaves. Returns its exit status. Throws ConfigError where the sweep's folder is
/// not seen from somewhere, on all ranks alike.
int serve_sweep(Ranks& ranks, Host& own);

}  // namespace fedhive::sim
