#include "clients/data/formats/npz_archive.h"

#include "aggregation/base/error.h"
#include "aggregation/memory/shared_segment.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace fedhive::clients {

namespace {

constexpr const char* kSaveAgain = R"(numpy.savez("FILE.npz", x=x, y=y))";
constexpr std::uint64_t kMostDeflate = 1032;  // largest expansion of one compressed byte

[[noreturn]] void refuse(const std::string& where, const std::string& what, const std::string& line) {
    throw ConfigError(fmt::format("{}: {}; fix: {}", where, what, line));
}

std::string open_problem(int code) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    return zip_problem(error);
}

/// Checks the member's claimed sizes against the file's.
void check_member(const zip_stat_t& member, const std::string& where, std::uint64_t file_bytes) {
    if (member.encryption_method != ZIP_EM_NONE)
        refuse(where, "is encrypted; expected: an archive without a password", kSaveAgain);
    if (member.comp_method != ZIP_CM_STORE && member.comp_method != ZIP_CM_DEFLATE)
        refuse(where,
               fmt::format("is compressed by method {}; expected: stored or deflated, as NumPy writes it", member.comp_method),
               kSaveAgain);
    const std::uint64_t each = member.comp_method == ZIP_CM_STORE ? 1 : kMostDeflate;
    if (member.comp_size > file_bytes || member.size / each > member.comp_size)
        refuse(where,
               fmt::format("promises {} bytes in {} compressed ones of a file of {}; the archive is damaged or truncated",
                           member.size, member.comp_size, file_bytes),
               kSaveAgain);
}

/// Whether the type is supported, or astype() can convert it.
bool has_plain_numbers(const NpyHeader& header) {
    const std::size_t bytes = header.item_bytes();
    if (std::string("<>|").find(header.dtype[0]) == std::string::npos) return false;
    if (header.kind() == 'b') return bytes == 1;
    if (header.kind() == 'f') return bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
    return (header.kind() == 'i' || header.kind() == 'u') && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8);
}

/// Throws ConfigError for arrays that are not plain blocks of numbers, with Python that converts them. Arrays of one object or
/// word per example, as pandas gives, are to be numbered.
void check_header(const NpzArray& array) {
    const NpyHeader& header = array.header();
    if (header.dtype == "[...]")
        array.fail("has the dtype [...]; expected: plain numbers",
                   R"(numpy.stack([ARRAY[name] for name in ARRAY.dtype.names], axis=-1).astype("float32"))");
    const bool words = header.kind() == 'U' || header.kind() == 'S';
    if (words || (header.kind() == 'O' && array.name() != "x" && header.shape.size() == 1))
        array.fail(
            fmt::format("has {}; expected: numbers{}", words ? fmt::format("texts ({})", header.dtype) : "Python objects",
                        array.name() == "y" ? "; a word must have the same number in training and test examples" : ""),
            "numpy.unique(ARRAY, return_inverse=True)[1]");
    if (header.kind() == 'O')
        array.fail("has Python objects; expected: numbers", R"(numpy.stack(list(ARRAY)).astype("float32"))");
    if (!has_plain_numbers(header))
        array.fail(fmt::format("has the dtype {}; expected: plain numbers", header.dtype), R"(ARRAY.astype("float32"))");
    if (header.dtype[0] == '>')
        array.fail(fmt::format("has the dtype {}, big-endian; expected: little-endian", header.dtype),
                   R"(ARRAY.astype(ARRAY.dtype.newbyteorder("<")))");
    if (header.fortran_order) array.fail("is in Fortran order; expected: C order", "numpy.ascontiguousarray(ARRAY)");
}

}  // namespace

void NpzArray::fail(const std::string& what, const std::string& line) const {
    std::string own = line;
    for (std::size_t at = own.find("ARRAY"); at != std::string::npos; at = own.find("ARRAY")) own.replace(at, 5, name_);
    const bool expression = own.find(" = ") == std::string::npos && !own.starts_with("numpy.savez");
    refuse(file_ + ": " + name_, what, expression ? name_ + " = " + own : own);
}

std::size_t NpzArray::read_some(std::span<char> to) {
    const zip_int64_t got = zip_fread(opened_.get(), to.data(), to.size());
    if (got < 0) fail(fmt::format("cannot be read: {}", zip_file_strerror(opened_.get())), kSaveAgain);
    return static_cast<std::size_t>(got);
}

