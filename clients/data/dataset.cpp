#include "clients/data/dataset.h"

#include "clients/data/content_hash.h"

namespace fedhive::clients {

namespace {

void add_examples(ContentHash& hash, const Examples& part) {
    for (const std::int64_t side : {part.shape.channels, part.shape.height, part.shape.width})
        hash.word(static_cast<std::uint64_t>(side));
    if (part.type != ValueType::U8)
        hash.word(static_cast<std::uint64_t>(part.type));  // fingerprints of bytes are older than types
    if (part.shape.vocabulary > 0) hash.word(static_cast<std::uint64_t>(part.shape.vocabulary));  // and than tokens
    if (part.target.kind != TargetKind::Class || part.target.width != 1) {                        // and than other targets
        hash.word(static_cast<std::uint64_t>(part.target.kind));
        hash.word(part.target.width);
        hash.bytes(part.numbers);
    }
    hash.bytes(part.labels);
    hash.bytes(part.values);
    if (!part.owners.empty()) hash.bytes(part.owners);
}

}  // namespace

std::uint64_t Dataset::fingerprint() const {
    ContentHash hash;
    hash.word(static_cast<std::uint64_t>(num_classes));
    add_examples(hash, train);
    add_examples(hash, test);
    return hash.state();
}

}  // namespace fedhive::clients
