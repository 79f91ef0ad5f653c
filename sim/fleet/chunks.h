// The cells on the board, and the attempts, of tasks that are cut into chunks which any worker may take.
#pragma once

#include "sim/fleet/board.h"
#include "sim/round/flight.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace fedhive::sim {

class Chunks {
public:
    explicit Chunks(Board& board) : board_(board) {}

    /// Puts one task on the board for each `size` items of [first, end), in place of all earlier chunks. Returns their cells.
    std::vector<std::size_t> put(clients::Task task, std::uint64_t first, std::uint64_t end, std::uint64_t size) {
        tasks_.clear();
        std::vector<std::size_t> cells;
        for (task.first = first; task.first < end; task.first += size) {
            task.count = std::min(size, end - task.first);
            cells.push_back(board_.cell_of_chunk(tasks_.size()));
            board_.put_chunk(tasks_.size(), task);
            tasks_.push_back(task);
        }
        attempts_.assign(tasks_.size(), {});
        return cells;
    }

    void put_again(std::size_t cell) { board_.put_chunk(board_.chunk_of(cell), tasks_[board_.chunk_of(cell)]); }
    Attempts& attempts(std::size_t cell) { return attempts_[board_.chunk_of(cell)]; }

private:
    Board& board_;
    std::vector<clients::Task> tasks_;
    std::vector<Attempts> attempts_;
};

}  // namespace fedhive::sim
