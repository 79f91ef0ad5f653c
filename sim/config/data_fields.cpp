// The keys of `data`.
#include "clients/data/data_format.h"
#include "clients/data/partition.h"
#include "sim/config/fields.h"

namespace fedhive::sim {

// Two lines a key read better than six.
// clang-format off
namespace {

void describe_partition(Visitor& visitor, PartitionConfig& partition) {
    const auto& catalog = clients::partition_catalog();
    visitor.begin({.name = "partition", .flow = true, .doc = "How the training examples are dealt to clients."});
    visitor.field({.name = "scheme", .target = &partition.scheme, .choices = names_of(catalog), .doc = summaries_of(catalog)});
    visitor.field({.name = "clients", .target = &partition.clients, .range = between(1, kMost),
                   .default_note = "`10`",
                   .doc = "Clients in all; at most one per training example (N). Left out with scheme natural or from_file: as many as the data, or the file, name."});
    visitor.field({.name = "holdout", .target = &partition.holdout, .range = fraction_below_one(),
                   .doc = "Share of each client's examples that it does not train on, drawn from the seed: at least one of two or more, none of a "
                          "single one; typically 0.1–0.2 (arXiv:1812.01097). num_examples counts the others."});
    describe_keys(visitor, "scheme", partition.scheme, partition.values, choices_of(catalog));
    visitor.end();
}

}  // namespace

void describe_data(Visitor& visitor, DataConfig& data) {
    const auto& catalog = clients::data_catalog();
    visitor.begin({.name = "data", .doc = "What clients learn from."});
    visitor.field({.name = "format", .target = &data.format, .choices = names_of(catalog), .required = true, .doc = summaries_of(catalog)});
    describe_keys(visitor, "format", data.format, data.values, choices_of(catalog));
    visitor.field({.name = "shared", .target = &data.shared, .choices = {"own", "rank0"}, .may_change = true,
                   .doc = "Of several ranks: own, each reads or draws the data for itself; rank0, the first one does and sends them to all, so that other "
                          "hosts need no files. docs/machines.md."});
    visitor.begin({.name = "normalize", .flow = true, .doc = "Values become (value − mean) / std when a batch is gathered; a byte's value is byte / 255."});
    visitor.field({.name = "mean", .target = &data.normalize.mean, .range = between(-1000, 1000), .default_note = "0",
                   .doc = "Per channel, or one number for all; of bytes on the scale 0 to 1 (MNIST: 0.1307)."});
    visitor.field({.name = "std", .target = &data.normalize.std, .range = above(0), .default_note = "1",
                   .doc = "As many numbers as mean (MNIST: 0.3081)."});
    visitor.end();
    visitor.begin({.name = "augment", .flow = true,
                   .doc = "Images as training sees them, anew in each epoch of each client; evaluation sees them as they are. docs/data.md."});
    visitor.field({.name = "crop_padding", .target = &data.augment.crop_padding, .range = between(0, clients::Augmentation::kMostPadding),
                   .doc = "Pixels of 0 around an image, out of which one of its own size is cut at a place drawn; 0: it stays where it is; 4 on "
                          "CIFAR-10 (arXiv:1512.03385)."});
    visitor.field({.name = "flip", .target = &data.augment.flip, .choices = {"none", "horizontal"},
                   .doc = "horizontal: an image is mirrored, left to right, with probability 1/2."});
    visitor.end();
    visitor.begin({.name = "skew", .flow = true, .doc = "How each client's training examples look, those that it holds out among them; test examples are as they are. docs/data.md."});
    visitor.field({.name = "rotation", .target = &data.skew.rotation, .choices = {"none", "half_turns", "quarter_turns"},
                   .doc = "Images of client k are turned counter-clockwise: by (k mod 2) · 180° or (k mod 4) · 90°, which takes square ones (arXiv:2006.04088)."});
    visitor.field({.name = "noise", .target = &data.skew.noise, .range = between(0, 1000),
                   .doc = "Values of client k of N get normal noise of variance noise · (k + 1) / N, drawn once, before they are normalised; bytes become floats "
                          "from 0 to 1 (σ in arXiv:2102.02079, which has 0.1)."});
    visitor.end();
    describe_partition(visitor, data.partition);
    visitor.end();
}
// clang-format on

}  // namespace fedhive::sim
