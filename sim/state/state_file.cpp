#include "sim/state/state_file.h"

#include "aggregation/base/error.h"
#include "aggregation/base/without_controls.h"
#include "aggregation/memory/shared_segment.h"
#include "sim/state/state_header.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

namespace fedhive::sim {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

namespace {

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the safetensors package's own limit
constexpr std::size_t kMaxShown = 100;                  // characters of a name in a message
constexpr std::size_t kPart = std::size_t{1} << 20;     // bytes read in one go
constexpr std::size_t kBeginning = 16;                  // enough to recognise a file's kind

/// Bits of one element; empty for an unknown dtype.
std::optional<std::uint64_t> bits_of(std::string_view dtype) {
    struct Known {
        std::string_view dtype;
        std::uint64_t bits;
    };
    static constexpr auto kKnown = std::to_array<Known>({
        {"F32", 32},    {"F64", 64},    {"F16", 16},        {"BF16", 16},       {"C64", 64},    {"I8", 8},
        {"I16", 16},    {"I32", 32},    {"I64", 64},        {"U8", 8},          {"U16", 16},    {"U32", 32},
        {"U64", 64},    {"BOOL", 8},    {"F4", 4},          {"F6_E2M3", 6},     {"F6_E3M2", 6}, {"F8_E4M3", 8},
        {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8},
    });
    const auto* const found =
        std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& known) { return known.dtype == dtype; });
    if (found == kKnown.end()) return std::nullopt;
    return found->bits;
}

/// Why `bytes` bytes cannot be the data of a tensor of that dtype and shape; empty if they can.
template <typename AnyTensor>
std::string problem_of(const AnyTensor& tensor, std::uint64_t bytes) {
    const auto is = [&] {
        return fmt::format("tensor '{}' is {}", shown(tensor.name), type_and_shape(tensor.dtype, tensor.shape));
    };
    std::uint64_t elements = 1;
    for (const std::uint64_t dimension : tensor.shape)
        if (__builtin_mul_overflow(elements, dimension, &elements)) return is() + ", more elements than can be counted";
    const std::optional<std::uint64_t> bits = bits_of(tensor.dtype);
    std::uint64_t wanted_bits = 0;
    bool fits = false;
    if (bits)
        fits = !__builtin_mul_overflow(elements, *bits, &wanted_bits) && wanted_bits % 8 == 0 && wanted_bits / 8 == bytes;
    else
        fits = elements == 0 ? bytes == 0 : bytes > 0 && bytes * 8 % elements == 0;
    return fits ? "" : fmt::format("{}, which does not match its {} bytes", is(), bytes);
}

/// A repeated name, or nullptr.
template <typename Tensors>
const std::string* name_given_twice(const Tensors& tensors) {
    std::vector<const std::string*> names;
    names.reserve(tensors.size());
    for (const auto& tensor : tensors) names.push_back(&tensor.name);
    std::sort(names.begin(), names.end(), [](const auto* left, const auto* right) { return *left < *right; });
    const auto twice =
        std::adjacent_find(names.begin(), names.end(), [](const auto* left, const auto* right) { return *left == *right; });
    return twice == names.end() ? nullptr : *twice;
}

[[noreturn]] void refuse(const std::string& what, const std::string& problem) {
    throw ConfigError(fmt::format("{}: not a safetensors file: {}", what, problem));
}

[[noreturn]] void refuse_rest(const std::string& what, std::uint64_t bytes) {
    refuse(what, fmt::format("{} bytes follow its last tensor", bytes));
}

/// Reads until `content` has `size` bytes, or the file ends.
void read_more(InputFile& input, std::string& content, std::uint64_t size) {
    const std::size_t before = content.size();
    if (size <= before) return;
    content.resize(size);
    content.resize(before + input.read(std::span(content).subspan(before)));
}

/// Fills `to`. Throws if the file ends early, having shrunk since it was opened.
void read_all(InputFile& input, std::span<char> to) {
    if (input.read(to) < to.size())
        throw FileError(input.path(), FileProblem::Broken, "ends early: it was longer when it was opened");
}

/// If the file is of another known kind: its kind and how to convert it; else `problem`.
std::string or_other_kind(const std::string& problem, std::string_view content) {
    const bool pickle = content.size() > 1 && content[0] == '\x80' && content[1] >= '\x02' && content[1] <= '\x05';
    const char* kind = content.starts_with("PK\x03\x04")    ? "a zip file, as torch.save writes"
                       : pickle                             ? "a Python pickle, as torch.save wrote before PyTorch 1.6"
                       : content.starts_with("\x89HDF\r\n") ? "an HDF5 file"
                       : content.starts_with("\x93NUMPY")   ? "a NumPy file"
                                                            : nullptr;
    if (kind == nullptr) return problem;
    return fmt::format(
        "it is {}; to convert a state_dict of PyTorch: python3 -c \"import torch, safetensors.torch as s; "
        "s.save_file(torch.load('FILE.pt', weights_only=True), 'FILE.safetensors')\"",
        kind);
}

