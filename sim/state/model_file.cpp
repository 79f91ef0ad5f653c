#include "sim/state/model_file.h"

#include "aggregation/base/error.h"
#include "aggregation/base/input_file.h"
#include "aggregation/base/sha256.h"
#include "sim/state/state_file.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace fedhive::sim {

using aggregation::ConstParamSpan;
using aggregation::Layout;
using aggregation::LayoutEntry;

namespace {

/// The entry as a tensor of a file, with its data in `model`; without data if `model` is null.
Tensor tensor_of(const LayoutEntry& entry, const float* model) {
    Tensor tensor{entry.name, "F32", {entry.shape.begin(), entry.shape.end()}, {}};
    if (model != nullptr) tensor.data = {reinterpret_cast<const char*>(model + entry.offset), entry.size * sizeof(float)};
    return tensor;
}

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& problem) {
    throw ConfigError(fmt::format("{}: {}", file.string(), problem));
}

/// "'a', 'b' and 7 more"
std::string listed(const std::vector<std::string>& names) {
    constexpr std::size_t kMostNames = 5;
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), kMostNames); ++i)
        text += fmt::format("{}'{}'", i == 0 ? "" : ", ", shown(names[i]));
    return names.size() > kMostNames ? fmt::format("{} and {} more", text, names.size() - kMostNames) : text;
}

StateFile read_model_file(const std::filesystem::path& file) {
    try {
        return read_state(file);
    } catch (const FileError& error) {
        if (error.problem == FileProblem::Missing) refuse(file, error.reason + "; only a finished run has a model");
        throw;
    }
}

/// True for PyTorch's counter of batches in a batch norm, which nothing here uses.
bool counts_batches(const Tensor& tensor, const Layout& layout) {
    constexpr std::string_view kCounter = ".num_batches_tracked";
    if (!tensor.name.ends_with(kCounter)) return false;
    const std::string statistics = tensor.name.substr(0, tensor.name.size() - kCounter.size()) + ".running_mean";
    return std::ranges::any_of(layout.entries(), [&](const LayoutEntry& entry) { return entry.name == statistics; });
}

/// A tensor outside the layout; if it is a second name of one in the layout, with that one's values.
Tensor tensor_of(const clients::exported::OtherTensor& other, std::initializer_list<LaidOut> parts) {
    Tensor tensor{other.name, other.dtype, {other.sizes.begin(), other.sizes.end()}, other.values};
    for (const LaidOut& part : parts)
        for (const LayoutEntry& entry : part.layout.entries())
            if (entry.name == other.same_as) tensor.data = tensor_of(entry, part.values.data).data;
    return tensor;
}

/// Checks that the file's names are the layout's, in any order, apart from PyTorch's counters and a graph's other tensors.
void check_names(const std::filesystem::path& file, const StateFile& state, const Layout& layout, const OtherTensors& others,
                 const Spare& spare) {
    std::set<std::string> wanted;
    for (const LayoutEntry& entry : layout.entries()) wanted.insert(entry.name);
    std::vector<std::string> missing, extra;
    const auto is_other = [&](const std::string& name) {
        return std::ranges::find(others, name, &clients::exported::OtherTensor::name) != others.end();
    };
    for (const Tensor& tensor : state.tensors)
        if (wanted.erase(tensor.name) == 0 && !counts_batches(tensor, layout) && !is_other(tensor.name))
            extra.push_back(tensor.name);
    for (const LayoutEntry& entry : layout.entries())
        if (wanted.contains(entry.name) && !spare.names.contains(entry.name)) missing.push_back(entry.name);
    if (!missing.empty())
        refuse(file,
               fmt::format("has no tensor {}, which the model needs{}", listed(missing),
                           extra.empty() ? "" : fmt::format("; it has {}, which the model does not have", listed(extra))));
    if (!extra.empty()) refuse(file, fmt::format("has the tensor {}, which the model does not have", listed(extra)));
}

}  // namespace

void write_model(const std::filesystem::path& file, std::initializer_list<LaidOut> parts,
                 const std::map<std::string, std::string>& metadata, const OtherTensors& others) {
    std::vector<Tensor> tensors;
    for (const LaidOut& part : parts) {
        FEDHIVE_CHECK_EQ(part.values.size, part.layout.num_floats());
        for (const LayoutEntry& entry : part.layout.entries()) tensors.push_back(tensor_of(entry, part.values.data));
    }
    for (const auto& other : others) tensors.push_back(tensor_of(other, parts));
    write_file(file, encode_state(tensors, metadata));
}

std::vector<float> read_model(const std::filesystem::path& file, const Layout& layout, const OtherTensors& others,
                              const Spare& spare) {
    const StateFile state = read_model_file(file);
    check_names(file, state, layout, others, spare);
    std::vector<float> model = spare.names.empty() ? std::vector<float>(layout.num_floats()) : spare.model;
    for (const LayoutEntry& entry : layout.entries()) {
        const Tensor wanted = tensor_of(entry, nullptr);
        const Tensor* found = state.find(entry.name);
        if (found == nullptr) continue;  // a spare one
        const Tensor& tensor = *found;
        if (tensor.dtype != wanted.dtype || tensor.shape != wanted.shape)
            refuse(file, fmt::format("tensor '{}' is {}, but the model needs {}", shown(tensor.name),
                                     type_and_shape(tensor.dtype, tensor.shape), type_and_shape(wanted.dtype, wanted.shape)));
        std::memcpy(model.data() + entry.offset, tensor.data.data(), tensor.data.size());
    }
    return model;
}

std::string model_sha256(const Layout& layout, ConstParamSpan model) {
    Sha256 hash;
    for (const LayoutEntry& entry : layout.entries()) hash.update(model.data + entry.offset, entry.size * sizeof(float));
    return hash.hex_digest();
}

}  // namespace fedhive::sim
