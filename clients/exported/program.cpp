#include "clients/exported/program.h"

#include "aggregation/base/error.h"
#include "aggregation/memory/shared_segment.h"
#include "clients/exported/json_graph.h"
#include "clients/exported/operations.h"
#include "clients/exported/refusal.h"
#include "clients/exported/roles.h"
#include "clients/exported/signature.h"
#include "clients/exported/unknown_operation.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <set>

namespace fedhive::clients::exported {

namespace {

using Json = nlohmann::json;

constexpr int kSchema = 8;
constexpr std::string_view kInstall = "python3 -m pip install torch==2.11.0, and export it again";
constexpr int kStrided = 7;  // number of the layout in files
constexpr std::int64_t kLargestSize = std::int64_t{1} << 30;
constexpr std::size_t kMostDimensions = 16;
constexpr std::int64_t kMostExpanded = std::int64_t{1} << 24;
constexpr std::uint64_t kMostJson = std::uint64_t{256} << 20;

struct Dtype {
    std::size_t bytes;
    const char* name;
};
/// Value types by PyTorch's number in files.
const std::map<int, Dtype>& dtypes() {
    static const std::map<int, Dtype> table{{1, {1, "U8"}},    {2, {1, "I8"}},   {3, {2, "I16"}}, {4, {4, "I32"}},
                                            {5, {8, "I64"}},   {6, {2, "F16"}},  {7, {4, "F32"}}, {8, {8, "F64"}},
                                            {12, {1, "BOOL"}}, {13, {2, "BF16"}}};
    return table;
}

const Dtype& dtype_of(int number) {
    const auto found = dtypes().find(number);
    if (found == dtypes().end()) refuse(fmt::format("has a tensor of the unknown type {}", number), "net = net.float()");
    return found->second;
}

/// Throws ConfigError for an archive without a model, saying what it probably is.
[[noreturn]] void refuse_other_file(const Archive& archive) {
    const auto has_member = [&](std::string_view text) {
        return std::ranges::any_of(archive.members(),
                                   [&](const auto& one) { return one.first.find(text) != std::string::npos; });
    };
    const std::string what = has_member("/code/")      ? "is TorchScript, which is code"
                             : has_member("/data.pkl") ? "is a pickle of torch.save, which is code"
                                                       : "is not an archive of torch.export.save: it has no models/*.json";
    refuse(what, kExport);
}

class ProgramReader {
public:
    explicit ProgramReader(std::span<const std::byte> bytes) {
        constexpr std::string_view kZip = "PK";
        if (bytes.size() < 2 || std::memcmp(bytes.data(), kZip.data(), 2) != 0)
            refuse(!bytes.empty() && bytes[0] == std::byte{0x80} ? "is a pickle, which is code"
                                                                 : "is not a file of torch.export.save",
                   kExport);
        program_.archive = std::make_shared<const Archive>(bytes);
        find_model();
    }

    Program take(bool frozen_norms) {
        const Json model = json("models/" + model_ + ".json");
        check_version(model);
        const Json& module = model.at("graph_module");
        program_.graph = graph_of(module.at("graph"));
        for (const auto& [name, count] : program_.operations()) {
            const std::string target = name.starts_with("aten.") ? "torch.ops." + name : name;
            if (!is_allowed(target)) refuse_operation(target, module.at("graph"));
        }
        weights_ = json("data/weights/" + model_ + "_weights_config.json").at("config");
        constants_ = json("data/constants/" + model_ + "_constants_config.json").at("config");
        read_inputs(model);
        check_outputs(module.at("signature").at("output_specs"));
        find_roles(program_, frozen_norms);
        return std::move(program_);
    }

private:
    const Archive& archive() const { return *program_.archive; }

    /// Finds the model by its folder: a renamed file keeps its old name inside.
    void find_model() {
        constexpr std::string_view kFolder = "/models/", kEnd = ".json";
        for (const auto& [name, bytes] : archive().members()) {
            const std::size_t at = name.find(kFolder);
            if (at == std::string::npos || !name.ends_with(kEnd)) continue;
            if (!model_.empty()) refuse("has more than one model", kExport);
            top_ = name.substr(0, at + 1);
            model_ = name.substr(at + kFolder.size(), name.size() - at - kFolder.size() - kEnd.size());
        }
        if (model_.empty()) refuse_other_file(archive());
        archive().need_stored();
        if (archive().read(top_ + "archive_format") != "pt2") refuse("is an archive whose format is not pt2", kExport);
        if (archive().read(top_ + "byteorder") != "little") refuse("comes from a big-endian machine", kExport);
    }

