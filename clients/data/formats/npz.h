// NumPy archives: x, the examples, y, their labels, and client, whose they are; one file for training, one for testing.
#pragma once

#include "clients/data/data_format.h"

#include <filesystem>

namespace fedhive::clients {

struct NpzFiles {
    std::filesystem::path train;
    std::filesystem::path test;
    bool tokens = false;                     // x are tokens
    std::int64_t vocabulary = 0;             // how many there are; 0: as many as the training examples show
    TargetKind targets = TargetKind::Class;  // ClassEach: where y has two dimensions
};

/// x: [n, features], [n, height, width] or [n, channels, height, width], u8, f32, or f64, which is rounded to f32; y: [n], integers; client,
/// where there is such an array: [n], integers that name whose each training example is. Class count: 1 + largest training label, unless
/// `num_classes` > 0. Where targets are numbers y is [n] or [n, width], f32, or f64, which is rounded; where they are classes at each position
/// y may be [n, positions]. A class may be kIgnored (target.h). Tokens: x [n, positions], integers from 0; bytes stay bytes, others become i32.
///
/// Throws   ConfigError naming the file and the array, what is wanted, and a line of Python that mends it: no archive, damaged, encrypted;
///          no x or y; Fortran order, big-endian, another type; another number of dimensions; counts that differ; numbers that are not
///          finite, or no f32; labels below 0 or outside the classes, tokens below 0 or outside the vocabulary; test
///          examples of another shape or type.
/// Memory   one copy of the values; of owners two more of 8 bytes each while they are read. Sizes are checked against the
///          file and the memory before anything is allocated.
Dataset read_npz(const NpzFiles& files, std::int64_t num_classes = 0);

}  // namespace fedhive::clients
