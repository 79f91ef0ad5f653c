// The keys of `data`.
#include "clients/data/data_format.h"
#include "clients/data/partition.h"
#include "clients/data/poison.h"
#include "sim/config/fields.h"

namespace fedhive::sim {

// Two lines a key read better than six.
// clang-format off
namespace {

void describe_partition(Visitor& visitor, PartitionConfig& partition) {
    const auto& catalog = clients::partition_catalog();
    visitor.begin({.name = "partition", .flow = true, .doc = "How the training examples are split among the clients."});
    visitor.field({.name = "scheme", .target = &partition.scheme, .choices = names_of(catalog), .doc = summaries_of(catalog)});
    visitor.field({.name = "clients", .target = &partition.clients, .range = between(1, kMost),
                   .default_note = "`10`",
                   .doc = "Number of clients (N); at most one per training example. If it is left out with scheme natural or from_file, the data or the file give the number."});
    visitor.field({.name = "holdout", .target = &partition.holdout, .range = fraction_below_one(),
                   .doc = "Share of each client's examples that it holds out from training, drawn from the seed; typically 0.1–0.2 (arXiv:1812.01097). A client with two or more examples holds out at least one, a client with one example none. num_examples counts the training examples only."});
    describe_keys(visitor, "scheme", partition.scheme, partition.values, choices_of(catalog));
    visitor.end();
}

}  // namespace

void describe_poison(Visitor& visitor, PoisonConfig& poison) {
    const auto& catalog = clients::poison_catalog();
    std::vector<std::string> kinds = names_of(catalog);
    visitor.begin({.name = "poison", .flow = true,
                   .doc = "Attackers that train as others do, on poisoned data. Held-out and test examples stay clean. docs/strategies.md."});
    visitor.field({.name = "name", .target = &poison.kind.name, .choices = kinds, .doc = summaries_of(catalog)});
    kinds.erase(kinds.begin());
    visitor.field({.name = "share", .target = &poison.share, .range = fraction(), .when = Condition{poison.kind.name, "name", kinds},
                   .doc = "Share of all clients that attack, rounded; drawn from seeds.sampling, the same clients in every round."});
    describe_keys(visitor, "name", poison.kind.name, poison.kind.values, choices_of(catalog));
    visitor.end();
}

void describe_data(Visitor& visitor, DataConfig& data) {
    const auto& catalog = clients::data_catalog();
    visitor.begin({.name = "data", .doc = "The data that clients learn from."});
    visitor.field({.name = "format", .target = &data.format, .choices = names_of(catalog), .required = true, .doc = summaries_of(catalog)});
    describe_keys(visitor, "format", data.format, data.values, choices_of(catalog));
    visitor.field({.name = "shared", .target = &data.shared, .may_change = true,
                   .doc = "With several ranks: own: each rank reads or draws the data itself; rank0: the first rank does and sends the data to all others, so that other hosts need no files. docs/machines.md."});
    visitor.field({.name = "root_examples", .target = &data.root_examples, .range = between(1, kMost),
                   .default_note = "none; 100 with those aggregators",
                   .doc = "Number of training examples that only the server has, drawn from the seed and taken out before the partition: the root examples of FLTrust (arXiv:2012.13995) and Zeno (arXiv:1805.10032), typically 100. Aggregators root_trust and root_score need them: in each round the server trains on them as a client does, from the same model. docs/data.md."});
    visitor.begin({.name = "normalize", .flow = true, .doc = "Values become (value − mean) / std when a batch is assembled; a byte b counts as b / 255."});
    visitor.field({.name = "mean", .target = &data.normalize.mean, .range = between(-1000, 1000), .default_note = "0",
                   .doc = "One number per channel, or one for all channels; for bytes on the scale 0 to 1 (MNIST: 0.1307)."});
    visitor.field({.name = "std", .target = &data.normalize.std, .range = above(0), .default_note = "1",
                   .doc = "The same number of values as mean (MNIST: 0.3081)."});
    visitor.end();
    visitor.begin({.name = "augment", .flow = true,
                   .doc = "Random augmentation of training images, drawn anew in each epoch of each client. Evaluation uses the unchanged images. docs/data.md."});
    visitor.field({.name = "crop_padding", .target = &data.augment.crop_padding, .range = between(0, clients::Augmentation::kMostPadding),
                   .doc = "Pads an image with this many zero pixels on each side and crops it to its own size at a random place; 0: no crop; 4 on CIFAR-10 (arXiv:1512.03385)."});
    visitor.field({.name = "flip", .target = &data.augment.flip,
                   .doc = "horizontal: mirrors an image left to right with probability 1/2."});
    visitor.end();
    visitor.begin({.name = "skew", .flow = true, .doc = "Feature skew: changes each client's training and held-out examples. Test examples stay unchanged. docs/data.md."});
    visitor.field({.name = "rotation", .target = &data.skew.rotation,
                   .doc = "Rotates the images of client k counter-clockwise: half_turns by (k mod 2) · 180°; quarter_turns by (k mod 4) · 90°, square images only (arXiv:2006.04088)."});
    visitor.field({.name = "noise", .target = &data.skew.noise, .range = between(0, 1000),
                   .doc = "Adds normal noise of variance noise · (k + 1) / N to the values of client k of N, drawn once, before normalisation; bytes become floats from 0 to 1 (σ in arXiv:2102.02079, which uses 0.1)."});
    visitor.end();
    describe_partition(visitor, data.partition);
    describe_poison(visitor, data.poison);
    visitor.end();
}
// clang-format on

}  // namespace fedhive::sim
