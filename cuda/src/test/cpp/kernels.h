/* What JCCL's kernels are for, done by the threads of streams. */
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "streams.h"

#define __device__
#include "arguments.cuh"

using jccl::Arguments;
using jccl::has;
using jccl::MOST_RANKS;
using jccl::Transfers;
using Bytes = std::vector<char>;
using Memories = std::vector<uint64_t>;

/* One collective: its ranks come, read, and go on when all have read. */
struct Meeting {
    const Arguments* of[MOST_RANKS] = {};
    uint32_t come = 0;
    uint32_t read = 0;
};

/* What ranks whose kernels have the same memories have in common. */
struct Room {
    std::mutex mutex;
    std::condition_variable changed;
    uint64_t calls[MOST_RANKS] = {};
    std::map<uint64_t, std::shared_ptr<Meeting>> meetings;
    /* By sender, receiver, and whether they are long. */
    std::map<std::tuple<uint32_t, uint32_t, bool>, std::deque<Bytes>> messages;

    /* False if the host says stop first. */
    template <typename Condition>
    bool wait(std::unique_lock<std::mutex>& lock, uint64_t stop, Condition&& condition) {
        while (!condition()) {
            if (load(stop) != 0) {
                return false;
            }
            changed.wait_for(lock, POLL);
        }
        return true;
    }
};

inline Room& room_of(const uint64_t* memory, uint32_t ranks) {
    static std::map<Memories, std::unique_ptr<Room>> rooms;
    static std::mutex mutex;
    std::lock_guard<std::mutex> lock(mutex);
    std::unique_ptr<Room>& room = rooms[Memories(memory, memory + ranks)];
    if (room == nullptr) {
        room = std::make_unique<Room>();
    }
    return *room;
}

struct Kernel {
    std::string name;
    /* NCCL's number of the type of a sum; -1 for a copy. */
    int type = -1;
    bool supported = true;
};

inline void require(bool sound, const char* what) {
    if (!sound) {
        std::fprintf(stderr, "a kernel was told nonsense: %s\n", what);
        std::abort();
    }
}

/* What one rank makes of all inputs. */
class Collective {
   public:
    Collective(const Kernel& its, const Meeting& all, uint32_t its_rank)
        : kernel(its), meeting(all), rank(its_rank), a(*all.of[its_rank]) {}

    /* Pairs of an address and what is to be there. */
    std::vector<std::pair<uint64_t, Bytes>> results() {
        if (a.rootless < a.ranks) {
            relay();
        } else if (kernel.type >= 0) {
            if (a.sources != 0) {
                keep(a.out, fold());
            }
        } else {
            for (uint32_t q = 0; q < a.ranks; q++) {
                if (has(a.sources, q)) {
                    keep(a.out + part(q) * a.out_stride, taken(q, rank));
                }
            }
        }
        return std::move(found);
    }

   private:
    const Kernel& kernel;
    const Meeting& meeting;
    const uint32_t rank;
    const Arguments& a;
    std::vector<std::pair<uint64_t, Bytes>> found;

    uint64_t part(uint32_t q) const {
        return q - (q > a.rootless ? 1 : 0);
    }

    uint64_t length(uint32_t q) const {
        return a.rootless < a.ranks ? std::min(a.bytes, a.all - std::min(a.all, part(q) * a.bytes))
                                    : a.bytes;
    }

    void keep(uint64_t address, Bytes bytes) {
        found.emplace_back(address, std::move(bytes));
    }

    /* What a rank has for another one's part. */
    Bytes taken(uint32_t from, uint32_t to) const {
        const Arguments& theirs = *meeting.of[from];
        require(from == to || has(theirs.readers, to), "a source does not know its reader");
        const char* begin = at(theirs.in + part(to) * theirs.in_stride);
        return Bytes(begin, begin + length(to));
    }

    template <typename T>
    void add(Bytes& sum, const Bytes& next) const {
        T* to = reinterpret_cast<T*>(sum.data());
        const T* from = reinterpret_cast<const T*>(next.data());
        for (size_t i = 0; i < sum.size() / sizeof(T); i++) {
            to[i] += from[i];
        }
    }

    template <typename T>
    void divide(Bytes& sum) const {
        T* to = reinterpret_cast<T*>(sum.data());
        for (size_t i = 0; a.divisor != 0 && i < sum.size() / sizeof(T); i++) {
            to[i] /= T(a.divisor);
        }
    }