/// The header's length in a file of `size` bytes that begins with `content`. Allocates nothing before it is checked.
std::uint64_t check_beginning(std::string_view content, std::uint64_t size, const std::string& what) {
    std::uint64_t length = 0;
    const auto refuse_it = [&](const std::string& problem) { refuse(what, or_other_kind(problem, content)); };
    if (content.size() < sizeof length) refuse_it("shorter than 8 bytes");
    std::memcpy(&length, content.data(), sizeof length);
    if (length > kMaxHeaderBytes)
        refuse_it(fmt::format("its header claims {} bytes; allowed: at most {}", length, kMaxHeaderBytes));
    if (length > size - sizeof length) refuse_it(fmt::format("its header claims {} bytes, but the file has {}", length, size));
    if (length == 0 || content.size() <= sizeof length || content[sizeof length] != '{')
        refuse_it("its header is not a JSON object");
    return length;
}

/// The header's text in a file of `size` bytes; `content` includes at least the header.
std::string_view header_text(std::string_view content, std::uint64_t size, const std::string& what) {
    const std::string_view text = content.substr(sizeof(std::uint64_t), check_beginning(content, size, what));
    // nlohmann would take a zero byte as the end of the text.
    if (text.find('\0') != std::string_view::npos) refuse(what, "its header is not valid JSON: it has a zero byte");
    return text;
}

/// The tensors in the order of their ranges, which must cover the `data_bytes` bytes from `first` on without gap or overlap.
std::vector<TensorPlace> place_tensors(std::vector<HeaderTensor> entries, std::uint64_t first, std::uint64_t data_bytes,
                                       const std::string& what) {
    std::sort(entries.begin(), entries.end(), [](const HeaderTensor& left, const HeaderTensor& right) {
        return std::pair(left.begin, left.end) < std::pair(right.begin, right.end);
    });
    std::vector<TensorPlace> tensors;
    tensors.reserve(entries.size());
    std::uint64_t end = 0;  // of the previous tensor
    for (HeaderTensor& entry : entries) {
        const auto refuse_range = [&](const std::string& problem) {
            refuse(what,
                   fmt::format("tensor '{}': its data_offsets {},{} {}", shown(entry.name), entry.begin, entry.end, problem));
        };
        if (entry.begin > entry.end) refuse_range("run backwards");
        if (entry.end > data_bytes) refuse_range(fmt::format("exceed the file, which has {} bytes of data", data_bytes));
        if (entry.begin < end) refuse_range("overlap those of another tensor");
        if (entry.begin > end) refuse_range(fmt::format("leave a gap after byte {}", end));
        end = entry.end;
        tensors.push_back({std::move(entry.name), std::move(entry.dtype), std::move(entry.shape), first + entry.begin,
                           entry.end - entry.begin});
        if (const std::string problem = problem_of(tensors.back(), tensors.back().bytes); !problem.empty())
            refuse(what, problem);
    }
    if (end != data_bytes) refuse_rest(what, data_bytes - end);
    if (const std::string* twice = name_given_twice(tensors); twice != nullptr)
        refuse(what, fmt::format("two tensors have the name '{}'", shown(*twice)));
    return tensors;
}

/// Reads a file up to the end of its header; allocates no more than its `size` allows.
std::string read_head(InputFile& input, const std::string& what) {
    std::string head(kBeginning, '\0');
    head.resize(input.read(head));
    const std::uint64_t length = check_beginning(head, input.size(), what);
    read_more(input, head, sizeof length + length);
    return head;
}

/// The text as JSON. Throws Fault if it is not UTF-8.
std::string quoted(const std::string& text) {
    try {
        return nlohmann::json(text).dump();
    } catch (const nlohmann::json::type_error&) {
        throw Fault(fmt::format("'{}' is not UTF-8, so a safetensors file cannot contain it", shown(text)));
    }
}

/// The header, padded with spaces so that the data after it are aligned.
std::string header_of(std::span<const Tensor> tensors, const std::map<std::string, std::string>& metadata) {
    std::vector<std::string> parts;
    parts.reserve(metadata.size());
    for (const auto& [key, value] : metadata) parts.push_back(quoted(key) + ":" + quoted(value));
    std::string text = "{";
    if (!metadata.empty()) text += fmt::format("\"{}\":{{{}}},", kMetadata, fmt::join(parts, ","));
    std::uint64_t offset = 0;
    for (const Tensor& tensor : tensors) {
        const std::uint64_t end = offset + tensor.data.size();
        text += fmt::format(R"({}:{{"dtype":{},"shape":[{}],"data_offsets":[{},{}]}},)", quoted(tensor.name),
                            quoted(tensor.dtype), fmt::join(tensor.shape, ","), offset, end);
        offset = end;
    }
    if (text.ends_with(',')) text.pop_back();
    text += '}';
    text.resize((text.size() + 7) / 8 * 8, ' ');
    return text;
}

