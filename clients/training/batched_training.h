// The client's screen for many clients at once: what they do in one round, a step of each in every turn. local_training.h, with rows.
#pragma once

#include "clients/training/batched_step.h"
#include "clients/training/local_training.h"

#include <cstdint>
#include <span>
#include <vector>

namespace fedhive::clients {

/// One of the clients trained at once.
struct RowClient {
    std::uint32_t client_id = 0;
    std::span<const std::uint32_t> shard;  // indices of its training examples, at least one
};

/// For each row, the place of its client among those given. Who has the most steps comes first, equal ones in the order given: who has none
/// left is then in the last rows, which a step leaves out.
std::vector<std::size_t> places_of_rows(const LocalTraining& plan, std::span<const RowClient> clients);

/// Trains the clients, each as train_client would: the same draws, batches, number of steps and meaning of the loss. Row k of the step then
/// holds update = local - global of client k.
///
/// Shapes   clients: at most step.num_rows(); global: [P], in the step's memory space.
/// Order    the same clients in the same rows give the same bits, in any worker, at any time. Against train_client the last bits may differ;
///          dropout does not follow the client but the first of the clients.
/// Returns  a result for each. The time that all took together is dealt out by their steps, one client after the other.
std::vector<ClientResult> train_clients(BatchedStep& step, const LocalTraining& plan, const Objective& objective,
                                        std::uint32_t round, std::span<const RowClient> clients,
                                        aggregation::ConstParamSpan global, UploadChain* upload = nullptr);

}  // namespace fedhive::clients
