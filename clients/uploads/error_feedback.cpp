// The arithmetic is the chain's own (upload.cpp), as it begins here and ends behind the last step.
#include "clients/uploads/upload.h"

namespace fedhive::clients {

UploadSpec error_feedback() {
    return {
        .name = "error_feedback",
        .summary =
            "what the steps behind it take off an update stays with the client, which adds it to its next one (Stich et al. "
            "2018, arXiv:1809.07599; Karimireddy et al. 2019, arXiv:1901.09847)",
        .keys = {},
        .keeps_rest = true};
}

}  // namespace fedhive::clients
