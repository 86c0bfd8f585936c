// Chunks of rows, worked on by several threads. What is summed is summed chunk by chunk, in order,
// so that no result depends on how many threads there were.
#pragma once
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace rboost {

constexpr size_t CHUNK_ROWS = 8192;
// A thread is not worth waking for fewer rows.
constexpr size_t ROWS_WORTH_A_THREAD = 32768;

inline size_t n_chunks(size_t n_rows) { return (n_rows + CHUNK_ROWS - 1) / CHUNK_ROWS; }

// Threads that live as long as what they work on: a pool for all would not survive a fork. Between
// two passes they look out for the next for a moment before they sleep, as waking up takes longer
// than a small fit.
class Team {
   public:
    Team(size_t n_threads, size_t n_rows) {
        n_threads = std::min({n_threads, n_chunks(n_rows), n_rows / ROWS_WORTH_A_THREAD});
        try {
            for (size_t t = 1; t < n_threads; ++t) others_.emplace_back([this] { attend(); });
        } catch (const std::system_error&) {
            // No more threads are to be had: fewer do the same.
        }
    }
    ~Team() {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            ended_ = true;
        }
        wake_.notify_all();
        for (auto& thread : others_) thread.join();
    }
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    template <class Work>
    void for_each_chunk(size_t n_rows, const Work& work) {
        const size_t chunks = n_chunks(n_rows);
        std::atomic<size_t> next{0};
        const std::function<void()> take_turns = [&] {
            for (size_t chunk = next++; chunk < chunks; chunk = next++)
                work(chunk, chunk * CHUNK_ROWS, std::min(n_rows, (chunk + 1) * CHUNK_ROWS));
        };
        if (others_.empty() || chunks < 2) return take_turns();
        {
            std::lock_guard<std::mutex> lock(mutex_);
            task_ = &take_turns;
            ++n_tasks_;
            is_open_ = true;
        }
        wake_.notify_all();
        take_turns();
        // Who has not begun by now need not; who has is waited for.
        is_open_ = false;
        while (n_busy_ > 0) std::this_thread::yield();
    }

   private:
    void attend() {
        size_t seen = 0;
        while (true) {
            for (int look = 0; look < LOOKS && n_tasks_ == seen && !ended_; ++look) pause();
            {
                std::unique_lock<std::mutex> lock(mutex_);
                wake_.wait(lock, [&] { return n_tasks_ != seen || ended_; });
                if (ended_) return;
                seen = n_tasks_;
            }
            ++n_busy_;
            if (is_open_) (*task_)();
            --n_busy_;
        }
    }
    static void pause() {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }

    static constexpr int LOOKS = 10000;  // some hundred microseconds
    std::vector<std::thread> others_;
    std::mutex mutex_;
    std::condition_variable wake_;
    const std::function<void()>* task_ = nullptr;
    std::atomic<size_t> n_tasks_{0}, n_busy_{0};
    std::atomic<bool> is_open_{false}, ended_{false};
};

}  // namespace rboost
