/*
 * Sends and receives between GPUs that reach each other's memory: those of a group are one kernel,
 * in which all go on at once, or several if there are many with one peer; so are the parts of a
 * large collective that copies.
 *
 * A channel leads from one rank to another one. It has lanes, each with rings of
 * chunks in the receiver's memory, and a warp for each lane on either side. A message is cut into
 * chunks, which the first lanes of its channel share; how many do so follows from its length, which
 * both sides know. Each chunk of a lane has a number, one more than the chunk before it, from
 * message to message. The sender writes a chunk as lines that end with the number plus one; the
 * receiver copies it out and tells the sender how many it has taken. Lanes need nothing of each
 * other. Cost of a message of s bytes: one trip and s 128/120 bytes.
 *
 * A long message goes through another ring of the lane, in larger pieces of plain bytes, after each
 * of which the sender tells how many it has put. Cost: two trips, and s bytes.
 *
 * What a rank sends to itself is copied by warps that do nothing else.
 */
#include <cstdint>

#include "lines.cuh"

namespace jccl {

/* To and from each other rank, and the copies. */
constexpr uint32_t MOST_CHANNELS = 2 * MOST_RANKS - 1;
constexpr uint32_t MOST_TRANSFERS = 224;

/* Of all channels that begin, or that end, at a rank. */
constexpr uint32_t LANES = 512;

/* Lines of a chunk that a thread has under way at a time. */
constexpr uint32_t AT_ONCE = 4;
constexpr uint32_t LINES_OF_WARP = 32 / LINE_THREADS;
constexpr uint32_t CHUNK_LINES = AT_ONCE * LINES_OF_WARP;
constexpr uint32_t CHUNK_BYTES = CHUNK_LINES * LINE_BYTES;
constexpr uint32_t RING_CHUNKS = 8;

/* Messages of so many bytes go in pieces. */
constexpr uint64_t LONG = 16 << 20;
constexpr uint32_t PIECE_BYTES = 8192;
constexpr uint32_t RING_PIECES = 2;
constexpr uint32_t LANE_BYTES = RING_CHUNKS * CHUNK_BYTES + RING_PIECES * PIECE_BYTES;

/* What a warp copies in one instruction; and what one that only copies does at a time. */
constexpr uint32_t WARP_BYTES = 32 * 16;
constexpr uint32_t COPIES_AT_ONCE = 8;
constexpr uint32_t COPY_BYTES = COPIES_AT_ONCE * WARP_BYTES;

/* After how many chunks a receiver tells that it has taken them. */
constexpr uint32_t TOLD = 4;

/* Kernels with blocks of so few threads leave room for the next one in their stream. */
constexpr uint32_t SMALL_BLOCK = 128;

/*
 * A rank's memory: by receiver and lane how many chunks, and pieces, that one has taken, which it
 * writes; by sender and lane how many pieces that one has put; the rank's own state, by receiver
 * and lane how many chunks, and pieces, it has sent, by sender and lane how many it has taken, and
 * by channel how many blocks of the present kernel are done; the rings, by sender and lane.
 */
constexpr uint64_t TAKEN = 0;
constexpr uint64_t PUT = TAKEN + 16 * LANES;
constexpr uint64_t SENT = PUT + 16 * LANES;
constexpr uint64_t RECEIVED = SENT + 16 * LANES;
constexpr uint64_t BLOCKS_DONE = RECEIVED + 16 * LANES;
constexpr uint64_t RINGS = BLOCKS_DONE + 128 * 3 * MOST_RANKS;

struct Transfer {
    uint64_t address;
    uint64_t bytes;
};

enum Kind : uint32_t { SENDS, RECEIVES, COPIES };

/* Messages of one channel, in their order; a copy's are two transfers, from and to. */
struct Channel {
    uint32_t peer;
    Kind kind;
    /* Its warps in the kernel. */
    uint32_t first_warp;
    uint32_t warps;
    uint32_t first_transfer;
    uint32_t transfers;
};

/* As org.jccl.cuda.TransferArguments writes it. */
struct Transfers {
    uint64_t memory[MOST_RANKS];
    /* Words of the host: not 0 if the kernel is to stop; set when it starts and when it is done. */
    uint64_t stop;
    uint64_t started;
    uint64_t done;
    uint64_t use;
    uint32_t rank;
    /* Lanes of a channel. */
    uint32_t lanes;
    uint32_t channels;
    uint32_t warps;
    Channel channel[MOST_CHANNELS];
    Transfer transfer[MOST_TRANSFERS];
};

/* A warp copies bytes, each thread N times 16 at a time. */
template <uint32_t N>
__device__ void copy(uint64_t to, uint64_t from, uint64_t bytes) {
    uint64_t at = threadIdx.x % 32 * 16;
    bool aligned = (to | from) % 16 == 0;
    for (; aligned && at + (N - 1) * WARP_BYTES + 16 <= bytes; at += N * WARP_BYTES) {
        Words words[N];
#pragma unroll
        for (uint32_t k = 0; k < N; k++) {
            words[k] = load_whole(from + at + k * WARP_BYTES);
        }
#pragma unroll
        for (uint32_t k = 0; k < N; k++) {
            store_whole(to + at + k * WARP_BYTES, words[k]);
        }
    }
    for (; at < bytes; at += WARP_BYTES) {
        int64_t left = int64_t(bytes - at);
        uint64_t first = load_bytes(from + at, left);
        uint64_t second = load_bytes(from + at + 8, left - 8);
        store_bytes(to + at, left, first);
        store_bytes(to + at + 8, left - 8, second);
    }
}

/* A warp's side of a lane. */
struct Lane {
    const Transfers& a;
    const Channel& channel;
    uint32_t lane;
    /* Chunks that have passed, and of those sent how many are known to be taken. */
    uint64_t passed;
    uint64_t taken;
    uint64_t pieces;

