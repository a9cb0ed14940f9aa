/*
 * Sends and receives between GPUs that reach each other's memory: those of a group are one kernel,
 * in which all go on at once, or several if there are many with one peer.
 *
 * A channel leads from one rank to another one. It has lanes, each with rings of
 * chunks in the receiver's memory, and a warp for each lane on either side. A message is cut into
 * chunks, which the first lanes of its channel share; how many do so follows from its length, which
 * both sides know. Each chunk of a lane has a number, one more than the chunk before it, from
 * message to message. The sender writes a chunk as lines that end with the number plus one; the
 * receiver copies it out and tells the sender how many it has taken. Lanes need nothing of each
 * other. Cost of a message of s bytes: one trip and s 128/120 bytes.
 *
 * Long messages do not wait for others. Those between two ranks have lanes of their own, a block of
 * threads each, which shares a message with the other lanes and works in both directions: it moves
 * pieces of plain bytes whenever there is room in the receiver's ring, or one has come to its own.
 * The sender tells how many it has put. Cost: two trips, and s bytes.
 *
 * What a rank sends to itself is copied by warps that do nothing else.
 */
#include <cstdint>

#include "arguments.cuh"
#include "lines.cuh"
#include "pieces.cuh"

namespace jccl {

/* Of all channels that begin, or that end, at a rank. */
constexpr uint32_t LANES = 512;

/* Lines of a chunk that a thread has under way at a time, at most. */
constexpr uint32_t AT_ONCE = 4;
constexpr uint32_t CHUNK_BYTES = AT_ONCE * WARP_LINES * LINE_BYTES;
constexpr uint32_t RING_CHUNKS = 8;

/* How many times 16 bytes a thread has under way if it copies. */
constexpr uint32_t COPIES_AT_ONCE = 8;
constexpr uint32_t COPY_BYTES = COPIES_AT_ONCE * 32 * WORDS_BYTES;

/* After how many chunks a receiver tells that it has taken them. */
constexpr uint32_t TOLD = 4;

/*
 * Kernels with blocks of so few threads leave room for the next one in their stream, if they have
 * no long messages.
 */
constexpr uint32_t SMALL_BLOCK = 128;

/*
 * A rank's memory: by receiver and lane how many chunks, and pieces, that one has taken, which it
 * writes; by sender and lane how many pieces that one has put; the rank's own state, by receiver
 * and lane how many chunks, and pieces, it has sent, by sender and lane how many it has taken, and
 * by channel how many blocks of the present kernel are done; the rings, by sender and lane, first
 * those of chunks.
 */
constexpr uint64_t TAKEN = 0;
constexpr uint64_t PUT = TAKEN + 16 * LANES;
constexpr uint64_t SENT = PUT + 16 * LANES;
constexpr uint64_t RECEIVED = SENT + 16 * LANES;
constexpr uint64_t BLOCKS_DONE = RECEIVED + 16 * LANES;
constexpr uint64_t RINGS = BLOCKS_DONE + 128 * 3 * MOST_RANKS;
constexpr uint64_t LONG_RINGS = RINGS + LANES * RING_CHUNKS * CHUNK_BYTES;
constexpr uint64_t LONG_RINGS_BYTES = 49 << 20;

/* Among the lanes of a rank's channels from or to the others. */
__device__ inline uint64_t lane_number(uint32_t of, uint32_t other, uint32_t lane, uint32_t lanes) {
    return lane + (other - (other > of ? 1 : 0)) * lanes;
}

/* A warp's side of a lane. */
struct Lane {
    const Transfers& a;
    const Channel& channel;
    uint32_t lane;
    /* Chunks that have passed, and of those sent how many are known to be taken. */
    uint64_t passed;
    uint64_t taken;
    bool receives;
    /* Where this rank keeps `passed`, and where the receiver tells what it has taken. */
    uint64_t state_at;
    uint64_t taken_at;

    __device__ Lane(const Transfers& arguments, const Channel& its_channel, uint32_t its_lane)
        : a(arguments), channel(its_channel), lane(its_lane), passed(0), taken(0) {
        receives = channel.kind == RECEIVES;
        state_at = own(receives ? RECEIVED : SENT);
        taken_at = own(TAKEN);
    }

    __device__ uint64_t number(uint32_t of, uint32_t other) const {
        return lane_number(of, other, lane, a.lanes);
    }

