/* Memory of software GPUs, and their streams. */
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

constexpr auto POLL = std::chrono::microseconds(20);

struct Context {
    int device;
};

inline uint64_t load(uint64_t address) {
    return std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(address)).load();
}

inline void store(uint64_t address, uint64_t value) {
    if (address != 0) {
        std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(address)).store(value);
    }
}

inline char* at(uint64_t address) {
    return reinterpret_cast<char*>(address);
}

/* Does what it is given one by one, in a thread of its own, which ends with the stream. */
class Stream {
   public:
    Context* const context;

    explicit Stream(Context* its) : context(its) {
        std::thread([this] { run(); }).detach();
    }

    void give(std::function<void()> task) {
        std::lock_guard<std::mutex> lock(mutex);
        tasks.push_back(std::move(task));
        given++;
        changed.notify_all();
    }

    void synchronize() {
        std::unique_lock<std::mutex> lock(mutex);
        uint64_t until = given;
        changed.wait(lock, [&] { return done >= until; });
    }

    void end() {
        std::lock_guard<std::mutex> lock(mutex);
        ends = true;
        changed.notify_all();
    }

   private:
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> tasks;
    uint64_t given = 0;
    uint64_t done = 0;
    bool ends = false;

    void run() {
        std::unique_lock<std::mutex> lock(mutex);
        while (true) {
            changed.wait(lock, [this] { return ends || !tasks.empty(); });
            if (tasks.empty()) {
                break;
            }
            auto task = std::move(tasks.front());
            tasks.pop_front();
            lock.unlock();
            task();
            lock.lock();
            done++;
            changed.notify_all();
        }
        lock.unlock();
        delete this;
    }
};
