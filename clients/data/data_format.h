// Data formats by name. Each format is one file of formats/ with its keys and its reader or generator. To add one: write its
// file, add its line to data_format.cpp.
#pragma once

#include "aggregation/base/keys.h"
#include "clients/data/dataset.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::clients {

/// Memory needed at once: `what`, such as "6000 examples", takes `bytes`, which may exceed 2^64 and is therefore a double.
struct MemoryNeed {
    std::string what;
    double bytes = 0.0;
};

/// What a model needs to know of the data: shapes of an example and of its target, number of classes.
struct DataShape {
    ExampleShape example;
    std::int64_t num_classes = 0;
    TargetShape target{};

    /// Shape of a model's output for one example: Class [classes], ClassEach [positions, classes], Numbers [numbers].
    std::vector<std::int64_t> answers() const {
        if (target.kind == TargetKind::Numbers) return {target.width};
        if (target.kind == TargetKind::ClassEach) return {target.width, num_classes};
        return {num_classes};
    }
};

struct DataFormat {
    std::string name;
    std::string summary;  // half a line
    std::vector<KeySpec> keys;
    std::string blamed{};  // key to name in an error that names none of the format's files; empty: the format itself
    /// Finds a wrong combination of values that are each valid; null: no combination is wrong.
    std::optional<KeyProblem> (*check)(const Values& values) = nullptr;
    /// Memory that generating takes, known before the first example is drawn; null for files, which are checked while read.
    std::vector<MemoryNeed> (*needs)(const Values& values) = nullptr;
    /// Shapes without drawing examples, reading as little as possible. Throws ConfigError for invalid data.
    DataShape (*shape)(const Values& values, TargetKind wanted) = nullptr;
    /// `values`: of all its keys; `seed`: for generated data; `wanted`: one of `targets`. Throws ConfigError for invalid data.
    Dataset (*read)(const Values& values, std::uint64_t seed, TargetKind wanted) = nullptr;
    /// Kinds of targets that it supports. If ClassEach is wanted, files and keys may still give Class.
    std::vector<TargetKind> targets{TargetKind::Class};
};

/// All formats, in the order of REFERENCE.md.
const std::vector<DataFormat>& data_catalog();

/// Value of the key `classes`; 0: count them. Throws ConfigError if it is given and the targets are numbers.
std::int64_t classes_wanted(const Values& values, TargetKind wanted);

/// The name must exist.
const DataFormat& data_format(const std::string& name);

}  // namespace fedhive::clients
