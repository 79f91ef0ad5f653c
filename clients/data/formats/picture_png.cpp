#include "clients/data/formats/picture.h"

#include <fmt/format.h>
#include <png.h>

#include <array>
#include <csetjmp>
#include <cstring>
#include <string>
#include <vector>

namespace fedhive::clients {

namespace {

/// Everything with a destructor that is alive while libpng may longjmp out of a call.
struct PngReader {
    std::string_view rest;
    std::array<char, 200> message{};
    png_structp png = nullptr;
    png_infop info = nullptr;
    PictureSize size{};
    bool sixteen_bits = false;
    std::vector<png_bytep> rows{};  // destination of pixels; empty: header only

    explicit PngReader(std::string_view bytes) : rest(bytes) {}
    ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
    PngReader(const PngReader&) = delete;
    PngReader& operator=(const PngReader&) = delete;
};

[[noreturn]] void fail_png(png_structp png, png_const_charp message) {
    auto& reader = *static_cast<PngReader*>(png_get_error_ptr(png));
    std::strncpy(reader.message.data(), message, reader.message.size() - 1);
    png_longjmp(png, 1);
}

void keep_quiet(png_structp, png_const_charp) {}

void give_png(png_structp png, png_bytep to, std::size_t count) {
    auto& reader = *static_cast<PngReader*>(png_get_io_ptr(png));
    if (count > reader.rest.size()) png_error(png, "it ends early");
    std::memcpy(to, reader.rest.data(), count);
    reader.rest.remove_prefix(count);
}

void read_png(PngReader& reader) {
    png_structp png = reader.png;
    png_set_read_fn(png, &reader, give_png);
    png_read_info(png, reader.info);
    const int colours = png_get_color_type(png, reader.info);
    reader.sixteen_bits = png_get_bit_depth(png, reader.info) == 16;
    reader.size = {png_get_image_height(png, reader.info), png_get_image_width(png, reader.info),
                   (colours & PNG_COLOR_MASK_COLOR) != 0};
    if (reader.rows.empty()) return;
    if (colours == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
    if (colours == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png);
    png_set_strip_alpha(png);
    png_set_interlace_handling(png);
    png_read_update_info(png, reader.info);
    if (png_get_rowbytes(png, reader.info) * reader.rows.size() != reader.size.num_bytes())
        png_error(png, "its rows do not match its header");
    png_read_image(png, reader.rows.data());
    png_read_end(png, nullptr);
}

/// Reads the header and, if rows are set, the pixels. Throws PictureError.
void run_png(PngReader& reader) {
    reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, fail_png, keep_quiet);
    if (reader.png != nullptr) reader.info = png_create_info_struct(reader.png);
    if (reader.info == nullptr) throw PictureError("libpng ran out of memory");
    if (setjmp(png_jmpbuf(reader.png)) != 0) throw PictureError(reader.message.data());
    read_png(reader);
}

PictureSize png_size(std::string_view bytes) {
    PngReader reader(bytes);
    run_png(reader);
    if (reader.sixteen_bits) throw PictureError("it has 16 bits per channel; allowed: 8 or fewer");
    return checked_size(reader.size.height, reader.size.width, reader.size.colour);
}

void png_pixels(std::string_view bytes, const PictureSize& size, std::span<std::uint8_t> to) {
    PngReader reader(bytes);
    const std::size_t row = size.num_bytes() / size.height;
    for (std::size_t at = 0; at < size.height; ++at) reader.rows.push_back(&to[at * row]);
    run_png(reader);
}

}  // namespace

const PictureKind& png_pictures() {
    static const PictureKind kind{"PNG", "\x89PNG\r\n\x1a\n", png_size, png_pixels};
    return kind;
}

PictureSize checked_size(std::uint32_t height, std::uint32_t width, bool colour) {
    if (std::uint64_t{height} * width > kMostPixels || height == 0 || width == 0)
        throw PictureError(fmt::format("it has {} x {} pixels; allowed: 1 to {}", height, width, kMostPixels));
    return {height, width, colour};
}

}  // namespace fedhive::clients
