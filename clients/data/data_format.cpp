#include "clients/data/data_format.h"

#include "aggregation/base/error.h"

#include <algorithm>

namespace fedhive::clients {

// Each in the file of its name, in formats/.
DataFormat glyphs();
DataFormat synthetic();
DataFormat idx();
DataFormat cifar10();
DataFormat cifar100();
DataFormat npz();
DataFormat csv();
DataFormat synthetic_devices();

const std::vector<DataFormat>& data_catalog() {
    static const std::vector<DataFormat> catalog = {glyphs(),   synthetic(), idx(), cifar10(),
                                                    cifar100(), npz(),       csv(), synthetic_devices()};
    return catalog;
}

const DataFormat& data_format(const std::string& name) {
    const std::vector<DataFormat>& catalog = data_catalog();
    const auto found = std::find_if(catalog.begin(), catalog.end(), [&](const auto& format) { return format.name == name; });
    FEDHIVE_CHECK(found != catalog.end(), "no data format is called '{}'", name);
    return *found;
}

}  // namespace fedhive::clients
