// Folders of images, a class a sub-folder, as torchvision's ImageFolder reads them.
#pragma once

#include "clients/data/data_format.h"

#include <filesystem>
#include <optional>

namespace fedhive::clients {

struct ImageFolders {
    std::filesystem::path train;
    std::filesystem::path test;
    std::optional<std::int64_t> channels{};  // 1: grey, 3: red, green, blue; none: as the first training image has
};

/// Classes are the training folder's sub-folders in the order of their names, byte by byte; the test folder may have some of them. Examples lie class
/// by class, in the order of their files' names: *.png, *.jpg and *.jpeg, in any case. What begins with a dot is not looked at. Bytes, {channels,
/// height, width}. Grey becomes three equal channels, colours become grey by 0.299 R + 0.587 G + 0.114 B as Pillow rounds it, where channels says so.
///
/// Throws   ConfigError naming the file or folder: nothing there; a file of another kind, or one whose bytes are not what its name says; damaged or
///          cut off; sizes that differ, with both files; grey and colours together where channels says nothing; more than kMostPixels; more than
///          memory holds, before the first is decoded.
/// Memory   one copy of the pixels, and of each core's present file. Cost: cores decode side by side.
Dataset read_images(const ImageFolders& folders);

}  // namespace fedhive::clients
