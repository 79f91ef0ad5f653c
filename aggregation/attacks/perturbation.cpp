#include "aggregation/attacks/perturbation.h"

#include <cmath>

namespace fedhive::aggregation {

namespace {

/// ū as coefficients of all rows.
std::vector<double> mean_of_rows(std::size_t count, std::size_t rows) {
    std::vector<double> mean(rows, 0.0);
    for (std::size_t k = 0; k < count; ++k) mean[k] = 1.0 / static_cast<double>(count);
    return mean;
}

/// p as coefficients of all rows.
std::vector<double> direction_of(Perturbation perturbation, std::vector<double> mean, const InnerProducts& products) {
    if (perturbation == Perturbation::Unit) {
        const double length = std::sqrt(products.squared_of(mean));
        for (double& of_row : mean) of_row = length > 0.0 ? -of_row / length : 0.0;
        return mean;
    }
    std::vector<double> direction(mean.size(), 0.0);
    direction.back() = -1.0;
    return direction;
}

}  // namespace

KeySpec direction_of_perturbation() {
    return {.name = "direction",
            .default_value = Perturbation::Unit,
            .choices = words_of<Perturbation>(),
            .doc =
                "Direction in which the mean of the honest updates is moved. unit: the reversed mean; std: minus the standard "
                "deviation of each column; sign: minus the sign of each column of the mean."};
}

ExtraRow row_of_perturbation(const Values& values) {
    switch (values.choice<Perturbation>("direction")) {
        case Perturbation::Unit:
            return ExtraRow::None;
        case Perturbation::Std:
            return ExtraRow::Deviation;
        case Perturbation::Sign:
            return ExtraRow::SignOfMean;
    }
    return ExtraRow::None;
}

Perturbed::Perturbed(const HonestUpdates& honest, const Values& values) : count_(honest.count) {
    const InnerProducts& products = *honest.products;
    const std::vector<double> mean = mean_of_rows(count_, products.rows());
    direction_ = direction_of(values.choice<Perturbation>("direction"), mean, products);
    squared_ = products.squared_of(direction_);
    double of_mean = 0.0;  // ⟨p, ū⟩
    for (std::size_t i = 0; i < count_; ++i) {
        along_.push_back(-products.dot_of(i, direction_));
        of_mean -= along_.back() / static_cast<double>(count_);
    }
    for (double& one : along_) one += of_mean;
    squared_distances_ = products.squared_distances_to(mean);
    squared_distances_.resize(count_);
}

Crafted Perturbed::at(double gamma) const {
    Crafted crafted{.of_updates = mean_of_rows(count_, count_)};
    for (std::size_t k = 0; k < count_; ++k) crafted.of_updates[k] += gamma * direction_[k];
    if (direction_.size() > count_) crafted.of_extra = gamma * direction_.back();
    return crafted;
}

}  // namespace fedhive::aggregation