template <typename AnyTensor>
const AnyTensor* named(const std::vector<AnyTensor>& tensors, std::string_view name) {
    const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const auto& tensor) { return tensor.name == name; });
    return found == tensors.end() ? nullptr : &*found;
}

}  // namespace

const Tensor* StateFile::find(std::string_view name) const { return named(tensors, name); }

std::string StatePieces::whole() const {
    std::size_t size = head.size();
    for (const std::string_view piece : data) size += piece.size();
    std::string content;
    content.reserve(size);
    content += head;
    for (const std::string_view piece : data) content += piece;
    return content;
}

StatePieces state_pieces(std::span<const Tensor> tensors, const std::map<std::string, std::string>& metadata) {
    const std::string* twice = name_given_twice(tensors);
    FEDHIVE_CHECK(twice == nullptr, "two tensors have the name '{}'", shown(*twice));
    StatePieces pieces;
    for (const Tensor& tensor : tensors) {
        const std::string problem = problem_of(tensor, tensor.data.size());
        FEDHIVE_CHECK(problem.empty() && tensor.name != kMetadata, "{} {}", shown(tensor.name), problem);
        pieces.data.push_back(tensor.data);
    }
    const std::string header = header_of(tensors, metadata);
    const std::uint64_t length = header.size();
    FEDHIVE_CHECK(length <= kMaxHeaderBytes, "a header of {} bytes", length);
    pieces.head.assign(reinterpret_cast<const char*>(&length), sizeof length);
    pieces.head += header;
    return pieces;
}

std::string encode_state(std::span<const Tensor> tensors, const std::map<std::string, std::string>& metadata) {
    return state_pieces(tensors, metadata).whole();
}

StateFile decode_state(std::string content, const std::string& what) {
    StateFile state;
    state.content = std::make_shared<const std::string>(std::move(content));
    const std::string_view whole = *state.content, text = header_text(whole, whole.size(), what);
    StateHeader header = parse_state_header(text, what);
    const std::uint64_t first = sizeof(std::uint64_t) + text.size();
    state.metadata = std::move(header.metadata);
    for (TensorPlace& place : place_tensors(std::move(header.tensors), first, whole.size() - first, what))
        state.tensors.push_back(
            {std::move(place.name), std::move(place.dtype), std::move(place.shape), whole.substr(place.begin, place.bytes)});
    return state;
}

StateFile read_state(const std::filesystem::path& file) {
    const std::string what = file.string();
    InputFile input(file);
    std::string content = read_head(input, what);
    // Check before reading it all: a file of another kind, or a sparse one, may have any size.
    if (content.size() < input.size()) {
        std::uint64_t end = 0;
        for (const HeaderTensor& tensor : parse_state_header(header_text(content, input.size(), what), what).tensors)
            end = std::max(end, tensor.end);
        if (const std::uint64_t data = input.size() - content.size(); end < data) refuse_rest(what, data - end);
    }
    input.read_rest(content, aggregation::available_memory_bytes());
    return decode_state(std::move(content), what);
}

OpenState::OpenState(const std::filesystem::path& file) : file_(std::make_shared<InputFile>(file)) {
    const std::string what = file.string();
    head_ = read_head(*file_, what);
    const std::string_view text = header_text(head_, file_->size(), what);
    StateHeader header = parse_state_header(text, what);
    head_.resize(sizeof(std::uint64_t) + text.size());  // a short header was read with data after it
    metadata_ = std::move(header.metadata);
    tensors_ = place_tensors(std::move(header.tensors), head_.size(), file_->size() - head_.size(), what);
}

const TensorPlace* OpenState::find(std::string_view name) const { return named(tensors_, name); }

void OpenState::read(const TensorPlace& tensor, std::span<std::byte> to) const {
    FEDHIVE_CHECK_EQ(to.size(), tensor.bytes);
    file_->seek(tensor.begin);
    read_all(*file_, {reinterpret_cast<char*>(to.data()), to.size()});
}

void OpenState::read_data(const std::function<void(std::string_view part)>& take) const {
    std::string part(kPart, '\0');
    file_->seek(head_.size());
    for (std::uint64_t left = file_->size() - head_.size(); left > 0;) {
        const std::span<char> next(part.data(), std::min<std::uint64_t>(left, part.size()));
        read_all(*file_, next);
        take({next.data(), next.size()});
        left -= next.size();
    }
}

std::string type_and_shape(const std::string& dtype, const std::vector<std::uint64_t>& shape) {
    return fmt::format("{} [{}]", shown(dtype), shown(fmt::format("{}", fmt::join(shape, ","))));
}

std::string shown(std::string_view text) {
    return without_controls(text.substr(0, kMaxShown)) + (text.size() > kMaxShown ? "..." : "");
}

}  // namespace fedhive::sim
