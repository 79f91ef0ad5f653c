// Reads plain and compressed files through zlib's gzread, which passes plain files through. No
// allocation trusts a header alone.
#include "clients/data/formats/idx.h"

#include "aggregation/base/error.h"
#include "aggregation/base/input_file.h"
#include "aggregation/memory/shared_segment.h"
#include "clients/data/data_format.h"

#include <fcntl.h>
#include <zlib.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>

namespace fedhive::clients {

namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kImagesMagic = 0x00000803;  // unsigned bytes, 3 dimensions
constexpr std::uint32_t kLabelsMagic = 0x00000801;  // unsigned bytes, 1 dimension
constexpr const char* kImagesName = "images-idx3-ubyte";
constexpr const char* kLabelsName = "labels-idx1-ubyte";
constexpr std::size_t kChunk = std::size_t{16} << 20;
constexpr std::uint64_t kMaxSide = 1U << 16;
constexpr std::array<std::string_view, 5> kFetched{"mnist", "fashion-mnist", "emnist-digits", "emnist-balanced",
                                                   "emnist-letters"};  // folders of `fedhive data`

/// Advice for a missing or damaged file.
std::string advice(const fs::path& root) {
    const fs::path plain = root.lexically_normal();
    const fs::path name = plain.has_filename() ? plain.filename() : plain.parent_path().filename();
    if (std::ranges::find(kFetched, name.string()) != kFetched.end()) {
        std::string set = name.string();
        std::ranges::replace(set, '-', '_');
        return fmt::format("`fedhive data {}` fetches the four files again", set);
    }
    return "put a complete copy of it there (MNIST: `fedhive data mnist` fetches it into data/mnist)";
}

std::string wanted_files() {
    return "the four files are train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and "
           "t10k-labels-idx1-ubyte, each plain or with .gz";
}

/// Prefix of a file's name: "emnist-balanced-" of "emnist-balanced-test-labels-idx1-ubyte.gz", "" of
/// MNIST's; nothing for others.
std::optional<std::string> set_of(std::string name) {
    if (name.ends_with(".gz")) name.resize(name.size() - 3);
    for (const char* kind : {"images-idx3-ubyte", "images.idx3-ubyte", "labels-idx1-ubyte", "labels.idx1-ubyte"})
        for (const char* part : {"train-", "t10k-", "test-"}) {
            const std::string ending = std::string(part) + kind;
            if (name == ending) return "";
            if (name.ends_with("-" + ending)) return name.substr(0, name.size() - ending.size());
        }
    return {};
}

/// Prefix of the folder's file names; "" if files without a prefix are there. Throws ConfigError for several prefixes.
std::string set_in(const fs::path& root) {
    std::set<std::string> sets;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(root, error))
        if (const auto set = set_of(entry.path().filename().string())) sets.insert(*set);
    if (sets.empty() || sets.contains("")) return "";
    if (sets.size() == 1) return *sets.begin();
    throw ConfigError(fmt::format("{}: has the files of several sets: {}*; put the four files of one set into their own folder",
                                  root.string(), fmt::join(sets, "*, ")));
}

/// Path of a part's images or labels: the first existing of MNIST's, EMNIST's ("…-test-images-idx3-ubyte") and Kaggle's
/// ("train-images.idx3-ubyte") names, each plain or with .gz; if none exists, MNIST's. `part`: "train" or "t10k"; `kind`:
/// "images-idx3-ubyte" or "labels-idx1-ubyte".
fs::path place_of(const fs::path& root, const std::string& part, const std::string& kind) {
    const std::string set = set_in(root);
    std::string dotted = kind;
    dotted[dotted.find('-')] = '.';
    std::vector<std::string> parts{part};
    if (part == "t10k") parts.emplace_back("test");
    for (const std::string& other : parts)
        for (const std::string& spelt : {kind, dotted})
            for (const char* ending : {"", ".gz"}) {
                fs::path file = root / (set + other + "-" + spelt + ending);
                std::error_code error;
                // Kaggle's archive contains folders of the same names beside the files.
                if (fs::exists(file, error) && !fs::is_directory(file, error)) return file;
            }
    return root / (set + part + "-" + kind);
}