    Bytes fold() const {
        require(a.sources == (1u << a.ranks) - 1, "a sum is not of all ranks");
        Bytes sum = taken(0, rank);
        for (uint32_t q = 1; q < a.ranks; q++) {
            kernel.type == 7 ? add<float>(sum, taken(q, rank)) : add<int32_t>(sum, taken(q, rank));
        }
        kernel.type == 7 ? divide<float>(sum) : divide<int32_t>(sum);
        return sum;
    }

    /* What a rank relays of its own part. */
    Bytes relayed(uint32_t by) const {
        const Arguments& theirs = *meeting.of[by];
        if (kernel.type >= 0) {
            return Collective(kernel, meeting, by).fold();
        }
        require(theirs.sources == 1u << a.rootless, "a relay has several sources");
        return Collective(kernel, meeting, by).taken(a.rootless, by);
    }

    void relay() {
        for (uint32_t q = 0; q < a.ranks; q++) {
            if (q == a.rootless) {
                continue;
            }
            uint64_t to = a.out + part(q) * a.out_stride;
            if (has(a.relayed, q)) {
                require(has(meeting.of[q]->relays, rank), "a relay does not know its reader");
                keep(to, relayed(q));
            } else if (kernel.type < 0 && q == rank) {
                keep(to, relayed(q));
            } else if (kernel.type < 0 && rank == a.rootless && a.sources != 0) {
                const char* begin = at(a.in + part(q) * a.in_stride);
                keep(to, Bytes(begin, begin + length(q)));
            }
        }
    }
};

inline void run(const Kernel& kernel, const Arguments& a) {
    store(a.started, a.use);
    Room& room = room_of(a.memory, a.ranks);
    std::unique_lock<std::mutex> lock(room.mutex);
    uint64_t number = room.calls[a.rank]++;
    std::shared_ptr<Meeting>& known = room.meetings[number];
    if (known == nullptr) {
        known = std::make_shared<Meeting>();
    }
    std::shared_ptr<Meeting> meeting = known;
    meeting->of[a.rank] = &a;
    meeting->come++;
    room.changed.notify_all();
    if (room.wait(lock, a.stop, [&] { return meeting->come == a.ranks; })) {
        lock.unlock();
        auto results = Collective(kernel, *meeting, a.rank).results();
        lock.lock();
        meeting->read++;
        room.meetings.erase(number);
        room.changed.notify_all();
        if (room.wait(lock, a.stop, [&] { return meeting->read == a.ranks; })) {
            for (const auto& [address, bytes] : results) {
                std::copy(bytes.begin(), bytes.end(), at(address));
            }
        }
    }
    lock.unlock();
    store(a.done, a.use);
}

/* Messages are kept until they are received, so a send never waits. */
inline void run(const Transfers& a) {
    store(a.started, a.use);
    Room& room = room_of(a.memory, a.ranks);
    std::unique_lock<std::mutex> lock(room.mutex);
    auto each = [&](bool receives, auto&& action) {
        for (uint32_t c = 0; c < a.channels; c++) {
            const jccl::Channel& channel = a.channel[c];
            bool is_long = channel.kind == jccl::LONG;
            uint32_t sends = is_long                       ? channel.transfers - channel.receives
                             : channel.kind == jccl::SENDS ? channel.transfers
                                                           : 0;
            uint32_t from = receives ? sends : 0;
            uint32_t to = receives ? channel.transfers : sends;
            for (uint32_t i = from; channel.kind != jccl::COPIES && i < to; i++) {
                action(channel.peer, is_long, a.transfer[channel.first_transfer + i]);
            }
        }
    };
    each(false, [&](uint32_t peer, bool is_long, const jccl::Transfer& sent) {
        Bytes data(at(sent.address), at(sent.address) + sent.bytes);
        room.messages[{a.rank, peer, is_long}].push_back(std::move(data));
        room.changed.notify_all();
    });
    for (uint32_t c = 0; c < a.channels; c++) {
        const jccl::Channel& channel = a.channel[c];
        for (uint32_t i = 0; channel.kind == jccl::COPIES && i < channel.transfers; i += 2) {
            const jccl::Transfer& out = a.transfer[channel.first_transfer + i];
            const jccl::Transfer& in = a.transfer[channel.first_transfer + i + 1];
            std::memmove(at(in.address), at(out.address), std::min(in.bytes, out.bytes));
        }
    }
    each(true, [&](uint32_t peer, bool is_long, const jccl::Transfer& wanted) {
        auto& queue = room.messages[{peer, a.rank, is_long}];
        if (room.wait(lock, a.stop, [&] { return !queue.empty(); })) {
            size_t bytes = std::min(size_t(wanted.bytes), queue.front().size());
            std::copy_n(queue.front().begin(), bytes, at(wanted.address));
            queue.pop_front();
        }
    });
    lock.unlock();
    store(a.done, a.use);
}
