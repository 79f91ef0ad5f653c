// A file of torch.export.save, read as data and checked without LibTorch: its graph, its tensors and their roles. Nothing is
// unpickled and nothing is run; all operations must be in a list (operations.h).
//
//   net.pt2   zip, stored    TOP/models/NAME.json                             graph and signature, schema 8
//                            TOP/data/weights/NAME_weights_config.json        parameters and buffers: members, shapes, strides
//                            TOP/data/constants/NAME_constants_config.json    buffers not in state_dict, tensors of forward
//                            TOP/data/weights/weight_0 …                      their bytes
//                            TOP/data/sample_inputs/NAME.pt                   a pickle, never read
//
// Source   torch/_export/serde/schema.py and torch/export/pt2_archive of PyTorch 2.11.
#pragma once

#include "aggregation/memory/layout.h"
#include "aggregation/memory/param_span.h"
#include "clients/data/dataset.h"
#include "clients/exported/archive.h"
#include "clients/exported/graph.h"
#include "clients/exported/shared_model_file.h"

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace fedhive::clients::exported {

constexpr int kFloat = 7, kInteger = 5;  // dtypes, by PyTorch's numbers in files

/// A tensor's role in training.
enum class Role : std::uint8_t {
    Trained,  // a parameter with gradient
    Frozen,   // a parameter without gradient: not trained, and does not travel
    Moved,    // a floating-point buffer that the graph writes, such as running statistics: part of the model and of its update
    Counter,  // an integer buffer that the graph writes: keeps the file's value, since writes to it are left out
    Constant  // any other buffer, a parameter that is not f32, or a tensor made in forward
};

struct StoredTensor {
    enum class Kind : std::uint8_t { Parameter, Buffer, Constant };
    Kind kind = Kind::Constant;
    std::string value;       // the tensor's name in the graph
    std::string name;        // its name in the module
    std::string member;      // archive member with its storage
    bool persistent = true;  // part of a state_dict
    bool takes_gradient = false;
    int dtype = 0;  // PyTorch's number in files
    std::vector<std::int64_t> sizes, strides;
    std::int64_t offset = 0;  // in values
    Role role = Role::Constant;
    std::size_t same_as = 0;  // its own index, or that of an earlier tensor whose storage it shares (tied weights)

    std::size_t num_values() const;
    bool repeats_itself() const;  // expanded (stride 0): fewer stored values than num_values()
};

struct Program {
    std::string torch_version;
    Graph graph;                        // its last input is the examples
    std::vector<StoredTensor> tensors;  // the graph's other inputs, in order
    std::vector<std::int64_t> input;    // shape of one example
    bool takes_tokens = false;          // I64, not F32
    std::int64_t most_batch = std::numeric_limits<std::int64_t>::max();
    std::shared_ptr<const Archive> archive;

    /// The tensor's values, row major.
    std::string values_of(const StoredTensor& tensor) const;

    /// Number of uses of each operation: "aten.conv2d.default" -> 2.
    std::map<std::string, std::size_t> operations() const;

    bool has_moved() const;
};

/// Reads a file's bytes, which must outlive the program. Throws ConfigError, without the file's name, with the problem and the
/// line of Python that mends it. Refuses: files not from torch.export (with how to export), other versions of the schema,
/// pickled or compressed parts, sizes beyond the file's contents, operations that are not in the list, a fixed batch, an export
/// in evaluation mode, several inputs or outputs, writes to the input or to a parameter, parameters that are not f32.
///
/// frozen_norms: at least one batch norm or instance norm is in evaluation mode on purpose; such norms use the file's
/// statistics, which stay as they are.
Program read_program(std::span<const std::byte> bytes, bool frozen_norms = false);

/// read_program() of a segment that this process owns or has inherited; keeps the segment mapped.
Program read_program(const ModelFileHandle& file);

/// Whether the program takes examples of that shape: with the same sizes, apart from sizes of 1, or flattened.
bool takes(const Program& program, const ExampleShape& example);

/// The layout of the tensors with these roles, by the module's names: parameters, then buffers, each in the program's order. Of
/// tied tensors only the first.
aggregation::Layout layout_of(const Program& program, std::initializer_list<Role> roles);

/// Writes the file's values of the layout's tensors into a host span of layout.num_floats().
void store_values(const Program& program, const aggregation::Layout& layout, aggregation::ParamSpan to);

/// Modules with parameters, in the file's order: "conv1", "blocks.0.conv".
std::vector<std::string> modules_of(const Program& program);

/// A tensor of the module's state_dict that is not in the layout: a constant or counter, or one tied to another tensor.
struct OtherTensor {
    std::string name;
    std::string dtype;  // safetensors' name
    std::vector<std::int64_t> sizes;
    std::string same_as;  // the parameter or moved buffer whose values it shares; empty: its values are `values`
    std::string values;   // row major
};
std::vector<OtherTensor> other_tensors(const Program& program);

/// Bytes of a value of that dtype, and the dtype's name in safetensors. Throw ConfigError for an unknown dtype.
std::size_t bytes_of_dtype(int dtype);
std::string name_of_dtype(int dtype);

}  // namespace fedhive::clients::exported