class IdxFile {
public:
    /// Opens the file; the plain one if both exist.
    IdxFile(const fs::path& root, const std::string& part, const std::string& kind)
        : root_(root), path_(place_of(root, part, kind)), compressed_(path_.extension() == ".gz") {
        std::error_code error;
        if (!compressed_ && !fs::exists(path_, error)) {
            const std::string plain = path_.string();
            path_ += ".gz";
            compressed_ = true;
            if (!fs::exists(path_, error))
                throw ConfigError(
                    fmt::format("{}: no such file, plain or with .gz; {}; {}", plain, wanted_files(), advice(root)));
        }
        open_file();
        gzbuffer(file_.get(), 1U << 17);
        if (compressed_ == (gzdirect(file_.get()) != 0))
            fail(compressed_ ? "is not gzip-compressed, although its name ends in .gz"
                             : "is gzip-compressed, but its name does not end in .gz");
    }

    std::uint32_t header_word() {
        std::array<std::uint8_t, 4> bytes{};
        const std::size_t got = read(bytes);
        if (got < bytes.size())
            fail(fmt::format("is truncated: it ends inside the header, after {} bytes", header_bytes_ + got));
        header_bytes_ += got;
        return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
    }

    void expect_magic(std::uint32_t expected, const char* meaning) {
        const std::uint32_t found = header_word();
        if (found != expected)
            fail(fmt::format("has the wrong magic number {:#010x}; expected: {:#010x} ({})", found, expected, meaning));
    }

    /// The rest of the file, exactly `size` bytes. A plain file's size is checked first; memory for a compressed
    /// one grows as it is read.
    std::vector<std::uint8_t> body(std::uint64_t size) {
        if (!compressed_ && file_bytes_ != header_bytes_ + size)
            fail(fmt::format("{}: it has {} bytes, but its header promises {}",
                             file_bytes_ < header_bytes_ + size ? "is truncated" : "has trailing bytes", file_bytes_,
                             header_bytes_ + size));
        if (const std::uint64_t available = aggregation::available_memory_bytes(); !compressed_ && size > available)
            fail(fmt::format("has {} bytes of data, but only {} bytes of memory are available", size, available));
        std::vector<std::uint8_t> bytes;
        bytes.reserve(compressed_ ? std::min<std::uint64_t>(size, 4 * kChunk) : size);
        while (bytes.size() < size) {
            const std::size_t before = bytes.size();
            bytes.resize(std::min<std::uint64_t>(size, before + kChunk));
            const std::size_t got = read(std::span(bytes).subspan(before));
            if (before + got < bytes.size())
                fail(fmt::format("is truncated: the header promises {1} bytes, but only {0} follow", before + got, size));
        }
        std::array<std::uint8_t, 1> next{};
        if (read(next) > 0) fail(fmt::format("has trailing bytes after the {} that its header promises", size));
        return bytes;
    }

    [[noreturn]] void fail(const std::string& what) const {
        throw ConfigError(fmt::format("{}: {}; {}", path_.string(), what, advice(root_)));
    }

private:
    struct Close {
        void operator()(gzFile file) const { gzclose_r(file); }
    };

    void open_file() {
        try {
            const InputFile input(path_);
            file_bytes_ = input.size();
            file_.reset(gzdopen(fcntl(input.descriptor(), F_DUPFD_CLOEXEC, 0), "rb"));
        } catch (const FileError& error) {
            fail(error.reason);
        }
        if (!file_) fail("cannot be opened: no file descriptor or no memory is left");
    }

    /// Returns fewer bytes than asked for only at the end of the file.
    std::size_t read(std::span<std::uint8_t> to) {
        const int got = gzread(file_.get(), to.data(), static_cast<unsigned>(to.size()));
        int code = Z_OK;
        const char* text = gzerror(file_.get(), &code);
        if (code == Z_BUF_ERROR) fail("is truncated: its gzip stream ends early");
        if (got < 0)
            fail(fmt::format("cannot be read ({}); expected an intact {}file", code == Z_ERRNO ? std::strerror(errno) : text,
                             compressed_ ? "gzip " : ""));
        return static_cast<std::size_t>(got);
    }

    fs::path root_;
    fs::path path_;
    bool compressed_;
    std::uint64_t file_bytes_ = 0;
    std::uint64_t header_bytes_ = 0;
    std::unique_ptr<std::remove_pointer_t<gzFile>, Close> file_;
};

struct ImagesHeader {
    std::uint64_t count, height, width;
};

ImagesHeader read_header(IdxFile& images) {
    images.expect_magic(kImagesMagic, "images: unsigned bytes, 3 dimensions");
    ImagesHeader header{};
    for (std::uint64_t* word : {&header.count, &header.height, &header.width}) *word = images.header_word();
    // The bound on the sides keeps n * height * width below 2^64.
    if (header.count == 0 || header.height == 0 || header.width == 0 || header.height >= kMaxSide || header.width >= kMaxSide)
        images.fail(fmt::format("its header promises {} images of {} x {}; allowed: at least 1 image, with sides of 1 to {}",
                                header.count, header.height, header.width, kMaxSide - 1));
    return header;
}