    /* Among the lanes of a rank's channels from or to the others. */
    __device__ uint64_t number(uint32_t of, uint32_t other) const {
        return lane + (other - (other > of ? 1 : 0)) * a.lanes;
    }

    __device__ uint64_t own(uint64_t words) const {
        return a.memory[a.rank] + words + 16 * number(a.rank, channel.peer);
    }

    __device__ uint64_t theirs(uint64_t words) const {
        return a.memory[channel.peer] + words + 16 * number(channel.peer, a.rank);
    }

    __device__ uint64_t ring(uint32_t sender, uint32_t receiver) const {
        return a.memory[receiver] + RINGS + number(receiver, sender) * LANE_BYTES;
    }

    /* The chunk that is next, where this thread's part of the first line is. */
    __device__ uint64_t place(uint32_t sender, uint32_t receiver) const {
        return ring(sender, receiver) + passed % RING_CHUNKS * CHUNK_BYTES + threadIdx.x % 32 * 16;
    }

    __device__ static bool is_last_thread() {
        return threadIdx.x % LINE_THREADS == LINE_THREADS - 1;
    }

    /* Of a chunk, the lines with a part for this thread that the message has. */
    __device__ static uint32_t count(uint64_t chunk, uint64_t lines) {
        uint64_t first = chunk * CHUNK_LINES + threadIdx.x % 32 / LINE_THREADS;
        uint64_t left = first < lines ? (lines - first + LINES_OF_WARP - 1) / LINES_OF_WARP : 0;
        return uint32_t(min(left, uint64_t(AT_ONCE)));
    }

    /* Where this thread's part of the k-th of these lines is in the message. */
    __device__ static uint64_t offset(uint64_t chunk, uint32_t k) {
        uint64_t line = chunk * CHUNK_LINES + k * LINES_OF_WARP + threadIdx.x % 32 / LINE_THREADS;
        return line * LINE_DATA_BYTES + threadIdx.x % LINE_THREADS * 16;
    }

    /* Waits until the ring has room for a chunk. */
    __device__ bool await_room() {
        for (uint32_t polls = 1; passed >= taken + RING_CHUNKS; polls++) {
            taken = load(own(TAKEN));
            if (polls % POLLS == 0 && load(a.stop) != 0) {
                return false;
            }
        }
        return true;
    }

    __device__ bool send(const Transfer& message, uint64_t chunk, uint32_t lines) {
        Words words[AT_ONCE] = {};
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) {
            if (k < lines) {
                uint64_t at = offset(chunk, k);
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
                store_pair(to + k * LINES_OF_WARP * LINE_BYTES, {words[k].first, second});
            }
        }
        return true;
    }

