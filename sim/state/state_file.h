// State as a safetensors file: 8 bytes of header length, a JSON header, raw little-endian data; other tools read it with
// `safetensors.numpy.load_file`. What the tensors mean is not known here: model_file.h and whoever else writes state know it.
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

/// A tensor, with a view of its bytes that somebody else keeps. The bytes need not be aligned to their type: copy numbers out.
struct Tensor {
    std::string name;                  // UTF-8; not "__metadata__"
    std::string dtype;                 // as safetensors names it: F32, F64, I64, U64, U8, …
    std::vector<std::uint64_t> shape;  // row major; empty: a single value
    std::string_view data;
};

/// Where a file has a tensor.
struct TensorPlace {
    std::string name;
    std::string dtype;
    std::vector<std::uint64_t> shape;
    std::uint64_t begin = 0;  // bytes from the beginning of the file
    std::uint64_t bytes = 0;
};

/// What a file holds. Moving or copying it keeps the tensors' views valid.
struct StateFile {
    std::shared_ptr<const std::string> content;   // the whole file; the tensors' data lie in it
    std::map<std::string, std::string> metadata;  // the entry "__metadata__"; empty where there is none
    std::vector<Tensor> tensors;                  // in the order of their data

    /// The tensor of that name, or nullptr. Looks at one after the other.
    const Tensor* find(std::string_view name) const;
};

/// The bytes of a file in pieces, the tensors' data where they lie.
struct StatePieces {
    std::string head;                    // the header and, before it, its length
    std::vector<std::string_view> data;  // of one tensor after the other

    std::string whole() const;
};

/// A file with these tensors, data in the order given, the first at a multiple of 8 bytes. Throws Fault for what decode_state would
/// refuse: a name given twice, data whose length does not fit dtype and shape, text that is not UTF-8.
StatePieces state_pieces(std::span<const Tensor> tensors, const std::map<std::string, std::string>& metadata);

/// The same, copied into one piece.
std::string encode_state(std::span<const Tensor> tensors, const std::map<std::string, std::string>& metadata);

/// Reads what encode_state or another writer of safetensors made, as strictly as the safetensors package: the tensors' ranges cover
/// the data without hole, overlap or rest, and each is as long as its dtype and shape say. A dtype that is not known is kept, so that
/// the tensor can be written again, as long as every element has the same whole number of bits.
///
/// Throws   ConfigError that begins with "<what>: "; `what` is the file's path.
/// Memory   `content` itself and a small multiple of its header's length, whatever the header claims.
StateFile decode_state(std::string content, const std::string& what);

/// decode_state of a file. Throws ConfigError too where it is missing, cannot be read or is not a regular file.
StateFile read_state(const std::filesystem::path& file);

/// A file of which only the header is in memory; the rest is read where it is asked for. It is kept open: whoever renames or removes it does no harm.
class OpenState {
public:
    /// The header, as strictly as by decode_state. Throws ConfigError that begins with the path, for what read_state refuses, too.
    explicit OpenState(const std::filesystem::path& file);

    const std::map<std::string, std::string>& metadata() const { return metadata_; }
    const std::vector<TensorPlace>& tensors() const { return tensors_; }  // in the order of their data

    /// The tensor of that name, or nullptr. Looks at one after the other.
    const TensorPlace* find(std::string_view name) const;

    /// The header and, before it, its length.
    const std::string& head() const { return head_; }

    /// What the tensor holds: `to` has its bytes. Throws ConfigError with the path where the file breaks off or cannot be read.
    void read(const TensorPlace& tensor, std::span<std::byte> to) const;

    /// All behind the head, in parts of 1 MiB at most, in order. Throws as read().
    void read_data(const std::function<void(std::string_view part)>& take) const;

private:
    std::shared_ptr<InputFile> file_;
    std::string head_;
    std::map<std::string, std::string> metadata_;
    std::vector<TensorPlace> tensors_;
};

/// For messages: "F32 [10,20]", and a name or another text of the file, cut and without control characters.
std::string type_and_shape(const std::string& dtype, const std::vector<std::uint64_t>& shape);
std::string shown(std::string_view text);

}  // namespace fedhive::sim