void require_folder(const fs::path& root) {
    std::error_code error;
    if (!fs::is_directory(root, error))
        throw ConfigError(fmt::format("{}: no such folder; {}; {}", root.string(), wanted_files(), advice(root)));
}

std::uint64_t read_count(IdxFile& labels) {
    labels.expect_magic(kLabelsMagic, "labels: unsigned bytes, 1 dimension");
    return labels.header_word();
}

/// Reads the header of the training images; also their labels if the number of classes is not given.
DataShape idx_shape(const fs::path& root, std::int64_t num_classes) {
    require_folder(root);
    IdxFile images(root, "train", kImagesName);
    const ImagesHeader header = read_header(images);
    if (num_classes <= 0) {
        IdxFile labels(root, "train", kLabelsName);
        const std::vector<std::uint8_t> bytes = labels.body(read_count(labels));
        num_classes = bytes.empty() ? 1 : 1 + *std::max_element(bytes.begin(), bytes.end());
    }
    return {{1, static_cast<std::int64_t>(header.height), static_cast<std::int64_t>(header.width)}, num_classes};
}

Examples read_part(const fs::path& root, const std::string& name) {
    IdxFile images(root, name, kImagesName);
    IdxFile labels(root, name, kLabelsName);
    const auto [num_images, height, width] = read_header(images);
    const std::uint64_t num_labels = read_count(labels);
    if (num_labels != num_images)
        labels.fail(fmt::format("has {} labels, but there are {} images; the counts must be equal", num_labels, num_images));
    Examples part;
    part.shape = {1, static_cast<std::int64_t>(height), static_cast<std::int64_t>(width)};
    part.values = images.body(num_images * height * width);
    const std::vector<std::uint8_t> bytes = labels.body(num_labels);
    part.labels.assign(bytes.begin(), bytes.end());
    return part;
}

void check_labels(const fs::path& root, const std::string& part_name, const Examples& part, std::int64_t num_classes) {
    const auto outside =
        std::find_if(part.labels.begin(), part.labels.end(), [&](std::int32_t label) { return label >= num_classes; });
    if (outside == part.labels.end()) return;
    throw ConfigError(fmt::format("{}: example {} has the label {}; allowed: 0 to {}; set the number of classes to at least {}",
                                  place_of(root, part_name, kLabelsName).string(), outside - part.labels.begin(), *outside,
                                  num_classes - 1, *outside + 1));
}

}  // namespace

Dataset read_idx(const fs::path& root, std::int64_t num_classes) {
    require_folder(root);
    Dataset dataset{read_part(root, "train"), read_part(root, "t10k"), num_classes};
    if (num_classes <= 0) dataset.num_classes = 1 + *std::max_element(dataset.train.labels.begin(), dataset.train.labels.end());
    check_labels(root, "train", dataset.train, dataset.num_classes);
    check_labels(root, "t10k", dataset.test, dataset.num_classes);
    if (!(dataset.train.shape == dataset.test.shape))
        throw ConfigError(
            fmt::format("{}: the test images are {} x {}, but the training images are {} x {}; all must have the same size",
                        place_of(root, "t10k", kImagesName).string(), dataset.test.shape.height, dataset.test.shape.width,
                        dataset.train.shape.height, dataset.train.shape.width));
    return dataset;
}

DataFormat idx() {
    return {.name = "idx",
            .summary = "the MNIST family's files",
            .keys = {{.name = "root",
                      .default_value = std::filesystem::path(),
                      .required = true,
                      .may_change = true,
                      .doc = "Folder with the four IDX files, plain or `.gz`, named as MNIST, EMNIST or Kaggle name them; "
                             "relative to the config file (in --set: to the current folder). `fedhive data mnist` fetches "
                             "MNIST into data/mnist; `fedhive data -h` lists other sets."},
                     {.name = "classes",
                      .default_value = std::int64_t{0},
                      .range = between(0, kWide),
                      .doc = "Number of classes; 0: counted from the training labels."}},
            .blamed = "root",
            .shape = [](const Values& values, TargetKind) { return idx_shape(values.path("root"), values.integer("classes")); },
            .read = [](const Values& values, std::uint64_t,
                       TargetKind) { return read_idx(values.path("root"), values.integer("classes")); }};
}

}  // namespace fedhive::clients