    Json json(const std::string& member) const {
        const auto found = archive().members().find(top_ + member);
        if (found != archive().members().end() && found->second > kMostJson)
            refuse(fmt::format("{} has {} bytes; allowed: {}", shown(member), found->second, kMostJson));
        return Json::parse(archive().read(top_ + member));
    }

    void check_version(const Json& model) {
        const Json& version = model.at("schema_version");
        program_.torch_version = model.value("torch_version", "");
        if (version.at("major") != kSchema)
            refuse(fmt::format("has schema version {}.{}, from PyTorch {}; supported: {}.x, which PyTorch 2.11 writes",
                               version.at("major").dump(), version.at("minor").dump(), shown(program_.torch_version), kSchema),
                   kInstall);
        const Json& operators = model.at("opset_version");
        const Json aten = operators.value("aten", Json());
        if (aten != kAtenVersion)
            refuse(fmt::format("has version {} of PyTorch's operators (opset_version), from PyTorch {}; supported: {}, which "
                               "PyTorch 2.11 writes",
                               shown(aten.dump()), shown(program_.torch_version), kAtenVersion),
                   kInstall);
    }

    void read_inputs(const Json& model) {
        const Json& module = model.at("graph_module");
        const std::string input = input_name(module);
        std::vector<std::string> order, inputs;
        for (const Json& spec : module.at("signature").at("input_specs")) {
            const std::string& kind = spec.begin().key();
            if (kind != "user_input") read_tensor(kind, spec.begin().value());
            order.push_back(kind == "user_input" ? input : program_.tensors.back().value);
        }
        for (const Argument& each : program_.graph.inputs) inputs.push_back(each.text);
        if (inputs != order || order.back() != input)
            refuse("is damaged: the graph's inputs differ from its signature", kExport);
        check_names();
        const GraphInput taken = read_input(module.at("graph").at("tensor_values").at(input), model.at("range_constraints"));
        program_.input = taken.sizes;
        program_.takes_tokens = taken.tokens;
        program_.most_batch = taken.most_batch;
    }

    void check_names() const {
        std::set<std::string> names;
        for (const StoredTensor& tensor : program_.tensors)
            if (tensor.name.empty() || !names.insert(tensor.name).second)
                refuse(fmt::format("has two tensors named {}", shown(tensor.name)), kExport);
    }

    void read_tensor(const std::string& kind, const Json& spec) {
        using Stored = StoredTensor::Kind;
        static const std::map<std::string, std::pair<Stored, const char*>> kinds{
            {"parameter", {Stored::Parameter, "parameter_name"}},
            {"buffer", {Stored::Buffer, "buffer_name"}},
            {"tensor_constant", {Stored::Constant, "tensor_constant_name"}}};
        const auto found = kinds.find(kind);
        if (found == kinds.end()) refuse(fmt::format("takes something of kind {}; allowed: tensors", shown(kind)), kExport);
        StoredTensor tensor;
        tensor.kind = found->second.first;
        tensor.value = spec.at("arg").at("name");
        tensor.name = spec.at(found->second.second);
        tensor.persistent = weights_.contains(tensor.name);
        if (!tensor.persistent && !constants_.contains(tensor.name))
            refuse(fmt::format("is damaged: it has no values of {}", shown(tensor.name)), kExport);
        const Json& entry = (tensor.persistent ? weights_ : constants_).at(tensor.name);
        if (entry.at("use_pickle").get<bool>())
            refuse(fmt::format("has {} as a pickle, which is code", shown(tensor.name)), kExport);
        tensor.member = fmt::format("{}data/{}/{}", top_, tensor.persistent ? "weights" : "constants",
                                    entry.at("path_name").get<std::string>());
        const Json& about = entry.at("tensor_meta");
        if (about.at("layout") != kStrided)
            refuse(shown(tensor.name) + " is sparse; expected: a dense tensor", "weight.to_dense()");
        tensor.dtype = about.at("dtype");
        tensor.takes_gradient = tensor.kind == Stored::Parameter && about.at("requires_grad").get<bool>();
        for (const Json& size : about.at("sizes")) tensor.sizes.push_back(size.at("as_int"));
        for (const Json& stride : about.at("strides")) tensor.strides.push_back(stride.at("as_int"));
        tensor.offset = about.at("storage_offset").at("as_int");
        check_extent(tensor);
        program_.tensors.push_back(std::move(tensor));
    }

