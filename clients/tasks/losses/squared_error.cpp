#include "clients/tasks/losses/squared_error.h"

#include "clients/tasks/loss.h"

namespace fedhive::clients {

LossSpec squared_error_loss() {
    return {
        .name = "squared_error", .summary = "squared error of numbers, as nn.MSELoss", .keys = {}, .build = [](const Values&) {
            return LossPlan{.kind = LossKind::SquaredError};
        }};
}

}  // namespace fedhive::clients
