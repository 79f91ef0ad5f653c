// The binary layout of CIFAR-10 and CIFAR-100: records of labels, one byte each, and 32 x 32 pixels, plane by plane: red, green, blue.
// Source: A. Krizhevsky 2009, "Learning Multiple Layers of Features from Tiny Images", and the data sets' page, "Binary version".
#pragma once

#include "clients/data/dataset.h"

#include <filesystem>
#include <span>
#include <string>

namespace fedhive::clients {

/// Where a layout has what.
struct CifarLayout {
    std::span<const char* const> train;  // file names, in order
    std::span<const char* const> test;
    std::size_t labels = 1;        // bytes in front of each image …
    std::size_t label = 0;         // … and which of them counts
    std::int64_t num_classes = 0;  // of that one
    const char* to_fetch = "";     // what to do where files are missing
};

/// Reads `layout` from `root`; shape {3, 32, 32}.
///
/// Throws   ConfigError naming the file: no folder, missing, empty, no whole number of records, a label outside the classes.
/// Memory   one copy of the bytes; sizes are those of the files.
Dataset read_cifar(const std::filesystem::path& root, const CifarLayout& layout);

}  // namespace fedhive::clients
