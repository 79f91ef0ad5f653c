// The tensors of the ideal loop's models.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace fedhive::bench {

using Tensors = std::vector<at::Tensor>;

struct Part {
    enum class Role : std::uint8_t {
        Trained,
        Buffer,
        Frozen
    };  // a buffer travels and takes no gradient; a frozen tensor stays
    std::vector<std::int64_t> shape;
    Role role = Role::Trained;
    bool ones = false;  // begins as 1: a norm's scale
};

}  // namespace fedhive::bench
