// The IDX format of the MNIST family: big-endian magic and sizes, then bytes; plain or gzip-compressed (`.gz`).
// Source: Y. LeCun, C. Cortes, C. Burges, "The MNIST database", file formats.
#pragma once

#include "clients/data/dataset.h"

#include <filesystem>

namespace fedhive::clients {

/// Reads the four files of a set from `root`: MNIST's names, EMNIST's or Kaggle's, each plain or with `.gz` (the plain one
/// wins). Class count: 1 + largest training label, unless `num_classes` > 0.
///
/// Throws   ConfigError naming the file: missing (with the `fedhive data` command), truncated, trailing bytes, wrong magic,
///          sizes that do not fit the file, image and label counts that differ, labels outside the classes, train and test
///          shapes that differ, a damaged gzip stream, a name whose .gz and content disagree; also for a folder with several
///          sets, and a plain file that exceeds available memory.
/// Memory   one copy of the bytes. A plain file's sizes are checked against the file before anything is allocated; a compressed
///          file's bytes are allocated as they arrive (beyond 64 MiB with the vector's doubling).
Dataset read_idx(const std::filesystem::path& root, std::int64_t num_classes = 0);

}  // namespace fedhive::clients
