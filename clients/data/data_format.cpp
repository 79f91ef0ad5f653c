#include "clients/data/data_format.h"

#include "aggregation/base/error.h"

namespace fedhive::clients {

// Each is defined in the file of its name in formats/.
DataFormat glyphs();
DataFormat synthetic();
DataFormat idx();
DataFormat cifar10();
DataFormat cifar100();
DataFormat npz();
DataFormat csv();
DataFormat synthetic_devices();
DataFormat synthetic_linear();
DataFormat text();
DataFormat leaf();
DataFormat images();

const std::vector<DataFormat>& data_catalog() {
    static const std::vector<DataFormat> catalog = {
        glyphs(), synthetic(),         idx(),  cifar10(),          cifar100(), npz(),
        csv(),    synthetic_devices(), text(), synthetic_linear(), leaf(),     images()};
    return catalog;
}

std::int64_t classes_wanted(const Values& values, TargetKind wanted) {
    const std::int64_t classes = values.integer("classes");
    if (classes > 0 && wanted == TargetKind::Numbers)
        throw ConfigError(
            fmt::format("classes is {}, but the targets of task regression are numbers; remove classes", classes));
    return classes;
}

const DataFormat& data_format(const std::string& name) { return entry_of(data_catalog(), name, "data format"); }

}  // namespace fedhive::clients