    __device__ bool receive(const Transfer& message, uint64_t chunk, uint32_t lines) {
        Words words[AT_ONCE] = {};
        if (!await_lines<AT_ONCE>(place(channel.peer, a.rank), LINES_OF_WARP * LINE_BYTES, lines,
                                  passed + 1, a.stop, words)) {
            return false;
        }
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) {
            if (k < lines) {
                uint64_t at = offset(chunk, k);
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

    /* The piece that is next. */
    __device__ uint64_t piece(uint32_t sender, uint32_t receiver) const {
        uint64_t at = RING_CHUNKS * CHUNK_BYTES + pieces % RING_PIECES * PIECE_BYTES;
        return ring(sender, receiver) + at;
    }

    /* Waits until a word has come so far; all threads of a warp call it together. */
    __device__ bool await_count(uint64_t at, uint64_t wanted) const {
        bool come = wanted == 0;
        for (uint32_t polls = 1; !come; polls++) {
            come = load_acquire(at) >= wanted;
            if (polls % POLLS == 0 && load(a.stop) != 0) {
                break;
            }
        }
        return __all_sync(ALL_LANES, come);
    }

    __device__ bool send_piece(uint64_t from, uint32_t bytes) {
        uint64_t wanted = pieces < RING_PIECES ? 0 : pieces + 1 - RING_PIECES;
        if (!await_count(own(TAKEN) + 8, wanted)) {
            return false;
        }
        copy<AT_ONCE>(piece(a.rank, channel.peer), from, bytes);
        pieces++;
        __syncwarp();
        if (threadIdx.x % 32 == 0) {
            store_release(theirs(PUT), pieces);
        }
        return true;
    }

    __device__ bool receive_piece(uint64_t to, uint32_t bytes) {
        if (!await_count(own(PUT), pieces + 1)) {
            return false;
        }
        copy<AT_ONCE>(to, piece(channel.peer, a.rank), bytes);
        pieces++;
        __syncwarp();
        /* What was read has been stored by now, so it needs no release. */
        if (threadIdx.x % 32 == 0) {
            store(theirs(TAKEN) + 8, pieces);
        }
        return true;
    }

    /* This lane's part of a long message. */
    __device__ bool move_long(const Transfer& message, bool receives) {
        uint64_t even = (message.bytes + a.lanes - 1) / a.lanes;
        uint64_t part = (even + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
        uint64_t end = min(message.bytes, part * (lane + 1));
        bool going = true;
        for (uint64_t at = part * lane; going && at < end; at += PIECE_BYTES) {
            uint32_t bytes = uint32_t(min(end - at, uint64_t(PIECE_BYTES)));
            uint64_t address = message.address + at;
            going = receives ? receive_piece(address, bytes) : send_piece(address, bytes);
        }
        return going;
    }

    /* All messages of the channel; all threads of a warp call it together. */
    __device__ void run() {
        bool receives = channel.kind == RECEIVES;
        uint64_t state = own(receives ? RECEIVED : SENT);
        passed = load(state);
        pieces = load(state + 8);
        taken = receives ? 0 : load(own(TAKEN));
        uint64_t before = passed;
        bool going = true;
        for (uint32_t i = 0; going && i < channel.transfers; i++) {
            const Transfer& message = a.transfer[channel.first_transfer + i];
            if (message.bytes >= LONG) {
                going = move_long(message, receives);
                continue;
            }
            uint64_t lines = (message.bytes + LINE_DATA_BYTES - 1) / LINE_DATA_BYTES;
            uint64_t chunks = (lines + CHUNK_LINES - 1) / CHUNK_LINES;
            uint64_t step = min(uint64_t(a.lanes), chunks);
            for (uint64_t chunk = lane; going && lane < step && chunk < chunks; chunk += step) {
                uint32_t some = count(chunk, lines);
                going = receives ? receive(message, chunk, some) : send(message, chunk, some);
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
            store_pair(state, {passed, pieces});
        }
    }
};

/* What one warp copies of the messages of a rank to itself. */
__device__ void copy(const Transfers& a, const Channel& channel, uint32_t warp) {
    for (uint32_t i = 0; i < channel.transfers; i++) {
        const Transfer& out = a.transfer[channel.first_transfer + 2 * i];
        const Transfer& in = a.transfer[channel.first_transfer + 2 * i + 1];
        uint64_t bytes = min(out.bytes, in.bytes);
        for (uint64_t at = uint64_t(warp) * COPY_BYTES; at < bytes;
             at += uint64_t(channel.warps) * COPY_BYTES) {
            copy<COPIES_AT_ONCE>(in.address + at, out.address + at,
                                 min(bytes - at, uint64_t(COPY_BYTES)));
        }
    }
}

__device__ void end(const Transfers& a) {
    if (a.done == 0) {
        return;
    }
    __syncthreads();
    if (threadIdx.x != 0) {
        return;
    }
    /* Who sees the word of the host may start a kernel that reads the state. */
    __threadfence();
    const Channel& first = a.channel[0];
    uint64_t number = first.kind * MOST_RANKS + first.peer;
    auto* done = reinterpret_cast<unsigned*>(a.memory[a.rank] + BLOCKS_DONE + 128 * number);
    /* A kernel without channels has one block, and no counter of its own. */
    if (gridDim.x == 1 || atomicInc(done, gridDim.x - 1) == gridDim.x - 1) {
        store(a.done, a.use);
    }
}

}  // namespace jccl

/*
 * As many registers as the large kernels of exchange.cu: kernels of several communicators fit side
 * by side.
 */
extern "C" __global__ void __launch_bounds__(512, 2)
    jccl_transfers(const __grid_constant__ jccl::Transfers arguments) {
    const jccl::Transfers& a = arguments;
    /* From here on the kernel before is over. */
    asm volatile("griddepcontrol.wait;" ::: "memory");
    if (blockDim.x <= jccl::SMALL_BLOCK) {
        asm volatile("griddepcontrol.launch_dependents;");
    }
    if (blockIdx.x == 0 && threadIdx.x == 0 && a.started != 0) {
        jccl::store(a.started, a.use);
    }
    uint32_t warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (warp < a.warps) {
        uint32_t i = 0;
        while (i + 1 < a.channels && a.channel[i + 1].first_warp <= warp) {
            i++;
        }
        const jccl::Channel& channel = a.channel[i];
        if (channel.kind == jccl::COPIES) {
            jccl::copy(a, channel, warp - channel.first_warp);
        } else {
            jccl::Lane lane = {a, channel, warp - channel.first_warp, 0, 0, 0};
            lane.run();
        }
    }
    jccl::end(a);
}
