// Error feedback: S. U. Stich et al. 2018, arXiv:1809.07599, Algorithm 1; S. P. Karimireddy et al.
// 2019, arXiv:1901.09847, Algorithm 2.
//
//   p_k <- update_k + e_k;   sent = C(p_k);   e_k <- p_k - sent            e_k = 0 before client k's first update
//
// The chain itself does the arithmetic (upload.cpp), since it begins at this step and ends after the last one.
// Differs   applied to a client's update after its local steps, not to a gradient times its rate; clients take part in some
//           rounds only, so that e_k may be old.
#include "clients/uploads/upload.h"

namespace fedhive::clients {

UploadSpec error_feedback() {
    return {.name = "error_feedback",
            .summary =
                "the client stores what later steps remove from its update, and adds it to its next update (Stich et al. 2018, "
                "arXiv:1809.07599; Karimireddy et al. 2019, arXiv:1901.09847)",
            .keys = {},
            .memories = {
                {.name = "residual", .owner = aggregation::MemoryOwner::Client, .change = aggregation::MemoryChange::Set}}};
}

}  // namespace fedhive::clients
