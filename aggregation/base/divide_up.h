// Division that rounds up. Not for clients/direct/kernels: what those files include is compiled for one instruction set.
#pragma once

#include <type_traits>

namespace fedhive {

/// total / size, rounded up. total >= 0, size > 0.
template <class Total, class Size>
constexpr std::common_type_t<Total, Size> divide_up(Total total, Size size) {
    return (total + size - 1) / size;
}

/// The least multiple of `size` that is no less than `total`.
template <class Total, class Size>
constexpr std::common_type_t<Total, Size> round_up(Total total, Size size) {
    return divide_up(total, size) * size;
}

}  // namespace fedhive
