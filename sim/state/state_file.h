// State as a safetensors file: 8 bytes of header length, a JSON header, raw little-endian data; other tools read it with
// `safetensors.numpy.load_file`. Does not know what the tensors mean: model_file.h and other writers of state do.
// Source: the format section of the README of https://github.com/huggingface/safetensors.
#pragma once

#include "aggregation/base/input_file.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fedhive::sim {

/// A tensor with a view of its bytes, which another object owns. The bytes may be unaligned: copy numbers out.
struct Tensor {
    std::string name;                  // UTF-8; not "__metadata__"
    std::string dtype;                 // as safetensors names it: F32, F64, I64, U64, U8, …
    std::vector<std::uint64_t> shape;  // row major; empty: a single value
    std::string_view data;
};

/// The position of a tensor in a file.
struct TensorPlace {
    std::string name;
    std::string dtype;
    std::vector<std::uint64_t> shape;
    std::uint64_t begin = 0;  // bytes from the beginning of the file
    std::uint64_t bytes = 0;
};

/// The content of a file. Moving or copying it keeps the tensors' views valid.
struct StateFile {
    std::shared_ptr<const std::string> content;   // the whole file, which includes the tensors' data
    std::map<std::string, std::string> metadata;  // the entry "__metadata__"; empty if missing
    std::vector<Tensor> tensors;                  // in the order of their data

    /// The tensor of that name, or nullptr. Linear search.
    const Tensor* find(std::string_view name) const;
};

/// The bytes of a file in pieces: views of the tensors' data.
struct StatePieces {
    std::string head;                    // the header's length and the header
    std::vector<std::string_view> data;  // one view per tensor

    std::string whole() const;
};

/// A file with these tensors, in this order, data starting at a multiple of 8 bytes. Throws Fault for anything that
/// decode_state would refuse: a repeated name, data whose length does not fit dtype and shape, text that is not UTF-8.
StatePieces state_pieces(std::span<const Tensor> tensors, const std::map<std::string, std::string>& metadata);

/// The same, copied into one piece.
std::string encode_state(std::span<const Tensor> tensors, const std::map<std::string, std::string>& metadata);

/// Reads the format of encode_state and other writers of safetensors, as strictly as the safetensors package: the tensors'
/// ranges cover the data without gap, overlap or rest, and each length fits dtype and shape. Keeps tensors of unknown dtype, so
/// that they can be written again, if every element has the same whole number of bits.
///
/// Throws   ConfigError that begins with "<what>: "; `what` is the file's path.
/// Memory   `content` itself and a small multiple of its header's length, whatever the header claims.
StateFile decode_state(std::string content, const std::string& what);

/// decode_state of a file. Also throws ConfigError if it is missing, unreadable or not a regular file.
StateFile read_state(const std::filesystem::path& file);

/// An open file with only its header in memory; the rest is read on demand. Renaming or removing the file does no harm.
class OpenState {
public:
    /// Reads the header, as strictly as decode_state. Throws ConfigError that begins with the path, for everything that
    /// read_state refuses, too.
    explicit OpenState(const std::filesystem::path& file);

    const std::map<std::string, std::string>& metadata() const { return metadata_; }
    const std::vector<TensorPlace>& tensors() const { return tensors_; }  // in the order of their data

    /// The tensor of that name, or nullptr. Linear search.
    const TensorPlace* find(std::string_view name) const;

    /// The header's length and the header.
    const std::string& head() const { return head_; }

    /// Reads the tensor's bytes into `to`. Throws ConfigError with the path if the file ends early or cannot be read.
    void read(const TensorPlace& tensor, std::span<std::byte> to) const;

    /// Passes everything after the head to `take`, in order, in parts of at most 1 MiB. Throws as read().
    void read_data(const std::function<void(std::string_view part)>& take) const;

private:
    std::shared_ptr<InputFile> file_;
    std::string head_;
    std::map<std::string, std::string> metadata_;
    std::vector<TensorPlace> tensors_;
};

/// For messages: "F32 [10,20]"; and a text from the file, shortened and without control characters.
std::string type_and_shape(const std::string& dtype, const std::vector<std::uint64_t>& shape);
std::string shown(std::string_view text);

}  // namespace fedhive::sim
