// For steps that make an update smaller: its parameters one tensor after the other where the CPU can change them, and the choice of a few of
// them. The model's buffers leave as they are.
#pragma once

#include "clients/uploads/upload.h"

#include <cstdint>
#include <span>
#include <vector>

namespace fedhive::clients {

/// Of one tensor, without what lies between tensors.
struct TensorUpload {
    std::span<float> local;
    std::span<const float> global;
    std::uint32_t place = 0;  // among the parameters' tensors

    float update(std::size_t i) const { return local[i] - global[i]; }
    void set_update(std::size_t i, double value) const { local[i] = static_cast<float>(global[i] + value); }
};

class ParametersOfUpload {
public:
    /// Memory: on a device, host copies of both vectors.
    explicit ParametersOfUpload(Upload& upload);

    std::span<TensorUpload> tensors() { return tensors_; }
    std::uint64_t count() const { return count_; }  // parameters

    /// What local has become goes back to the device; nothing to do on the host.
    void put_back();

private:
    Upload& upload_;
    std::vector<float> local_, global_;  // of a device
    std::vector<TensorUpload> tensors_;
    std::uint64_t count_ = 0;
};

/// Which share of the parameters is sent.
KeySpec key_of_kept_share();

/// How many parameters a share of them is, at least one.
std::uint64_t count_of_share(double share, std::uint64_t parameters);

/// update <- 0 for all parameters but the `count` of the largest keys; of equal keys the first ones are kept.
///
/// Shapes   keys: one for each parameter, in their order.
/// Cost     linear in the parameters.
void keep_largest(ParametersOfUpload& upload, std::span<const std::uint32_t> keys, std::uint64_t count);

/// The size with so many parameters left, told by their places: 4 bytes each, or a bit for every parameter where that is less.
void leave_out(UploadSize& size, std::uint64_t count);

}  // namespace fedhive::clients
