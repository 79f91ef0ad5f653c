// NumPy archives of examples x, targets y and, optionally, owners `client`; one file for training, one for testing.
#pragma once

#include "clients/data/data_format.h"

#include <filesystem>

namespace fedhive::clients {

struct NpzFiles {
    std::filesystem::path train;
    std::filesystem::path test;
    bool tokens = false;                     // x are tokens
    std::int64_t vocabulary = 0;             // number of tokens; 0: 1 + the largest token of training
    TargetKind targets = TargetKind::Class;  // ClassEach: only if y has two dimensions
};

/// Reads both parts.
///
/// x        [n, features], [n, height, width] or [n, channels, height, width]: u8, f32, or f64 rounded to f32.
///          Tokens: [n, positions], integers from 0; u8 stays, others become i32.
/// y        Class: [n], integers. ClassEach: [n] or [n, positions], integers. Numbers: [n] or [n, width], f32, or f64 rounded.
///          A class may be kIgnored (target.h). Class count: 1 + largest training label, unless `num_classes` > 0.
/// client   optional, training only: [n], integers, the owner of each example.
///
/// Throws   ConfigError naming file and array, what is wanted, and a line of Python that fixes it: not an archive, damaged,
///          encrypted; no x or y; Fortran order, big-endian, another type; another number of dimensions; counts that differ;
///          numbers that are not finite or beyond f32; labels or tokens below 0 or too large; test examples
///          of another shape or type.
/// Memory   one copy of the values; while owners are read, 16 more bytes per example. Sizes are checked against the file and
///          the memory before anything is allocated.
Dataset read_npz(const NpzFiles& files, std::int64_t num_classes = 0);

}  // namespace fedhive::clients
