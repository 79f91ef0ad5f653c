// Copies of a matrix in panels, the order in which Gemm reads it.
#pragma once

#include "clients/direct/kernels.h"
#include "clients/direct/kernels/lanes.h"

namespace fedhive::clients::direct::FEDHIVE_LANES {

static void copy_to_panels(const Panels& t) {
    const float* from = t.from;
    for (std::size_t r = 0; r < t.rows; ++r)
        for (std::size_t c = 0; c < t.columns; c += kPanel) {
            float* to = t.to + c * t.rows + r * kPanel;
            for (std::size_t v = 0; v < kPanel && c + v < t.columns; v += kLanes)
                store(to + v, load(from + r * t.columns + c + v, first_lanes(t.columns - c - v)));
        }
}

static void transpose_to_panels(const Panels& t) {
    for (std::size_t r = 0; r < t.rows; r += kLanes) {
        float* to = t.to + r / kPanel * kPanel * t.columns + r % kPanel;
        for (std::size_t c = 0; c < t.columns; c += kLanes) {
            const Mask there = first_lanes(t.columns - c);
            Lanes square[kLanes];
            FEDHIVE_UNROLL for (std::size_t i = 0; i < kLanes; ++i) {
                square[i] = r + i < t.rows ? load(t.from + (r + i) * t.columns + c, there) : zero();
            }
            transpose(square);
            if (c + kLanes <= t.columns) {
                FEDHIVE_UNROLL for (std::size_t k = 0; k < kLanes; ++k) store(to + (c + k) * kPanel, square[k]);
            } else {
                for (std::size_t k = 0; k < t.columns - c; ++k) store(to + (c + k) * kPanel, square[k]);
            }
        }
    }
}

static void write_panels(const Panels& t) { (t.transposed ? transpose_to_panels : copy_to_panels)(t); }

}  // namespace fedhive::clients::direct::FEDHIVE_LANES
