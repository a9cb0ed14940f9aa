/*
 * Sends and receives between GPUs that reach each other's memory: those of a group are one kernel,
 * in which all go on at once.
 *
 * A channel leads from one rank to another one, or to itself. It has lanes, each with rings of
 * chunks in the receiver's memory, and a warp for each lane on either side. A message is cut into
 * chunks, which the first lanes of its channel share; how many do so follows from its length, which
 * both sides know. Each chunk of a lane has a number, one more than the chunk before it, from
 * message to message. The sender writes a chunk as lines that end with the number plus one; the
 * receiver copies it out and tells the sender how many it has taken. Lanes need nothing of each
 * other. Cost of a message of s bytes: one trip and s 128/120 bytes.
 *
 * A long message goes through another ring of the lane, in larger pieces of plain bytes, after each
 * of which the sender tells how many it has put. Cost: two trips, and s bytes.
 */
#include <cstdint>

#include "lines.cuh"

namespace jccl {

constexpr uint32_t MOST_CHANNELS = 2 * MOST_RANKS;
constexpr uint32_t MOST_TRANSFERS = 224;

/* Of all channels that begin, or that end, at a rank; of its channel to itself. */
constexpr uint32_t LANES = 512;
constexpr uint32_t OWN_LANES = 32;

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

/* What a warp copies of a piece in one instruction, and at a time. */
constexpr uint32_t WARP_BYTES = 32 * 16;
constexpr uint32_t STEP_BYTES = AT_ONCE * WARP_BYTES;

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
constexpr uint64_t RINGS = BLOCKS_DONE + 128 * MOST_CHANNELS;

struct Transfer {
    uint64_t address;
    uint64_t bytes;
};

/* Messages of one channel, in their order. */
struct Channel {
    uint32_t peer;
    uint32_t receives;
    /* Its first warp in the kernel; the last one is before the next channel's first. */
    uint32_t first_warp;
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
    /* Lanes of a channel to another rank, and of that to itself. */
    uint32_t lanes;
    uint32_t own_lanes;
    uint32_t channels;
    uint32_t warps;
    uint32_t unused;
    Channel channel[MOST_CHANNELS];
    Transfer transfer[MOST_TRANSFERS];
};

/* A warp's side of a lane. */
struct Lane {
    const Transfers& a;
    const Channel& channel;
    uint32_t lane;
    /* Chunks that have passed, and of those sent how many are known to be taken. */
    uint64_t passed;
    uint64_t taken;
    uint64_t pieces;

    /* Among the lanes of a rank's channels from or to the others; its own channel is the first. */
    __device__ uint64_t number(uint32_t of, uint32_t other) const {
        return lane + (of == other ? 0 : OWN_LANES + (other - (other > of ? 1 : 0)) * a.lanes);
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
        uint64_t to = piece(a.rank, channel.peer);
        bool aligned = from % 16 == 0;
        for (uint32_t first = threadIdx.x % 32 * 16; first < bytes; first += STEP_BYTES) {
            Words words[AT_ONCE] = {};
#pragma unroll
            for (uint32_t k = 0; k < AT_ONCE; k++) {
                int64_t left = int64_t(bytes) - first - k * WARP_BYTES;
                uint64_t at = from + first + k * WARP_BYTES;
                if (left >= 16 && aligned) {
                    words[k] = load_whole(at);
                } else if (left > 0) {
                    words[k] = {load_bytes(at, left), load_bytes(at + 8, left - 8)};
                }
            }
#pragma unroll
            for (uint32_t k = 0; k < AT_ONCE; k++) {
                if (first + k * WARP_BYTES < bytes) {
                    store_pair(to + first + k * WARP_BYTES, words[k]);
                }
            }
        }
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
        uint64_t from = piece(channel.peer, a.rank);
        bool aligned = to % 16 == 0;
        for (uint32_t first = threadIdx.x % 32 * 16; first < bytes; first += STEP_BYTES) {
            Words words[AT_ONCE] = {};
#pragma unroll
            for (uint32_t k = 0; k < AT_ONCE; k++) {
                if (first + k * WARP_BYTES < bytes) {
                    words[k] = load_pair(from + first + k * WARP_BYTES);
                }
            }
#pragma unroll
            for (uint32_t k = 0; k < AT_ONCE; k++) {
                int64_t left = int64_t(bytes) - first - k * WARP_BYTES;
                uint64_t at = to + first + k * WARP_BYTES;
                if (left >= 16 && aligned) {
                    store_whole(at, words[k]);
                } else if (left > 0) {
                    store_bytes(at, left, words[k].first);
                    store_bytes(at + 8, left - 8, words[k].second);
                }
            }
        }
        pieces++;
        __syncwarp();
        if (threadIdx.x % 32 == 0) {
            store(theirs(TAKEN) + 8, pieces);
        }
        return true;
    }

    /* This lane's part of a long message. */
    __device__ bool move_long(const Transfer& message, uint32_t lanes, bool receives) {
        uint64_t part =
            ((message.bytes + lanes - 1) / lanes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
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
        bool receives = channel.receives != 0;
        uint32_t lanes = channel.peer == a.rank ? a.own_lanes : a.lanes;
        uint64_t state = own(receives ? RECEIVED : SENT);
        passed = load(state);
        pieces = load(state + 8);
        taken = receives ? 0 : load(own(TAKEN));
        uint64_t before = passed;
        bool going = true;
        for (uint32_t i = 0; going && i < channel.transfers; i++) {
            const Transfer& message = a.transfer[channel.first_transfer + i];
            if (message.bytes >= LONG) {
                going = move_long(message, lanes, receives);
                continue;
            }
            uint64_t lines = (message.bytes + LINE_DATA_BYTES - 1) / LINE_DATA_BYTES;
            uint64_t chunks = (lines + CHUNK_LINES - 1) / CHUNK_LINES;
            uint64_t step = min(uint64_t(lanes), chunks);
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
    uint64_t number = first.receives * MOST_RANKS + first.peer;
    auto* done = reinterpret_cast<unsigned*>(a.memory[a.rank] + BLOCKS_DONE + 128 * number);
    if (atomicInc(done, gridDim.x - 1) == gridDim.x - 1) {
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
        jccl::Lane lane = {a, a.channel[i], warp - a.channel[i].first_warp, 0, 0, 0};
        lane.run();
    }
    jccl::end(a);
}
