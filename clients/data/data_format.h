// Where examples come from, by name: each format lies in one file of formats/, with its keys and how it is read or drawn. To add one: write
// its file, add its line to data_format.cpp.
#pragma once

#include "aggregation/base/keys.h"
#include "clients/data/dataset.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fedhive::clients {

/// What will have to be held in memory at once: "6000 examples", in bytes. A double: what is asked for may be more than can be counted.
struct MemoryNeed {
    std::string what;
    double bytes = 0.0;
};

/// What a model has to know of the data.
struct DataShape {
    ExampleShape example;
    std::int64_t num_classes = 0;
    TargetShape target{};

    /// What a model is to give for an example: [classes], at each position [positions, classes], or [numbers].
    std::vector<std::int64_t> answers() const {
        if (target.kind == TargetKind::Numbers) return {target.width};
        if (target.kind == TargetKind::ClassEach) return {target.width, num_classes};
        return {num_classes};
    }
};

struct DataFormat {
    std::string name;
    std::string summary;  // what it is: half a line
    std::vector<KeySpec> keys;
    std::string blamed{};  // the key to blame for what begins with none of its files; empty: the format itself
    /// Of values that are right each by itself; null: nothing can be wrong.
    std::optional<KeyProblem> (*check)(const Values& values) = nullptr;
    /// What drawing takes, known before the first example is drawn; null for files, which are read as far as memory goes.
    std::vector<MemoryNeed> (*needs)(const Values& values) = nullptr;
    /// Without drawing or reading more than it takes. Throws ConfigError for what cannot be read.
    DataShape (*shape)(const Values& values, TargetKind wanted) = nullptr;
    /// `values`: of all its keys; `seed`: of what is drawn; `wanted`: one of `targets`. Throws ConfigError for what cannot be read.
    Dataset (*read)(const Values& values, std::uint64_t seed, TargetKind wanted) = nullptr;
    /// What its examples can have for targets. Where ClassEach is wanted, files and keys may still say Class.
    std::vector<TargetKind> targets{TargetKind::Class};
};

/// All formats, in the order of REFERENCE.md.
const std::vector<DataFormat>& data_catalog();

/// Key classes of a format of files, 0 where they are to be counted. Throws ConfigError where it is given and the targets are numbers.
std::int64_t classes_wanted(const Values& values, TargetKind wanted);

/// The name must exist.
const DataFormat& data_format(const std::string& name);

}  // namespace fedhive::clients