    __device__ uint64_t own(uint64_t words) const {
        return a.memory[a.rank] + words + 16 * number(a.rank, channel.peer);
    }

    __device__ uint64_t theirs(uint64_t words) const {
        return a.memory[channel.peer] + words + 16 * number(channel.peer, a.rank);
    }

    __device__ uint64_t ring(uint32_t sender, uint32_t receiver) const {
        return a.memory[receiver] + RINGS + number(receiver, sender) * RING_CHUNKS * CHUNK_BYTES;
    }

    /* The chunk that is next, where this thread's part of the first line is. */
    __device__ uint64_t place(uint32_t sender, uint32_t receiver) const {
        return ring(sender, receiver) + passed % RING_CHUNKS * CHUNK_BYTES + threadIdx.x % 32 * 16;
    }

    __device__ static bool is_last_thread() {
        return threadIdx.x % LINE_THREADS == LINE_THREADS - 1;
    }

    /* Of how many lines of a message's chunks each thread has a part. */
    __device__ uint32_t lines_each(uint32_t lines) const {
        uint32_t each = (lines + WARP_LINES * a.spread - 1) / (WARP_LINES * a.spread);
        return min(max(each, 1u), AT_ONCE);
    }

    /* Of the lines from one on, those with a part for this thread, of `each` at most. */
    __device__ static uint32_t count(uint32_t first, uint32_t each, uint32_t lines) {
        uint32_t mine = first + threadIdx.x % 32 / LINE_THREADS;
        uint32_t left = mine < lines ? (lines - mine + WARP_LINES - 1) / WARP_LINES : 0;
        return min(left, each);
    }

    /* Where this thread's part of the k-th of the lines from one on is in the message. */
    __device__ static uint64_t offset(uint32_t first, uint32_t k) {
        uint32_t line = first + k * WARP_LINES + threadIdx.x % 32 / LINE_THREADS;
        return uint64_t(line) * LINE_DATA_BYTES + threadIdx.x % LINE_THREADS * 16;
    }

    /* Waits until the ring has room for a chunk. */
    __device__ bool await_room() {
        for (uint32_t polls = 1; passed >= taken + RING_CHUNKS; polls++) {
            taken = load(taken_at);
            if (polls % POLLS == 0 && load(a.stop) != 0) {
                return false;
            }
        }
        return true;
    }

    __device__ bool send(const Transfer& message, uint32_t first, uint32_t lines) {
        Words words[AT_ONCE] = {};
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) {
            if (k < lines) {
                uint64_t at = offset(first, k);
                int64_t left = int64_t(message.bytes - at);
                words[k].first = load_bytes(message.address + at, left);
                if (!is_last_thread()) {
                    words[k].second = load_bytes(message.address + at + 8, left - 8);
                }
            }
        }
        if (!__all_sync(ALL_LANES, await_room())) {
            return false;
        }
        taken = __shfl_sync(ALL_LANES, taken, 0);
        uint64_t to = place(a.rank, channel.peer);
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) {
            if (k < lines) {
                uint64_t second = is_last_thread() ? passed + 1 : words[k].second;
                store_pair(to + k * WARP_LINES * LINE_BYTES, {words[k].first, second});
            }
        }
        return true;
    }

    __device__ bool receive(const Transfer& message, uint32_t first, uint32_t lines) {
        Words words[AT_ONCE] = {};
        if (!await_lines<AT_ONCE>(place(channel.peer, a.rank), WARP_LINES * LINE_BYTES, lines,
                                  passed + 1, a.stop, words)) {
            return false;
        }
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) {
            if (k < lines) {
                uint64_t at = offset(first, k);
                int64_t left = int64_t(message.bytes - at);
                store_bytes(message.address + at, left, words[k].first);
                if (!is_last_thread()) {
                    store_bytes(message.address + at + 8, left - 8, words[k].second);
                }
            }
        }
        return true;
    }

    __device__ void tell() const {
        if (threadIdx.x % 32 == 0) {
            store(theirs(TAKEN), passed);
        }
    }

    /* All messages of the channel; all threads of a warp call it together. */
    __device__ void run() {
        passed = load(state_at);
        taken = receives ? 0 : load(taken_at);
        uint64_t before = passed;
        bool going = true;
        for (uint32_t i = 0; going && i < channel.transfers; i++) {
            const Transfer& message = a.transfer[channel.first_transfer + i];
            uint32_t lines = uint32_t((message.bytes + LINE_DATA_BYTES - 1) / LINE_DATA_BYTES);
            uint32_t each = lines_each(lines);
            uint32_t chunk_lines = each * WARP_LINES;
            for (uint32_t first = lane * chunk_lines; going && first < lines;
                 first += a.lanes * chunk_lines) {
                uint32_t some = count(first, each, lines);
                going = receives ? receive(message, first, some) : send(message, first, some);
                passed += going ? 1 : 0;
                if (receives && passed % TOLD == 0) {
                    tell();
                }
            }
        }
        if (receives && passed != before) {
            tell();
        }
        __syncwarp();
        if (threadIdx.x % 32 == 0) {
            store(state_at, passed);
        }
    }
};

