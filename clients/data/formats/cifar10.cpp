#include "clients/data/data_format.h"
#include "clients/data/formats/cifar.h"

#include <array>

namespace fedhive::clients {

DataFormat cifar10() {
    return {
        .name = "cifar10",
        .summary = "CIFAR-10's binary files",
        .keys = {{.name = "root",
                  .default_value = std::filesystem::path(),
                  .required = true,
                  .may_change = true,
                  .doc =
                      "Folder with `data_batch_1.bin` … `data_batch_5.bin` and `test_batch.bin`; relative to the config file. "
                      "`fedhive data cifar10` fetches it into data/cifar-10-batches-bin."}},
        .blamed = "root",
        .shape =
            [](const Values&, TargetKind) {
                return DataShape{{3, 32, 32}, 10};
            },
        .read =
            [](const Values& values, std::uint64_t, TargetKind) {
                static constexpr std::array train{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                                  "data_batch_4.bin", "data_batch_5.bin"};
                static constexpr std::array test{"test_batch.bin"};
                return read_cifar(values.path("root"), {.train = train,
                                                        .test = test,
                                                        .num_classes = 10,
                                                        .to_fetch = "`fedhive data cifar10` fetches it into "
                                                                    "data/cifar-10-batches-bin"});
            }};
}

}  // namespace fedhive::clients
