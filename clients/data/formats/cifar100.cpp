#include "clients/data/data_format.h"
#include "clients/data/formats/cifar.h"

#include <array>

namespace fedhive::clients {

DataFormat cifar100() {
    return {.name = "cifar100",
            .summary = "CIFAR-100's binary files",
            .keys = {{.name = "root",
                      .default_value = std::filesystem::path(),
                      .required = true,
                      .may_change = true,
                      .doc = "Folder with `train.bin` and `test.bin` of the binary version; relative to the config file. "
                             "`scripts/data cifar100` fetches it into data/cifar-100-binary."},
                     {.name = "labels",
                      .default_value = "fine",
                      .choices = {"fine", "coarse"},
                      .doc = "fine: 100 classes; coarse: their 20 superclasses."}},
            .blamed = "root",
            .shape =
                [](const Values& values, TargetKind) {
                    return DataShape{{3, 32, 32}, values.word("labels") == "fine" ? 100 : 20};
                },
            .read =
                [](const Values& values, std::uint64_t, TargetKind) {
                    static constexpr std::array train{"train.bin"};
                    static constexpr std::array test{"test.bin"};
                    const bool fine = values.word("labels") == "fine";
                    return read_cifar(values.path("root"), {.train = train,
                                                            .test = test,
                                                            .labels = 2,
                                                            .label = fine ? 1U : 0U,
                                                            .num_classes = fine ? 100 : 20,
                                                            .to_fetch = "run `scripts/data cifar100` and name its folder, "
                                                                        "data/cifar-100-binary"});
                }};
}

}  // namespace fedhive::clients
