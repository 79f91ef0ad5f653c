// A model of two tensors with padding between them, and a client's model after its local steps.
#pragma once

#include "clients/uploads/upload.h"

#include <cmath>
#include <cstdint>
#include <vector>

namespace fedhive::clients::testing {

struct Trained {
    explicit Trained(std::vector<UploadStep> steps, std::uint64_t num_clients = 10, std::uint64_t together = 1)
        : num_together(together) {
        layout.add("weight", {3, 1000});
        layout.add("bias", {5});
        plan.sampling_seed = 3;
        plan.num_clients = num_clients;
        for (const UploadStep& step : steps) plan.steps.at(plan.size++) = step;
        global.resize(layout.num_floats(), 0.0F);
        local.resize(layout.num_floats(), 0.0F);
        for (const std::size_t i : places()) {
            global[i] = 0.5F * std::sin(static_cast<float>(i));
            local[i] = global[i] + 0.01F * std::cos(static_cast<float>(3 * i));
        }
    }

    /// Indices of its 3,005 parameters.
    std::vector<std::size_t> places() const {
        std::vector<std::size_t> all;
        for (const aggregation::LayoutEntry& entry : layout.entries())
            for (std::size_t i = entry.offset; i < entry.offset + entry.size; ++i) all.push_back(i);
        return all;
    }

    /// The update after the chain.
    std::vector<float> update(std::uint32_t client = 4, std::uint32_t round = 2, std::uint64_t seed = 7) const {
        std::vector<float> leaves = local;
        UploadChain chain(plan, layout);
        chain.apply(leaves, global, seed, round, client, num_together);
        for (std::size_t i = 0; i < leaves.size(); ++i) leaves[i] -= global[i];
        return leaves;
    }

    std::vector<float> bare() const {
        std::vector<float> update = local;
        for (std::size_t i = 0; i < update.size(); ++i) update[i] -= global[i];
        return update;
    }

    std::uint64_t num_together;
    aggregation::Layout layout;
    UploadPlan plan;
    std::vector<float> global, local;
};

}  // namespace fedhive::clients::testing
