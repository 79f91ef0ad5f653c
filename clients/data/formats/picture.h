// Decodes one image from a file's bytes: PNG by libpng, JPEG by libjpeg. The pixels equal those of Pillow's convert.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string_view>

namespace fedhive::clients {

/// What is wrong with the bytes; the caller adds the file's name.
struct PictureError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct PictureSize {
    std::uint32_t height = 0;
    std::uint32_t width = 0;
    bool colour = false;  // red, green and blue per pixel; else grey

    std::size_t num_bytes() const { return std::size_t{height} * width * (colour ? 3 : 1); }
};

/// Maximum pixels of an image, checked by its header before memory is allocated.
inline constexpr std::uint64_t kMostPixels = std::uint64_t{1} << 24;

/// Decoder of one file type.
struct PictureKind {
    const char* name;
    std::string_view begins;  // a file's first bytes

    /// Reads the header. Throws PictureError: damaged; more than kMostPixels; more than 8 bits per channel; other
    /// than grey or RGB channels.
    PictureSize (*size)(std::string_view bytes);

    /// Decodes to [height, width, channels] of `size`. Palettes and fewer than 8 bits are expanded; alpha is dropped, gamma
    /// ignored. Throws PictureError: damaged, truncated.
    void (*pixels)(std::string_view bytes, const PictureSize& size, std::span<std::uint8_t> to);
};

const PictureKind& png_pictures();
const PictureKind& jpeg_pictures();

/// The given size. Throws PictureError if it is empty or has more than kMostPixels.
PictureSize checked_size(std::uint32_t height, std::uint32_t width, bool colour);

}  // namespace fedhive::clients
