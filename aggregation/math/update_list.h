// The list of updates that an Aggregator collects between zero_init() and finish(), with the checks that all rules share.
#pragma once

#include "aggregation/base/error.h"
#include "aggregation/math/aggregator.h"

#include <vector>

namespace fedhive::aggregation {

/// Updates in cohort order: views of arena slots (aggregator.h), not copies.
class UpdateList {
public:
    /// Empties the list. Its next updates must have num_floats floats in `space`.
    void reset(std::size_t num_floats, MemorySpace space) {
        num_floats_ = num_floats;
        space_ = space;
        weight_ = 0.0;
        updates_.clear();
    }

    /// Appends an update. Throws ShapeError for another size or memory space, Fault if positions do not increase or update.clients is 0.
    void add(const Update& update) {
        FEDHIVE_CHECK_EQ(update.values.size, num_floats_);
        if (update.values.space != space_) throw ShapeError("update and aggregate are in different memory spaces");
        FEDHIVE_CHECK(update.clients > 0, "slot at position {} holds no client", update.position);
        if (!updates_.empty())
            FEDHIVE_CHECK(update.position > updates_.back().position, "{} after {}", update.position, updates_.back().position);
        updates_.push_back(update);
        weight_ += update.weight;
    }

    /// add() for a rule that needs each client's own update: throws Fault if the slot holds a sum of several. `rule` names the rule in the
    /// message.
    void add_one_client(const Update& update, const char* rule) {
        FEDHIVE_CHECK(update.clients == 1, "{} needs one client a slot, position {} holds {}", rule, update.position,
                      update.clients);
        add(update);
    }

    /// All updates. Throws Fault when there are none.
    const std::vector<Update>& all() const {
        if (updates_.empty()) throw Fault("nothing to aggregate: no update was accepted");
        return updates_;
    }

    std::size_t num_floats() const { return num_floats_; }
    MemorySpace space() const { return space_; }
    double weight() const { return weight_; }  // sum of the updates' weights, in their order

    /// A pointer to each update's floats.
    std::vector<const float*> pointers() const {
        std::vector<const float*> result;
        for (const Update& update : updates_) result.push_back(update.values.data);
        return result;
    }

    /// The clients of all updates.
    std::size_t num_clients() const {
        std::size_t clients = 0;
        for (const Update& update : updates_) clients += update.clients;
        return clients;
    }

private:
    std::size_t num_floats_ = 0;
    MemorySpace space_ = MemorySpace::Host;
    double weight_ = 0.0;
    std::vector<Update> updates_;
};

}  // namespace fedhive::aggregation
