// The machines of a sweep as the scheduler sees them: this one alone, or one for each rank started by MPI. Rank 0 has the
// scheduler; the others follow its orders. They meet several times a second to exchange news and orders.
//
//   rank 0   scheduler ─ look() ─▶ news of all ─▶ pack ─▶ start() ─┐       ┌─ look() ─▶ …
//   rank 1   host: wait ───────────▶ news                          └▶ orders ─▶ starts runs ─▶ wait ─▶ …
//
// Runs are the same as on one machine. They write into the sweep's folder, which all hosts must be able to access.
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
    /// For rank 0; the others call serve_sweep(). `own` is this machine's host. Collective: waits for all ranks.
    Hosts(Ranks& ranks, Host& own);

    std::size_t size() const { return news_.size(); }
    const std::string& name(std::size_t host) const { return names_[host]; }  // empty if there is only one

    /// News of all hosts at the last look.
    const std::vector<HostNews>& news() const { return news_; }
    std::int64_t cores() const;  // in all

    /// Throws ConfigError naming the hosts without access to the sweep's folder, which must hold sweep.json.
    void check_folder(const std::filesystem::path& folder);

    /// Orders reach other machines with the next look(), which returns with the news since the last one. The first end_runs()
    /// interrupts all runs, the second kills them.
    void start(std::size_t host, std::size_t run, const RunOrder& order);
    void end_runs(Haste haste);
    void look();
    void wait() const;

    /// Ends the other ranks, too, with this exit status.
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
    std::vector<Begin> begins_;  // for other hosts, not sent yet
    Haste haste_ = Haste::None;
};

/// The other ranks' loop: starts the runs that rank 0 orders, until it leaves. Returns its exit status. Throws ConfigError on
/// all ranks alike if a rank has no access to the sweep's folder.
int serve_sweep(Ranks& ranks, Host& own);

}  // namespace fedhive::sim
