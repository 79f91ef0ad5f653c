// Krum and Multi-Krum: the mean of those updates of a round that are closest to their neighbours.
#include "aggregation/math/aggregator.h"
#include "aggregation/math/mean.h"
#include "aggregation/math/update_list.h"
#include "aggregation/math/vector_ops.h"
#include "aggregation/memory/param_buffer.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace fedhive::aggregation {

namespace {

/// score(i) = sum of |u_i - u_j|^2 over the n - f - 2 updates j closest to i;  out = mean of the m updates with the smallest
/// scores. Of equal scores, the one earlier in the cohort comes first.
///
/// Shapes   updates: n x [P], one client a slot, finite; n >= max(2 f + 3, f + m). With
///          fewer, at least the closest update counts.
/// Cost     n (n - 1) / 2 passes over two updates, in the coordinator; memory [P] for differences, [P] for the mean.
/// Source   Blanchard et al. 2017 (arXiv:1703.02757), section 3; Multi-Krum: section 5, with m chosen.
class Krum final : public Aggregator {
public:
    /// `byzantine`: f; if absent, the largest that n updates tolerate: (n - 3) / 2. `chosen`: m.
    Krum(std::optional<std::int64_t> byzantine, std::int64_t chosen)
        : byzantine_(byzantine), num_chosen_(static_cast<std::size_t>(chosen)) {}

    ColumnRule column_rule() const override { return ColumnRule::None; }
    std::size_t least_updates() const override {
        const auto wrong = static_cast<std::size_t>(byzantine_.value_or(0));
        return std::max(2 * wrong + 3, wrong + num_chosen_);
    }

    void zero_init(std::size_t num_floats, MemorySpace space) override {
        updates_.reset(num_floats, space);
        mean_->zero_init(num_floats, space);
        if (difference_.span().size != num_floats || difference_.span().space != space)
            difference_ = ParamBuffer(num_floats, space);
    }

    void aggregate(const Update& update) override { updates_.add_one_client(update, "Krum"); }

    Aggregate finish() override {
        const std::vector<Update>& all = updates_.all();
        for (const std::size_t place : closest(scores(squared_distances(all))))
            mean_->aggregate({all[place].values, all[place].position, 1.0, 1.0, 1});
        return {mean_->finish().values, updates_.weight(), updates_.num_clients()};
    }

private:
    /// [n][n], symmetric.
    std::vector<std::vector<double>> squared_distances(const std::vector<Update>& all) {
        std::vector<std::vector<double>> squared(all.size(), std::vector<double>(all.size(), 0.0));
        for (std::size_t i = 0; i < all.size(); ++i)
            for (std::size_t j = 0; j < i; ++j) {
                const double distance = write_update(difference_, all[i].values, all[j].values).norm;
                squared[i][j] = squared[j][i] = distance * distance;
            }
        return squared;
    }

    std::vector<double> scores(const std::vector<std::vector<double>>& squared) const {
        const std::size_t count = squared.size();
        const std::size_t most = count > 3 ? (count - 3) / 2 : 0;
        const std::size_t wrong = byzantine_ ? static_cast<std::size_t>(*byzantine_) : most;
        const std::size_t neighbours = std::min(count - 1, count > wrong + 3 ? count - wrong - 2 : 1);
        std::vector<double> result;
        for (std::size_t i = 0; i < count; ++i) {
            std::vector<double> others = squared[i];
            others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
            std::sort(others.begin(), others.end());
            result.push_back(std::accumulate(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(neighbours), 0.0));
        }
        return result;
    }

    /// Indices of the m smallest scores, ascending.
    std::vector<std::size_t> closest(const std::vector<double>& scores) const {
        std::vector<std::size_t> places(scores.size());
        std::iota(places.begin(), places.end(), std::size_t{0});
        std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) { return scores[a] < scores[b]; });
        places.resize(std::min(num_chosen_, places.size()));
        std::sort(places.begin(), places.end());
        return places;
    }

    std::optional<std::int64_t> byzantine_;
    std::size_t num_chosen_;
    UpdateList updates_;
    std::unique_ptr<Aggregator> mean_ = make_mean();
    ParamBuffer difference_;
};

}  // namespace

AggregatorSpec krum() {
    return {.name = "krum",
            .summary = "the update closest to its neighbours, or the mean of several (arXiv:1703.02757)",
            .single_updates = true,
            .weighs = false,
            .keys = {{.name = "byzantine",
                      .default_value = std::optional<std::int64_t>(),
                      .range = between(0, 1 << 20),
                      .default_note = "the most that a round tolerates",
                      .doc = "Number of updates in a round that may be arbitrarily wrong (f); at least 2 f + 3 must arrive. If "
                             "it is left out: (n - 3) / 2 of the n that arrive."},
                     {.name = "chosen",
                      .default_value = std::int64_t{1},
                      .range = between(1, 1 << 20),
                      .doc = "Number of updates that are averaged (m): 1 is Krum, more is Multi-Krum, typically the number of "
                             "arrivals minus f."}},
            .build = [](const Values& values) -> std::unique_ptr<Aggregator> {
                return std::make_unique<Krum>(values.optional_integer("byzantine"), values.integer("chosen"));
            }};
}

}  // namespace fedhive::aggregation
