#include "sim/sweep/packer.h"

#include "aggregation/base/divide_up.h"

#include <algorithm>

namespace fedhive::sim {

namespace {

/// A host's room while it is filled.
class Packing {
public:
    Packing(std::size_t index, const Site& site) : site_(index), room_(site.room), placed_(site.placed) {
        for (const Placed& run : placed_) {
            cores_ += run.cores;
            host_growth_ += run.host_growth;
            device_growth_ += run.device_growth;
        }
    }

    /// `left`: number of runs to start, this one included.
    std::optional<Start> place(const Waiting& run, std::int64_t left) {
        if (!fits_jobs() || !fits_device(run)) return std::nullopt;
        for (std::int64_t workers = run.workers.value_or(share(run, left));; --workers) {
            const std::int64_t cores = cores_of(workers, run.threads);
            const std::uint64_t bytes = run.workers ? run.host_bytes : scaled_bytes(run.host_bytes, 1, workers);
            if (fits_cores(cores) && fits_host(bytes)) {
                add(run, cores, bytes);
                return Start{site_, run.run, workers, cores};
            }
            if (run.workers || workers == 1) return std::nullopt;
        }
    }

    std::int64_t free_cores() const { return room_.cores - cores_; }

private:
    bool alone() const { return placed_.empty(); }
    bool fits_jobs() const { return room_.jobs == 0 || static_cast<std::int64_t>(placed_.size()) < room_.jobs; }
    bool fits_cores(std::int64_t cores) const { return alone() || room_.jobs > 0 || cores_ + cores <= room_.cores; }
    bool fits_host(std::uint64_t bytes) const { return alone() || host_growth_ + bytes <= room_.host_bytes; }

    /// One run at a time until one has been measured.
    bool fits_device(const Waiting& run) const {
        const auto on_device = [](const Placed& other) { return other.on_device; };
        if (!run.on_device || std::none_of(placed_.begin(), placed_.end(), on_device)) return true;
        const bool measured = std::all_of(placed_.begin(), placed_.end(), [](const Placed& other) { return other.measured; });
        return measured && room_.device_bytes && run.device_bytes && device_growth_ + *run.device_bytes <= *room_.device_bytes;
    }

    /// Workers for a run that leaves their number open.
    std::int64_t share(const Waiting& run, std::int64_t left) const {
        const auto at_work = static_cast<std::int64_t>(placed_.size());
        const std::int64_t cores = room_.jobs > 0 ? room_.cores / std::min(room_.jobs, at_work + left)
                                                  : divide_up(std::max<std::int64_t>(0, room_.cores - cores_), left);
        return std::clamp<std::int64_t>(cores / run.threads, 1, std::max<std::int64_t>(1, run.most_workers));
    }

    void add(const Waiting& run, std::int64_t cores, std::uint64_t bytes) {
        const std::uint64_t device_bytes = run.on_device ? run.device_bytes.value_or(0) : 0;
        placed_.push_back({cores, bytes, run.on_device, !run.on_device || run.device_bytes.has_value(), device_bytes});
        cores_ += cores;
        host_growth_ += bytes;
        device_growth_ += device_bytes;
    }

    std::size_t site_;
    Room room_;
    std::vector<Placed> placed_;
    std::int64_t cores_ = 0;
    std::uint64_t host_growth_ = 0;
    std::uint64_t device_growth_ = 0;
};

}  // namespace

std::int64_t cores_of(std::int64_t workers, std::int64_t threads) { return std::max<std::int64_t>(1, workers * threads); }

std::uint64_t scaled_bytes(std::uint64_t bytes, std::int64_t measured_with, std::int64_t workers) {
    return bytes * static_cast<std::uint64_t>(workers + 1) / static_cast<std::uint64_t>(measured_with + 1);
}

std::vector<Start> pack(const std::vector<Site>& sites, std::vector<Waiting> waiting) {
    std::stable_sort(waiting.begin(), waiting.end(), [](const Waiting& a, const Waiting& b) {
        return a.core_seconds != b.core_seconds ? a.core_seconds > b.core_seconds : a.run < b.run;
    });
    std::vector<Packing> packings;
    for (std::size_t site = 0; site < sites.size(); ++site) packings.emplace_back(site, sites[site]);
    std::stable_sort(packings.begin(), packings.end(),
                     [](const Packing& a, const Packing& b) { return a.free_cores() > b.free_cores(); });
    std::vector<Start> starts;
    std::vector<bool> started(waiting.size(), false);
    const std::size_t hands = packings.size();
    for (std::size_t turn = 0; turn < hands; ++turn)
        for (std::size_t hand = 0; hand < hands; ++hand) {
            std::vector<std::size_t> dealt;
            for (std::size_t run = (hand + turn) % hands; run < waiting.size(); run += hands)
                if (!started[run]) dealt.push_back(run);
            auto left = static_cast<std::int64_t>(dealt.size());
            for (const std::size_t run : dealt) {
                const auto start = packings[hand].place(waiting[run], left--);
                started[run] = start.has_value();
                if (start) starts.push_back(*start);
            }
        }
    return starts;
}

}  // namespace fedhive::sim
