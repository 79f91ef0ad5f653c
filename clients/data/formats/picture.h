// One image of a file's bytes: PNG by libpng, JPEG by libjpeg. What comes out is what Pillow's convert gives.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string_view>

namespace fedhive::clients {

/// What is wrong with the bytes; whoever knows the file says which.
struct PictureError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct PictureSize {
    std::uint32_t height = 0;
    std::uint32_t width = 0;
    bool colour = false;  // red, green and blue of each pixel; else its grey

    std::size_t num_bytes() const { return std::size_t{height} * width * (colour ? 3 : 1); }
};

/// Pixels of an image, at most; of what a file says of itself, before memory is taken for it.
inline constexpr std::uint64_t kMostPixels = std::uint64_t{1} << 24;

/// A way to read images.
struct PictureKind {
    const char* name;
    std::string_view begins;  // a file's first bytes

    /// What the head says. Throws PictureError: damaged, more than kMostPixels, no 8 bits a channel, other colours than those.
    PictureSize (*size)(std::string_view bytes);

    /// [height, width, channels], of `size`. Palettes and fewer bits than 8 become 8 bits, transparency is left out, a gamma is not looked at.
    /// Throws PictureError: damaged, cut off.
    void (*pixels)(std::string_view bytes, const PictureSize& size, std::span<std::uint8_t> to);
};

const PictureKind& png_pictures();
const PictureKind& jpeg_pictures();

/// Throws PictureError for more than kMostPixels.
PictureSize checked_size(std::uint32_t height, std::uint32_t width, bool colour);

}  // namespace fedhive::clients
