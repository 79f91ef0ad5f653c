// J. Konečný et al. 2016, arXiv:1610.05492, section 3, subsampling: over the draws, the mean of the sent vector is the update.
//
// Differs   with error feedback, values are not scaled up, since the rest is sent later.
#include "aggregation/base/random.h"
#include "clients/uploads/compressed.h"

namespace fedhive::clients {

namespace {

void keep_drawn_ones(Upload& upload, const UploadStep& step) {
    ParametersOfUpload parameters(upload);
    Stream draws(upload.key, Purpose::Upload);
    std::vector<std::uint32_t> keys(parameters.count());
    for (std::uint32_t& key : keys) key = draws();
    const std::uint64_t count = count_of_share(step.numbers[0], parameters.count());
    keep_largest(parameters, keys, count);
    const double longer = upload.keeps_residual ? 1.0 : static_cast<double>(parameters.count()) / static_cast<double>(count);
    for (const TensorUpload& tensor : parameters.tensors())
        for (std::size_t i = 0; i < tensor.local.size(); ++i)
            if (tensor.local[i] != tensor.global[i]) tensor.set_update(i, longer * static_cast<double>(tensor.update(i)));
    parameters.put_back();
}

}  // namespace

UploadSpec random_k() {
    return {.name = "random_k",
            .summary =
                "keeps values of an update at randomly drawn places and sets the others to 0; without error_feedback before "
                "it, the kept values are divided by `kept`; the server knows the places from the seed (Konečný et al. 2016, "
                "arXiv:1610.05492, section 3, subsampling)",
            .keys = {key_of_kept_share()},
            .leaves_out = true,
            .apply = keep_drawn_ones,
            .shrink = [](UploadSize& size, const UploadStep& step) {
                size.parameters = count_of_share(step.numbers[0], size.parameters);
                size.other_bytes += sizeof(std::uint64_t);  // the seed
            }};
}

}  // namespace fedhive::clients
