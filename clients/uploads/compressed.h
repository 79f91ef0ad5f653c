// Helpers of upload steps that compress: access to an update's parameters tensor by tensor, in memory that the CPU can change, and the selection
// of some of them. The model's buffers are sent unchanged.
#pragma once

#include "aggregation/base/random.h"
#include "clients/uploads/upload.h"

#include <cstdint>
#include <span>
#include <vector>

namespace fedhive::clients {

/// The part of an update that belongs to one tensor, without padding.
struct TensorUpload {
    std::span<float> local;
    std::span<const float> global;
    std::uint32_t place = 0;  // index among the parameters' tensors

    float update(std::size_t i) const { return local[i] - global[i]; }
    void set_update(std::size_t i, double value) const { local[i] = static_cast<float>(global[i] + value); }
};

class ParametersOfUpload {
public:
    /// Memory: for device spans, host copies of both vectors.
    explicit ParametersOfUpload(Upload& upload);

    std::span<TensorUpload> tensors() { return tensors_; }
    std::uint64_t count() const { return count_; }  // number of parameters

    /// Copies the changed `local` back to the device; no effect on the host.
    void put_back();

private:
    Upload& upload_;
    std::vector<float> local_, global_;  // host copies of device spans
    std::vector<TensorUpload> tensors_;
    std::uint64_t count_ = 0;
};

/// The key `kept`: the share of the parameters that is sent.
KeySpec key_of_kept_share();

/// share * parameters, rounded, at least 1.
std::uint64_t count_of_share(double share, std::uint64_t parameters);

/// update = 0 for all parameters except the `count` with the largest keys; of equal keys, the first ones are kept.
///
/// Shapes   keys: one for each parameter, in their order.
/// Cost     linear in the parameters.
void keep_largest(ParametersOfUpload& upload, std::span<const std::uint32_t> keys, std::uint64_t count);

/// keep_largest() by magnitude: a float's bits without the sign are ordered as its magnitude. A NaN counts as the largest, so it is sent, and
/// detected when the update is accepted.
void keep_largest_magnitudes(ParametersOfUpload& upload, std::uint64_t count);

/// Rounds each value at random to one of the two levels around it, so that the mean is the value. The levels are 0, 1, …, `levels` times
/// `largest` / `levels`, with the value's sign. Larger values are clipped to `largest`; values that are not finite stay.
///
/// Order    one draw for each value, in their order.
void round_to_levels(const TensorUpload& tensor, double largest, double levels, Stream& draws);

/// Reduces `size` to `count` parameters. Their positions cost 4 bytes each, or one bit for every parameter if that is less.
void leave_out(UploadSize& size, std::uint64_t count);

}  // namespace fedhive::clients
