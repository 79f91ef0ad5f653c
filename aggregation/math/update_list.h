// The updates that an aggregator collects until finish(). add() makes the checks that all rules share.
#pragma once

#include "aggregation/base/error.h"
#include "aggregation/math/aggregator.h"

#include <vector>

namespace fedhive::aggregation {

class UpdateList {
public:
    void reset(std::size_t num_floats, MemorySpace space) {
        num_floats_ = num_floats;
        space_ = space;
        weight_ = 0.0;
        updates_.clear();
    }

    /// Appends an update. Throws ShapeError for another size or memory space, Fault if
    /// positions do not increase or `clients` is 0.
    void add(const Update& update) {
        FEDHIVE_CHECK_EQ(update.values.size, num_floats_);
        if (update.values.space != space_) throw ShapeError("update and aggregate are in different memory spaces");
        FEDHIVE_CHECK(update.clients > 0, "slot at position {} holds no client", update.position);
        if (!updates_.empty())
            FEDHIVE_CHECK(update.position > updates_.back().position, "{} after {}", update.position, updates_.back().position);
        updates_.push_back(update);
        weight_ += update.weight;
    }

    /// add(), for a rule that looks at clients one by one. Throws Fault where a slot has several; `rule` is for its message.
    void add_one_client(const Update& update, const char* rule) {
        FEDHIVE_CHECK(update.clients == 1, "{} needs one client a slot, position {} holds {}", rule, update.position,
                      update.clients);
        add(update);
    }

    /// Throws Fault when nothing was added.
    const std::vector<Update>& all() const {
        if (updates_.empty()) throw Fault("nothing to aggregate: no update was accepted");
        return updates_;
    }

    std::size_t num_floats() const { return num_floats_; }
    MemorySpace space() const { return space_; }
    double weight() const { return weight_; }  // of all, added in their order

    std::vector<const float*> pointers() const {
        std::vector<const float*> result;
        for (const Update& update : updates_) result.push_back(update.values.data);
        return result;
    }

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
