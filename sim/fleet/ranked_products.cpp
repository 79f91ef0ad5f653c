#include "sim/fleet/ranked_products.h"

#include "aggregation/base/divide_up.h"
#include "aggregation/math/host_view.h"
#include "aggregation/math/vector_ops.h"
#include "sim/ranks/bytes.h"

#include <algorithm>
#include <deque>
#include <vector>

namespace fedhive::sim {

using aggregation::ConstParamSpan;
using aggregation::gram_values;
using aggregation::InnerProducts;
using aggregation::kGramColumns;

namespace {

std::span<const std::byte> bytes_of(const float* values, std::size_t count) { return std::as_bytes(std::span(values, count)); }

}  // namespace

InnerProducts products_over_ranks(Ranks& ranks, std::span<const aggregation::Update> updates, std::size_t base,
                                  const std::function<std::uint32_t(const aggregation::Update&)>& owner,
                                  const Patience& patience, const ProductRows& rows_of) {
    const std::uint32_t mine = ranks.rank();
    const std::size_t num_floats = rows_of.columns;
    const std::uint64_t ranges = divide_up(num_floats, kGramColumns);
    const auto begin_of = [&](std::uint32_t rank) {
        return std::min<std::size_t>(num_floats, ranks.begin_of(ranges, rank) * kGramColumns);
    };
    const auto size_of = [&](std::uint32_t rank) { return begin_of(rank + 1) - begin_of(rank); };
    std::vector<std::vector<float>> received;  // this rank's columns of the others' updates
    std::deque<aggregation::HostView> own;
    std::deque<std::vector<float>> sums;  // of this rank's updates and their histories
    std::vector<const float*> columns;    // this rank's columns of all updates
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    for (std::size_t k = 0; k < updates.size(); ++k) {
        const aggregation::Update& update = updates[k];
        const std::uint32_t rank = owner(update);
        if (rank != mine) {
            std::vector<float>& place = received.emplace_back(size_of(mine));
            in.push_back({rank, std::as_writable_bytes(std::span(place))});
            columns.push_back(place.data());
            continue;
        }
        const float* values = ConstParamSpan(own.emplace_back(update.values.part(rows_of.first, num_floats))).data;
        if (rows_of.adds_histories() && rows_of.sums[k].size > 0) {
            std::vector<float>& sum = sums.emplace_back(values, values + num_floats);
            aggregation::add(sum, rows_of.sums[k]);
            values = sum.data();
        }
        for (std::uint32_t to = 0; to < ranks.size(); ++to)
            if (to != mine) out.push_back({to, bytes_of(values + begin_of(to), size_of(to))});
        columns.push_back(values + begin_of(mine));
    }
    ranks.exchange(out, in, patience);

    std::vector<double> values(gram_values(updates.size()));
    std::vector<const float*> rows(columns.size());
    BytesWriter bytes;
    for (std::size_t first = 0; first < size_of(mine); first += kGramColumns) {
        for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = columns[k] + first;
        aggregation::gram(rows, base, std::min(kGramColumns, size_of(mine) - first), aggregation::MemorySpace::Host, values);
        for (const double value : values) bytes.put(value);
    }
    InnerProducts products(updates.size(), base);
    for (const std::string& theirs : ranks.all_gather(bytes.take(), patience))  // by rank, so by columns
        for (BytesReader reader(theirs); !reader.empty();) {
            for (double& value : values) value = reader.get<double>();
            products.add(values);
        }
    return products;
}

}  // namespace fedhive::sim
