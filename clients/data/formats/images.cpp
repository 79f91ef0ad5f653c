#include "clients/data/formats/images.h"

#include "aggregation/base/error.h"
#include "aggregation/base/input_file.h"
#include "aggregation/base/parallel.h"
#include "aggregation/memory/shared_segment.h"
#include "clients/data/formats/picture.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <map>
#include <mutex>

namespace fedhive::clients {

namespace {

enum class ImageChannels { Auto, Grey, Colour };
constexpr auto all_words(ImageChannels) { return std::array{"auto", "1", "3"}; }

namespace fs = std::filesystem;

constexpr std::uint64_t kMostImageFile = std::uint64_t{256} << 20;  // bytes
constexpr std::size_t kPixelsOfARange = 1 << 18;                    // minimum per thread

struct ImageFile {
    fs::path path;
    std::int32_t label;
};

bool hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

/// Entries of the folder without hidden ones, sorted by name.
std::vector<fs::path> entries_of(const fs::path& folder) {
    std::error_code error;
    std::vector<fs::path> entries;
    for (const auto& entry : fs::directory_iterator(folder, error))
        if (!hidden(entry.path())) entries.push_back(entry.path());
    if (error) throw ConfigError(fmt::format("{}: cannot be listed: {}", folder.string(), error.message()));
    std::ranges::sort(entries);
    return entries;
}

/// Image kind by the file's extension; null: not supported.
const PictureKind* kind_by_name(const fs::path& file) {
    std::string end = file.extension().string();
    std::ranges::transform(end, end.begin(), [](unsigned char c) { return static_cast<char>(c | 0x20); });
    if (end == ".png") return &png_pictures();
    return end == ".jpg" || end == ".jpeg" ? &jpeg_pictures() : nullptr;
}

std::vector<std::string> classes_in_folder(const fs::path& folder) {
    std::vector<std::string> classes;
    std::error_code error;
    for (const fs::path& entry : entries_of(folder)) {
        if (!fs::is_directory(entry, error))
            throw ConfigError(fmt::format(
                "{}: is a file beside the class folders; expected only one folder per class, with its images", entry.string()));
        classes.push_back(entry.filename().string());
    }
    if (classes.empty())
        throw ConfigError(fmt::format("{}: is empty; expected one folder per class, with its images", folder.string()));
    return classes;
}

/// Image files of a part, class by class. Throws ConfigError for other files, unknown classes, and empty ones if `all_classes`.
std::vector<ImageFile> files_of_part(const fs::path& folder, const std::vector<std::string>& classes, bool all_classes) {
    std::vector<ImageFile> files;
    for (const std::string& name : classes_in_folder(folder)) {
        const auto known = std::ranges::find(classes, name);
        if (known == classes.end())
            throw ConfigError(fmt::format("{}: is not a class of the training folder, which has: {}", (folder / name).string(),
                                          fmt::join(classes, ", ")));
        const std::size_t before = files.size();
        for (const fs::path& file : entries_of(folder / name)) {
            if (kind_by_name(file) == nullptr)
                throw ConfigError(
                    fmt::format("{}: does not have the name of an image; expected: *.png, *.jpg or *.jpeg", file.string()));
            files.push_back({file, static_cast<std::int32_t>(known - classes.begin())});
        }
        if (all_classes && files.size() == before)
            throw ConfigError(
                fmt::format("{}: has no image; add at least one, or remove the folder", (folder / name).string()));
    }
    if (files.empty()) throw ConfigError(fmt::format("{}: has no images", folder.string()));
    if (files.size() > std::numeric_limits<std::uint32_t>::max())
        throw ConfigError(fmt::format("{}: has {} images; allowed: at most {}", folder.string(), files.size(),
                                      std::numeric_limits<std::uint32_t>::max()));
    return files;
}

/// An image file's bytes with its kind and size.
struct OpenedImage {
    explicit OpenedImage(const fs::path& file) : bytes(read_file(file, kMostImageFile)), kind(*kind_by_name(file)) {
        if (!bytes.starts_with(kind.begins)) {
            const bool other = bytes.starts_with(png_pictures().begins) || bytes.starts_with(jpeg_pictures().begins);
            throw ConfigError(fmt::format("{}: has the name of a {} file but is {}", file.string(), kind.name,
                                          other ? kind.begins == png_pictures().begins ? "JPEG; rename it" : "PNG; rename it"
                                          : bytes.empty() ? "empty"
                                                          : "not one; it is damaged, or of an unsupported kind"));
        }
        told(file, [&] { size = kind.size(bytes); });
    }

    void decode(const fs::path& file, std::span<std::uint8_t> to) const {
        told(file, [&] { kind.pixels(bytes, size, to); });
    }

    std::string bytes;
    const PictureKind& kind;
    PictureSize size;

private:
    /// Runs `work`; adds the file's name to its PictureError and throws it as ConfigError.
    template <typename Work>
    void told(const fs::path& file, const Work& work) const {
        try {
            work();
        } catch (const PictureError& error) {
            throw ConfigError(fmt::format("{}: cannot be read as {}: {}", file.string(), kind.name, error.what()));
        }
    }
};

/// Size and colours that all images must share.
struct CommonForm {
    fs::path first;
    PictureSize size;
    std::optional<std::int64_t> asked;  // data.channels

    ExampleShape shape() const { return {asked.value_or(size.colour ? 3 : 1), size.height, size.width}; }

