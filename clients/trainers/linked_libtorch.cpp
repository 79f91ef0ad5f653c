// LibTorch linked into the program.
#include "clients/trainers/libtorch_trainer.h"

namespace fedhive::clients {

const LibtorchEngine& libtorch_engine() { return fedhive_libtorch_engine(); }

}  // namespace fedhive::clients
