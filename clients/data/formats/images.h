// Image folders, one sub-folder per class, as torchvision's ImageFolder reads them.
#pragma once

#include "clients/data/data_format.h"

#include <filesystem>
#include <optional>

namespace fedhive::clients {

struct ImageFolders {
    std::filesystem::path train;
    std::filesystem::path test;
    std::optional<std::int64_t> channels{};  // 1: grey; 3: red, green, blue; none: as the first training image
};

/// Reads *.png, *.jpg and *.jpeg (any case) from class sub-folders; U8, {channels, height, width}. Skips hidden names.
///
/// Order      classes: the training folder's sub-folders by name, bytewise; the test folder may have a subset. Examples class
///            by class, by file name.
/// Channels   grey to three equal channels; colours to grey by 0.299 R + 0.587 G + 0.114 B, rounded as Pillow does.
///
/// Throws   ConfigError naming the file or folder: nothing there, files of other kinds, content that contradicts the name,
///          damaged or truncated files, sizes that differ (naming both files), grey and colours mixed without `channels`, more
///          than kMostPixels, more than memory holds (checked before decoding).
/// Memory   one copy of the pixels, and the file that each core decodes. Cost: cores decode in parallel.
Dataset read_images(const ImageFolders& folders);

}  // namespace fedhive::clients
