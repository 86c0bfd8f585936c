// Chunks of rows, worked on by several threads. What is summed is summed chunk by chunk, in order,
// so that no result depends on how many threads there were.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace rboost {

constexpr size_t CHUNK_ROWS = 8192;
// Starting a thread costs as much as a pass over this many rows.
constexpr size_t ROWS_WORTH_A_THREAD = 32768;

inline size_t n_chunks(size_t n_rows) { return (n_rows + CHUNK_ROWS - 1) / CHUNK_ROWS; }

// Threads are started anew each time: a pool would not survive a fork and would spin or sleep
// between passes, and a pass worth several threads takes much longer than starting them.
template <class Work>
void for_each_chunk(size_t n_rows, size_t n_threads, const Work& work) {
    const size_t chunks = n_chunks(n_rows);
    n_threads = std::min({n_threads, chunks, std::max<size_t>(1, n_rows / ROWS_WORTH_A_THREAD)});
    std::atomic<size_t> next{0};
    auto take_turns = [&] {
        for (size_t chunk = next++; chunk < chunks; chunk = next++)
            work(chunk, chunk * CHUNK_ROWS, std::min(n_rows, (chunk + 1) * CHUNK_ROWS));
    };
    std::vector<std::thread> others;
    for (size_t t = 1; t < n_threads; ++t) others.emplace_back(take_turns);
    take_turns();
    for (auto& thread : others) thread.join();
}

}  // namespace rboost
