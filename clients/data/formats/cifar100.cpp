#include "clients/data/data_format.h"
#include "clients/data/formats/cifar.h"

#include <array>

namespace fedhive::clients {

namespace {

enum class Cifar100Labels { Fine, Coarse };
constexpr auto all_words(Cifar100Labels) { return std::array{"fine", "coarse"}; }

bool has_fine_labels(const Values& values) { return values.choice<Cifar100Labels>("labels") == Cifar100Labels::Fine; }

}  // namespace

DataFormat cifar100() {
    return {.name = "cifar100",
            .summary = "CIFAR-100's binary files",
            .keys = {{.name = "root",
                      .default_value = std::filesystem::path(),
                      .required = true,
                      .may_change = true,
                      .doc = "Folder with `train.bin` and `test.bin` of the binary version; relative to the config file. "
                             "`fedhive data cifar100` fetches it into data/cifar-100-binary."},
                     {.name = "labels",
                      .default_value = Cifar100Labels::Fine,
                      .choices = words_of<Cifar100Labels>(),
                      .doc = "fine: 100 classes; coarse: their 20 superclasses."}},
            .blamed = "root",
            .shape =
                [](const Values& values, TargetKind) {
                    return DataShape{{3, 32, 32}, has_fine_labels(values) ? 100 : 20};
                },
            .read =
                [](const Values& values, std::uint64_t, TargetKind) {
                    static constexpr std::array train{"train.bin"};
                    static constexpr std::array test{"test.bin"};
                    const bool fine = has_fine_labels(values);
                    return read_cifar(values.path("root"), {.train = train,
                                                            .test = test,
                                                            .labels = 2,
                                                            .label = fine ? 1U : 0U,
                                                            .num_classes = fine ? 100 : 20,
                                                            .to_fetch = "`fedhive data cifar100` fetches it into "
                                                                        "data/cifar-100-binary"});
                }};
}

}  // namespace fedhive::clients
