// PrivUnit (sphere_cap.h) of a client's update, which makes it locally private. u has a norm of at most C, that of the clip before:
//
//   s = +1 with probability (1 + |u| / C) / 2, else -1;   sent = C Z of the unit vector s u / |u|
//
// so the mean of what is sent is u, and its norm C / m tells nothing. A zero stands for any direction.
// Differs   the paper sends the norm with noise of its own and a second ε; here the sign takes it up, as in the mechanism of Duchi,
//           Jordan and Wainwright 2013, arXiv:1302.3203, section 4.2.3, at no ε. γ and p follow from ε.
#include "clients/uploads/sphere_cap.h"

#include "aggregation/base/normals.h"
#include "aggregation/math/vector_ops.h"
#include "clients/uploads/upload.h"

#include <array>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

namespace fedhive::clients {

namespace {

/// Of all updates of a worker: they have one length and one ε.
const PrivUnit& unit_of(std::uint64_t dimension, double epsilon) {
    thread_local std::pair<double, PrivUnit> last;
    if (last.first != epsilon || last.second.dimension != static_cast<double>(dimension))
        last = {epsilon, priv_unit_of(dimension, epsilon)};
    return last.second;
}

/// Calls take(i) for the place of each value that is sent.
template <typename Take>
void each_sent(const Upload& upload, const Take& take) {
    for (const aggregation::LayoutEntry& entry : upload.sent.entries())
        for (std::size_t i = entry.offset; i < entry.offset + entry.size; ++i) take(i);
}

/// values <- of(values, normals), where length is |values|: V = t u + √(1 - t²) w, w uniform on the unit vectors orthogonal to u.
void turn(const Upload& upload, std::vector<float>& values, const std::vector<float>& normals, double norm, double t,
          double length) {
    double along = 0.0, squares = 0.0;
    each_sent(upload, [&](std::size_t i) {
        along += static_cast<double>(normals[i]) * (static_cast<double>(values[i]) / norm);
        squares += static_cast<double>(normals[i]) * static_cast<double>(normals[i]);
    });
    const double across = std::sqrt((1.0 - t) * (1.0 + t) / (squares - along * along));
    each_sent(upload, [&](std::size_t i) {
        const double unit = static_cast<double>(values[i]) / norm;
        values[i] = static_cast<float>(length * (t * unit + across * (static_cast<double>(normals[i]) - along * unit)));
    });
}

void privatise_direction(Upload& upload, const UploadStep& step) {
    aggregation::write_update(upload.scratch, upload.local, upload.global);
    std::vector<float> values(upload.scratch.size), normals(upload.scratch.size, 0.0F);
    aggregation::copy(values, upload.scratch);
    aggregation::synchronize(upload.scratch.space);
    double squares = 0.0;
    each_sent(upload, [&](std::size_t i) { squares += static_cast<double>(values[i]) * static_cast<double>(values[i]); });
    if (!std::isfinite(squares)) return;  // found when the update is accepted
    if (squares == 0.0) values[upload.sent.entries().front().offset] = 1.0F;
    const double norm = squares == 0.0 ? 1.0 : std::sqrt(squares);
    const PrivUnit& unit = unit_of(upload.sent.num_values(), step.numbers[0]);

    Stream draws(upload.key, Purpose::Upload);
    const double positive = 0.5 * (1.0 + std::fmin(1.0, std::sqrt(squares) / upload.norm_bound));
    const double sign = draws.uniform() < positive ? 1.0 : -1.0;
    const double t = draw_of_cap(unit, draws);
    add_noise(normals, upload.layout, draws.next_u64(), 1.0);
    turn(upload, values, normals, sign * norm, t, upload.norm_bound / unit.mean);
    aggregation::copy(upload.scratch, values);
    aggregation::copy(upload.local, upload.global);
    aggregation::add(upload.local, upload.scratch);
    aggregation::synchronize(upload.scratch.space);  // before `values` is destroyed
}

}  // namespace

UploadSpec priv_unit() {
    return {
        .name = "priv_unit",
        .summary =
            "sends a random vector of a fixed length whose mean is the update, which makes one update "
            "`epsilon`-differentially private towards the server, too; after a clip, whose norm it takes (PrivUnit, "
            "Bhowmick et al. 2018, arXiv:1812.00984)",
        .keys = {{.name = "epsilon",
                  .default_value = 100.0,
                  .range = {.low = 0, .high = 1e6, .low_excluded = true},
                  .doc =
                      "ε of one update; over T updates of a client the ε add up to T · epsilon. From an epsilon of about "
                      "10 on, what is sent is about √(P / (2 · epsilon)) times as long as the clip's norm, for P parameters; "
                      "the plan has the number."}},
        .hides = true,
        .needs_clip = true,
        .apply = privatise_direction,
        .stretch = [](const UploadStep& step, std::uint64_t values) {
            return 1.0 / priv_unit_of(values, step.numbers[0]).mean;
        }};
}

}  // namespace fedhive::clients