    /// Checks shape and strides against the stored bytes; every number is bounded before it is multiplied.
    void check_extent(const StoredTensor& tensor) const {
        const auto damaged = [&] {
            refuse(fmt::format("is damaged: the shape of {} does not fit its values", shown(tensor.name)), kExport);
        };
        const auto member = archive().members().find(tensor.member);
        if (member == archive().members().end()) damaged();
        const auto have = static_cast<std::int64_t>(member->second / dtype_of(tensor.dtype).bytes);
        const std::int64_t most = tensor.repeats_itself() ? std::max(have, kMostExpanded) : have;
        if (tensor.sizes.size() != tensor.strides.size() || tensor.sizes.size() > kMostDimensions) damaged();
        if (tensor.offset < 0 || tensor.offset > have) damaged();
        std::int64_t last = tensor.offset, count = 1;
        for (std::size_t i = 0; i < tensor.sizes.size(); ++i) {
            const std::int64_t size = tensor.sizes[i], stride = tensor.strides[i];
            if (size < 0 || stride < 0 || size > kLargestSize || stride > kLargestSize) damaged();
            count *= size;
            last += size > 0 ? (size - 1) * stride : 0;
            if (count > most && tensor.repeats_itself())
                refuse(fmt::format("has {} as an expanded tensor of more than {} values", shown(tensor.name), kMostExpanded),
                       "expand it in forward");
            if (count > most || last > have) damaged();
        }
        if (count > 0 && last >= have) damaged();
    }

