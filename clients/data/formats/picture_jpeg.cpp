#include "clients/data/formats/picture.h"

#include <fmt/format.h>

#include <array>
#include <csetjmp>
#include <cstdio>  // required by jpeglib.h

#include <jpeglib.h>

namespace fedhive::clients {

namespace {

constexpr int kMostScans = 200;  // limit for progressive images, where few bytes can cost much work

/// Everything with a destructor that is alive while libjpeg may longjmp out of a call.
struct JpegReader {
    jpeg_decompress_struct info{};
    jpeg_error_mgr errors{};
    jpeg_progress_mgr progress{};
    std::jmp_buf out{};
    std::array<char, JMSG_LENGTH_MAX> message{};
    std::string_view bytes;
    PictureSize size{};
    std::uint8_t* to = nullptr;  // destination of pixels; null: header only

    explicit JpegReader(std::string_view given) : bytes(given) {}
    ~JpegReader() { jpeg_destroy_decompress(&info); }
    JpegReader(const JpegReader&) = delete;
    JpegReader& operator=(const JpegReader&) = delete;
};

[[noreturn]] void fail_jpeg(j_common_ptr info) {
    auto& reader = *static_cast<JpegReader*>(info->client_data);
    info->err->format_message(info, reader.message.data());
    std::longjmp(reader.out, 1);
}

/// libjpeg's warnings (level < 0) are errors: it would continue with made-up pixels.
void hear_jpeg(j_common_ptr info, int level) {
    if (level < 0) fail_jpeg(info);
}

void watch_scans(j_common_ptr info) {
    auto& reader = *static_cast<JpegReader*>(info->client_data);
    if (reader.info.input_scan_number <= kMostScans) return;
    std::snprintf(reader.message.data(), reader.message.size(), "it has more than %d scans", kMostScans);
    std::longjmp(reader.out, 1);
}

void read_jpeg(JpegReader& reader) {
    jpeg_decompress_struct& info = reader.info;
    jpeg_create_decompress(&info);
    info.progress = &reader.progress;
    jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(reader.bytes.data()), reader.bytes.size());
    jpeg_read_header(&info, TRUE);
    reader.size = {info.image_height, info.image_width, info.num_components == 3};
    if (reader.to == nullptr) return;
    info.out_color_space = reader.size.colour ? JCS_RGB : JCS_GRAYSCALE;
    jpeg_start_decompress(&info);
    const std::size_t row = reader.size.num_bytes() / reader.size.height;
    while (info.output_scanline < info.output_height) {
        JSAMPROW line = reader.to + info.output_scanline * row;
        jpeg_read_scanlines(&info, &line, 1);
    }
    jpeg_finish_decompress(&info);
}

/// Reads the header and, if `to` is set, the pixels. Throws PictureError.
void run_jpeg(JpegReader& reader) {
    reader.info.err = jpeg_std_error(&reader.errors);
    reader.errors.error_exit = fail_jpeg;
    reader.errors.emit_message = hear_jpeg;
    reader.progress.progress_monitor = watch_scans;
    reader.info.client_data = &reader;
    if (setjmp(reader.out) != 0) throw PictureError(reader.message.data());
    read_jpeg(reader);
}

PictureSize jpeg_size(std::string_view bytes) {
    JpegReader reader(bytes);
    run_jpeg(reader);
    if (reader.info.num_components != 1 && reader.info.num_components != 3)
        throw PictureError(
            fmt::format("it has {} channels, like CMYK; expected: grey, or red, green and blue", reader.info.num_components));
    return checked_size(reader.size.height, reader.size.width, reader.size.colour);
}

void jpeg_pixels(std::string_view bytes, const PictureSize&, std::span<std::uint8_t> to) {
    JpegReader reader(bytes);
    reader.to = to.data();
    run_jpeg(reader);
}

}  // namespace

const PictureKind& jpeg_pictures() {
    static const PictureKind kind{"JPEG", "\xff\xd8\xff", jpeg_size, jpeg_pixels};
    return kind;
}

}  // namespace fedhive::clients
