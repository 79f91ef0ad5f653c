// CIFAR-10 and CIFAR-100 binary layout: records of one-byte labels followed by 32 x 32 pixels in planes red, green, blue.
// Source: A. Krizhevsky 2009, "Learning Multiple Layers of Features from Tiny Images", and the data
// sets' page, "Binary version".
#pragma once

#include "clients/data/dataset.h"

#include <filesystem>
#include <span>
#include <string>

namespace fedhive::clients {

/// File names and record layout of one data set.
struct CifarLayout {
    std::span<const char* const> train;  // file names, in order
    std::span<const char* const> test;
    std::size_t labels = 1;        // label bytes before each image
    std::size_t label = 0;         // index of the label byte to use
    std::int64_t num_classes = 0;  // classes of that label
    const char* to_fetch = "";     // advice for missing files
};

/// Reads `layout` from `root`; shape {3, 32, 32}.
///
/// Throws   ConfigError naming the file: no folder, missing, empty, no whole number of records, a label outside the classes.
/// Memory   one copy of the bytes; sizes are those of the files.
Dataset read_cifar(const std::filesystem::path& root, const CifarLayout& layout);

}  // namespace fedhive::clients
