// Error feedback: S. U. Stich et al. 2018, arXiv:1809.07599, Algorithm 1; S. P. Karimireddy et al. 2019, arXiv:1901.09847, Algorithm 2.
//
//   p_k <- update_k + e_k;   sent = C(p_k);   e_k <- p_k - sent            e_k = 0 before client k's first update
//
// The arithmetic is the chain's own (upload.cpp), as it begins here and ends behind the last step.
// Differs   of a client's update after its local steps, not of a gradient times its rate; clients take part now and then, so e_k may be old.
#include "clients/uploads/upload.h"

namespace fedhive::clients {

UploadSpec error_feedback() {
    return {
        .name = "error_feedback",
        .summary =
            "what the steps behind it take off an update stays with the client, which adds it to its next one (Stich et al. "
            "2018, arXiv:1809.07599; Karimireddy et al. 2019, arXiv:1901.09847)",
        .keys = {},
        .channels = {{.name = aggregation::kResidual, .commit = aggregation::Commit::Set}}};
}

}  // namespace fedhive::clients