void NpzArray::read(std::span<char> to) {
    while (!to.empty()) {
        const std::size_t got = read_some(to);
        if (got == 0) fail("ends early; the archive is damaged or truncated", kSaveAgain);
        to = to.subspan(got);
    }
}

void NpzArray::expect_end() {
    std::array<char, 1> next{};
    if (read_some(next) > 0) fail("has bytes after its last value; the archive is damaged", kSaveAgain);
}

NpzArchive::NpzArchive(const std::filesystem::path& file) : path_(file.string()) {
    const InputFile input(file);
    bytes_ = input.size();
    const int descriptor = fcntl(input.descriptor(), F_DUPFD_CLOEXEC, 0);
    int code = ZIP_ER_OPEN;
    if (descriptor >= 0) archive_.reset(zip_fdopen(descriptor, 0, &code));
    if (archive_) return;
    if (descriptor >= 0) close(descriptor);  // libzip takes ownership only on success
    refuse(path_, fmt::format("is not a complete .npz archive ({})", open_problem(code)), kSaveAgain);
}

std::optional<std::uint64_t> NpzArchive::member_of(const std::string& name) const {
    for (const std::string& member : {name, name + ".npy"})
        for (zip_int64_t i = zip_get_num_entries(archive_.get(), 0); i-- > 0;) {
            const char* found = zip_get_name(archive_.get(), static_cast<zip_uint64_t>(i), ZIP_FL_ENC_RAW);
            if (found != nullptr && found == member) return static_cast<std::uint64_t>(i);
        }
    return {};
}

std::string NpzArchive::array_names() const {
    constexpr zip_int64_t kShown = 10;
    std::string names;
    const zip_int64_t count = zip_get_num_entries(archive_.get(), 0);
    for (zip_int64_t i = 0; i < std::min(count, kShown); ++i) {
        const char* name = zip_get_name(archive_.get(), static_cast<zip_uint64_t>(i), 0);
        std::string shown = name != nullptr ? name : "?";
        if (shown.ends_with(".npy")) shown.resize(shown.size() - 4);
        names += (names.empty() ? "" : ", ") + shown.substr(0, 100);
    }
    return names + (count > kShown ? ", …" : "");
}

NpzArray NpzArchive::open(const std::string& name) const {
    const std::string where = path_ + ": " + name;
    const std::optional<std::uint64_t> place = member_of(name);
    if (!place)
        refuse(where, fmt::format("no such array in the archive, which has: {}", array_names()),
               name == "client" ? R"(numpy.savez("FILE.npz", x=x, y=y, client=client))" : kSaveAgain);
    zip_stat_t member;
    zip_stat_init(&member);
    if (zip_stat_index(archive_.get(), *place, 0, &member) != 0) refuse(where, zip_strerror(archive_.get()), kSaveAgain);
    check_member(member, where, bytes_);
    ZipMember opened(zip_fopen_index(archive_.get(), *place, 0));
    if (!opened) refuse(where, fmt::format("cannot be read: {}", zip_strerror(archive_.get())), kSaveAgain);
    NpzArray array(path_, name, std::move(opened));
    const auto header = read_npy_header([&](std::span<char> to) {
        array.read(to);
        return to.size();
    });
    if (!header) array.fail("is not a NumPy array", kSaveAgain);
    array.header_ = *header;
    check_header(array);
    const std::optional<std::uint64_t> data = header->data_bytes();
    if (!data || *data != member.size - header->bytes)
        array.fail(fmt::format("has {} bytes, but its shape {} and type {} need {}; the archive is damaged", member.size,
                               header->shape_text(), header->dtype,
                               data ? std::to_string(header->bytes + *data) : "more than can be counted"),
                   kSaveAgain);
    // Twice: as read, and in the shared segment.
    if (const std::uint64_t available = aggregation::available_memory_bytes(); *data > available / 2)
        array.fail(fmt::format("has {} bytes of data and needs twice that for a moment; only {} bytes of memory are available",
                               *data, available),
                   "ARRAY[:" + std::to_string(header->shape.empty() ? 0 : header->shape[0] / 2) + "]");
    return array;
}

}  // namespace fedhive::clients