    Program program_;
    std::string top_, model_;
    Json weights_, constants_;
};

void count_operations(const Graph& graph, std::map<std::string, std::size_t>& counts) {
    constexpr std::string_view kLong = "torch.ops.aten.";
    for (const Node& node : graph.nodes) {
        ++counts[node.target.starts_with(kLong) ? node.target.substr(kLong.size() - 5) : node.target];
        for (const NamedArgument& input : node.inputs)
            if (input.value.graph) count_operations(*input.value.graph, counts);
    }
}

}  // namespace

std::size_t bytes_of_dtype(int dtype) { return dtype_of(dtype).bytes; }
std::string name_of_dtype(int dtype) { return dtype_of(dtype).name; }

bool StoredTensor::repeats_itself() const {
    for (std::size_t d = 0; d < sizes.size(); ++d)
        if (sizes[d] > 1 && strides[d] == 0) return true;
    return false;
}

std::size_t StoredTensor::num_values() const {
    std::size_t count = 1;
    for (const std::int64_t size : sizes) count *= static_cast<std::size_t>(size);
    return count;
}

std::string Program::values_of(const StoredTensor& tensor) const {
    const std::string storage = archive->read(tensor.member);
    const std::size_t each = bytes_of_dtype(tensor.dtype), count = tensor.num_values(), rank = tensor.sizes.size();
    bool row_major = true;
    std::int64_t step = 1;
    for (std::size_t d = rank; d-- > 0; step *= tensor.sizes[d])
        row_major = row_major && (tensor.sizes[d] == 1 || tensor.strides[d] == step);
    if (row_major) return storage.substr(static_cast<std::size_t>(tensor.offset) * each, count * each);
    std::string values(count * each, '\0');
    std::vector<std::int64_t> index(rank, 0);
    for (std::size_t i = 0; i < count; ++i) {
        std::int64_t at = tensor.offset;
        for (std::size_t d = 0; d < rank; ++d) at += index[d] * tensor.strides[d];
        std::memcpy(values.data() + i * each, storage.data() + static_cast<std::size_t>(at) * each, each);
        for (std::size_t d = rank; d-- > 0 && ++index[d] == tensor.sizes[d];) index[d] = 0;
    }
    return values;
}

std::map<std::string, std::size_t> Program::operations() const {
    std::map<std::string, std::size_t> counts;
    count_operations(graph, counts);
    return counts;
}

bool Program::has_moved() const {
    return std::ranges::any_of(tensors, [](const StoredTensor& tensor) { return tensor.role == Role::Moved; });
}

Program read_program(std::span<const std::byte> bytes, bool frozen_norms) {
    try {
        return ProgramReader(bytes).take(frozen_norms);
    } catch (const nlohmann::json::exception& error) {
        refuse(fmt::format("is damaged or of another version: {}", error.what()), kExport);
    }
}

Program read_program(const ModelFileHandle& file) {
    // Keeps the segment mapped while the archive reads from it.
    struct Mapped {
        explicit Mapped(const ModelFileHandle& handle)
            : view(handle.descriptor, handle.bytes, aggregation::SegmentAccess::ReadOnly) {}
        aggregation::SharedSegmentView view;
        std::shared_ptr<const Archive> archive;
    };
    const auto mapped = std::make_shared<Mapped>(file);
    Program program = read_program(std::span<const std::byte>(mapped->view.data(), file.bytes), file.frozen_norms);
    mapped->archive = program.archive;
    program.archive = {mapped, mapped->archive.get()};
    return program;
}

bool takes(const Program& program, const ExampleShape& example) {
    const auto without_ones = [](std::vector<std::int64_t> sizes) {
        std::erase(sizes, 1);
        return sizes;
    };
    const bool in_a_row = program.input == std::vector{static_cast<std::int64_t>(example.num_values())};
    return in_a_row || without_ones(program.input) == without_ones({example.channels, example.height, example.width});
}

aggregation::Layout layout_of(const Program& program, std::initializer_list<Role> roles) {
    using aggregation::TensorKind;
    aggregation::Layout layout;
    for (const TensorKind kind : {TensorKind::Parameter, TensorKind::Buffer})
        for (std::size_t i = 0; i < program.tensors.size(); ++i) {
            const StoredTensor& tensor = program.tensors[i];
            const bool wanted = std::ranges::find(roles, tensor.role) != roles.end() && tensor.same_as == i;
            if (wanted && (tensor.role == Role::Moved) == (kind == TensorKind::Buffer))
                layout.add(tensor.name, tensor.sizes, kind);
        }
    return layout;
}

void store_values(const Program& program, const aggregation::Layout& layout, aggregation::ParamSpan to) {
    FEDHIVE_CHECK_EQ(to.size, layout.num_floats());
    for (const aggregation::LayoutEntry& entry : layout.entries()) {
        const auto tensor = std::ranges::find(program.tensors, entry.name, &StoredTensor::name);
        FEDHIVE_CHECK(tensor != program.tensors.end(), "the graph has no tensor '{}'", entry.name);
        const std::string values = program.values_of(*tensor);
        FEDHIVE_CHECK_EQ(values.size(), entry.size * sizeof(float));
        std::memcpy(to.data + entry.offset, values.data(), values.size());
    }
}

std::vector<std::string> modules_of(const Program& program) {
    std::vector<std::string> modules;
    for (const StoredTensor& tensor : program.tensors) {
        if (tensor.role != Role::Trained && tensor.role != Role::Frozen) continue;
        const std::string module = tensor.name.substr(0, tensor.name.rfind('.'));
        if (std::ranges::find(modules, module) == modules.end()) modules.push_back(module);
    }
    return modules;
}

std::vector<OtherTensor> other_tensors(const Program& program) {
    std::vector<OtherTensor> others;
    for (std::size_t i = 0; i < program.tensors.size(); ++i) {
        const StoredTensor& tensor = program.tensors[i];
        const bool laid_out = tensor.role != Role::Counter && tensor.role != Role::Constant;
        if (!tensor.persistent || (laid_out && tensor.same_as == i)) continue;
        OtherTensor other{tensor.name, name_of_dtype(tensor.dtype), tensor.sizes, "", ""};
        if (laid_out)
            other.same_as = program.tensors[tensor.same_as].name;
        else
            other.values = program.values_of(tensor);
        others.push_back(std::move(other));
    }
    return others;
}

}  // namespace fedhive::clients::exported