    void check(const fs::path& file, const PictureSize& found) const {
        if (found.height != size.height || found.width != size.width)
            throw ConfigError(
                fmt::format("{0}: is {1} x {2}, but {3} is {4} x {5}; all images must have the same height and width; fix in "
                            "Python with Pillow: image.resize(({5}, {4}))",
                            file.string(), found.height, found.width, first.string(), size.height, size.width));
        if (!asked && found.colour != size.colour)
            throw ConfigError(fmt::format("{}: {}, but {} {}; set data.channels to 1, for grey, or 3", file.string(),
                                          found.colour ? "has colours" : "is grey", first.string(),
                                          size.colour ? "has colours" : "is grey"));
    }
};

/// Transposes decoded pixels [pixels, 1 or 3] to planes [channels, pixels], with conversion between grey and colours.
void make_planes(std::span<const std::uint8_t> from, bool colour, std::int64_t channels, std::span<std::uint8_t> planes) {
    const std::size_t pixels = planes.size() / static_cast<std::size_t>(channels);
    for (std::size_t at = 0; at < pixels; ++at) {
        if (!colour) {
            for (std::size_t plane = at; plane < planes.size(); plane += pixels) planes[plane] = from[at];
            continue;
        }
        const std::uint8_t* rgb = &from[3 * at];
        if (channels == 3)
            for (std::size_t channel = 0; channel < 3; ++channel) planes[channel * pixels + at] = rgb[channel];
        else  // Pillow's convert("L"): weights in 1/65536, rounded
            planes[at] = static_cast<std::uint8_t>((rgb[0] * 19595U + rgb[1] * 38470U + rgb[2] * 7471U + 0x8000U) >> 16U);
    }
}

void read_one_image(const fs::path& file, const CommonForm& form, std::vector<std::uint8_t>& decoded,
                    std::span<std::uint8_t> planes) {
    const OpenedImage image(file);
    form.check(file, image.size);
    decoded.resize(image.size.num_bytes());
    image.decode(file, decoded);
    make_planes(decoded, image.size.colour, form.shape().channels, planes);
}

/// Decodes in parallel. If files fail, throws the error of the first of them.
Examples read_image_files(const std::vector<ImageFile>& files, const CommonForm& form) {
    Examples part{.shape = form.shape(), .values = {}, .labels = {}};
    const std::size_t each = part.shape.num_values();
    part.values.resize(files.size() * each);
    std::mutex guard;
    std::map<std::size_t, std::exception_ptr> problems;
    for_each_range(files.size(), 1 + kPixelsOfARange / each, [&](std::size_t first, std::size_t last) {
        std::vector<std::uint8_t> decoded;
        std::size_t at = first;
        try {
            for (; at < last; ++at)
                read_one_image(files[at].path, form, decoded, std::span(part.values).subspan(at * each, each));
        } catch (...) {
            const std::lock_guard lock(guard);
            problems[at] = std::current_exception();
        }
    });
    if (!problems.empty()) std::rethrow_exception(problems.begin()->second);
    for (const ImageFile& file : files) part.labels.push_back(file.label);
    return part;
}

/// Checks before decoding that half of the available memory suffices: examples are copied once more, into the shared segment.
void check_room(const fs::path& folder, std::size_t images, const ExampleShape& shape) {
    const std::uint64_t available = aggregation::available_memory_bytes(), bytes = images * shape.num_values();
    if (bytes > available / 2)
        throw ConfigError(
            fmt::format("{}: {} images of {} bytes need {} bytes, {} bytes of memory are available, and half of it may be "
                        "used; use smaller or fewer images",
                        folder.string(), images, shape.num_values(), bytes, available));
}

CommonForm form_of(const fs::path& first, const ImageFolders& folders) {
    return {first, OpenedImage(first).size, folders.channels};
}

ImageFolders image_folders(const Values& values) {
    const auto channels = values.choice<ImageChannels>("channels");
    const auto given =
        channels == ImageChannels::Auto ? std::nullopt : std::optional<std::int64_t>(channels == ImageChannels::Colour ? 3 : 1);
    return {values.path("train"), values.path("test"), given};
}

DataShape images_shape(const Values& values, TargetKind) {
    const ImageFolders folders = image_folders(values);
    const std::vector<std::string> classes = classes_in_folder(folders.train);
    const fs::path first = files_of_part(folders.train, classes, true).front().path;
    return {form_of(first, folders).shape(), static_cast<std::int64_t>(classes.size())};
}

}  // namespace

Dataset read_images(const ImageFolders& folders) {
    const std::vector<std::string> classes = classes_in_folder(folders.train);
    const std::vector<ImageFile> train = files_of_part(folders.train, classes, true);
    const std::vector<ImageFile> test = files_of_part(folders.test, classes, false);
    const CommonForm form = form_of(train.front().path, folders);
    check_room(folders.train, train.size() + test.size(), form.shape());
    return {read_image_files(train, form), read_image_files(test, form), static_cast<std::int64_t>(classes.size())};
}

DataFormat images() {
    const auto folder = [](const char* name, const char* doc) {
        return KeySpec{
            .name = name, .default_value = std::filesystem::path(), .required = true, .may_change = true, .doc = doc};
    };
    return {.name = "images",
            .summary = "folders of PNG and JPEG images, one sub-folder per class",
            .keys = {folder("train",
                            "Folder of the training images: one sub-folder per class, with images *.png, *.jpg or *.jpeg of "
                            "one size. Classes are numbered in the order of their names, as in torchvision's ImageFolder; "
                            "relative to the config file. docs/data.md."),
                     folder("test", "Folder of the test images, with sub-folders of the same names."),
                     {.name = "channels",
                      .default_value = ImageChannels::Auto,
                      .choices = words_of<ImageChannels>(),
                      .doc = "1: grey; 3: red, green and blue; auto: the channels of the first training image, which all "
                             "images must have. With 1 or 3, images are converted as by Pillow's convert."}},
            .shape = images_shape,
            .read = [](const Values& values, std::uint64_t, TargetKind) { return read_images(image_folders(values)); }};
}

}  // namespace fedhive::clients