/* The long messages of one direction that a lane has yet to move. */
struct Flow {
    const Transfer* message;
    uint32_t left;
    /* What is left of its share of the first of them, and how long its pieces are. */
    uint64_t at;
    uint64_t end;
    uint32_t piece_bytes;
    /* Pieces that have passed. */
    uint64_t passed;

    /* Goes on to a message of which the lane has something to move, if this one is over. */
    __device__ void settle(uint32_t lane, uint32_t lanes, uint32_t room) {
        while (left > 0 && at >= end) {
            message++;
            left--;
            begin(lane, lanes, room);
        }
    }

    __device__ void begin(uint32_t lane, uint32_t lanes, uint32_t room) {
        if (left > 0) {
            uint64_t share = share_of(message->bytes, lanes);
            at = share * lane;
            end = min(message->bytes, at + share);
            piece_bytes = piece_of(share, room);
        }
    }
};

/* A block's lane of a long channel. */
struct LongLane {
    const Transfers& a;
    const Channel& channel;
    uint32_t lane;
    uint32_t place_bytes;

    __device__ uint64_t word(uint32_t owner, uint64_t of, uint32_t other) const {
        return a.memory[owner] + of + 16 * lane_number(owner, other, lane, a.long_lanes) + 8;
    }

    __device__ uint64_t ring(uint32_t sender, uint32_t receiver, uint64_t number) const {
        uint64_t rings = lane_number(receiver, sender, lane, a.long_lanes);
        uint64_t place = rings * RING_PIECES + number % RING_PIECES;
        return a.memory[receiver] + LONG_RINGS + place * (place_bytes + GAP);
    }

    __device__ Flow flow(uint32_t first, uint32_t transfers, uint64_t state) const {
        Flow flow = {a.transfer + first, transfers, 0, 0, place_bytes, load(state)};
        flow.begin(lane, a.long_lanes, place_bytes);
        flow.settle(lane, a.long_lanes, place_bytes);
        return flow;
    }

    __device__ uint32_t length(const Flow& flow) const {
        return uint32_t(min(flow.end - flow.at, uint64_t(flow.piece_bytes)));
    }

    __device__ void pass(Flow& flow) const {
        flow.passed++;
        flow.at += length(flow);
        flow.settle(lane, a.long_lanes, place_bytes);
    }

    /* Everything; all threads of the block call it together. */
    __device__ void run() {
        uint32_t peer = channel.peer;
        uint32_t sends = channel.transfers - channel.receives;
        uint64_t sent = word(a.rank, SENT, peer);
        uint64_t received = word(a.rank, RECEIVED, peer);
        Flow out = flow(channel.first_transfer, sends, sent);
        Flow in = flow(channel.first_transfer + sends, channel.receives, received);
        for (uint32_t polls = 1; out.left > 0 || in.left > 0; polls++) {
            bool room = out.left > 0 &&
                        (threadIdx.x != 0 || out.passed < RING_PIECES ||
                         load_acquire(word(a.rank, TAKEN, peer)) + RING_PIECES > out.passed);
            bool come = in.left > 0 &&
                        (threadIdx.x != 0 || load_acquire(word(a.rank, PUT, peer)) > in.passed);
            bool puts = __syncthreads_and(room) != 0;
            bool takes = __syncthreads_and(come) != 0;
            if (puts) {
                copy<COPIES_AT_ONCE>(ring(a.rank, peer, out.passed), out.message->address + out.at,
                                     length(out), threadIdx.x, LANE_THREADS);
                pass(out);
            }
            if (takes) {
                copy<COPIES_AT_ONCE>(in.message->address + in.at, ring(peer, a.rank, in.passed),
                                     length(in), threadIdx.x, LANE_THREADS);
                pass(in);
            }
            __syncthreads();
            /* What was read has been stored by now, so the count of what was taken needs no
               release; that of what was put does, and may wait for it. */
            if (takes && threadIdx.x == 0) {
                store(word(peer, TAKEN, a.rank), in.passed);
            }
            if (puts && threadIdx.x == 0) {
                store_release(word(peer, PUT, a.rank), out.passed);
            }
            bool stops = polls % POLLS == 0 && threadIdx.x == 0 && load(a.stop) != 0;
            if (polls % POLLS == 0 && __syncthreads_or(stops)) {
                break;
            }
        }
        /* Another kernel, of messages in the other direction, may be under way. */
        if (threadIdx.x == 0 && sends > 0) {
            store(sent, out.passed);
        }
        if (threadIdx.x == 0 && channel.receives > 0) {
            store(received, in.passed);
        }
    }
};

/* `warp` is the number of this warp among the channel's. */
__device__ void run_long(const Transfers& a, const Channel& channel, uint32_t warp) {
    uint32_t lane = warp / (LANE_THREADS / 32);
    LongLane{a, channel, lane, room_of(LONG_RINGS_BYTES, a.long_lanes * (a.ranks - 1))}.run();
}

/* What one warp copies of the messages of a rank to itself. */
__device__ void copy(const Transfers& a, const Channel& channel, uint32_t warp) {
    for (uint32_t i = 0; i < channel.transfers; i += 2) {
        const Transfer& out = a.transfer[channel.first_transfer + i];
        const Transfer& in = a.transfer[channel.first_transfer + i + 1];
        uint64_t bytes = min(out.bytes, in.bytes);
        for (uint64_t at = uint64_t(warp) * COPY_BYTES; at < bytes;
             at += uint64_t(channel.warps) * COPY_BYTES) {
            copy<COPIES_AT_ONCE>(in.address + at, out.address + at,
                                 min(bytes - at, uint64_t(COPY_BYTES)), threadIdx.x % 32, 32);
        }
    }
}

/* Kernels that run beside each other count their blocks at different places. */
__device__ uint64_t blocks_done(const Transfers& a) {
    const Channel& first = a.channel[0];
    bool receives = first.receives == first.transfers;
    uint32_t kind = first.kind != LONG ? first.kind : receives ? RECEIVES : SENDS;
    return a.memory[a.rank] + BLOCKS_DONE + 128 * (kind * MOST_RANKS + first.peer);
}

}  // namespace jccl

/*
 * As many registers as the large kernels of exchange.cu: kernels of several communicators fit side
 * by side.
 */
extern "C" __global__ void __launch_bounds__(512, 2)
    jccl_transfers(const __grid_constant__ jccl::Transfers arguments) {
    const jccl::Transfers& a = arguments;
    uint32_t warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    uint32_t i = 0;
    while (i < a.channels && warp - a.channel[i].first_warp >= a.channel[i].warps) {
        i++;
    }
    const jccl::Channel& channel = a.channel[i < a.channels ? i : 0];
    jccl::Lane lane(a, channel, warp - channel.first_warp);
    /* From here on the kernel before is over; the operands keep their computation before it. */
    asm volatile("griddepcontrol.wait;" ::"r"(i), "r"(lane.lane), "l"(lane.state_at),
                 "l"(lane.taken_at)
                 : "memory");
    bool has_long = a.channels > 0 && a.channel[a.channels - 1].kind == jccl::LONG;
    if (blockDim.x <= jccl::SMALL_BLOCK && !has_long) {
        asm volatile("griddepcontrol.launch_dependents;");
    }
    if (blockIdx.x == 0 && threadIdx.x == 0 && a.started != 0) {
        jccl::store(a.started, a.use);
    }
    if (i < a.channels) {
        if (channel.kind == jccl::COPIES) {
            jccl::copy(a, channel, lane.lane);
        } else if (channel.kind == jccl::LONG) {
            jccl::run_long(a, channel, lane.lane);
        } else {
            lane.run();
        }
    }
    jccl::tell_end(jccl::blocks_done(a), a.done, a.use);
}
