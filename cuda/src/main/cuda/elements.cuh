/*
 * Elements of NCCL's types, and what reductions do with them: floats narrower than float32 are
 * folded in float32 and rounded once; NaN wins MAX and MIN, and -0 is less than +0; integers wrap
 * around. The host's reductions give the same bits.
 */
#pragma once

#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

namespace jccl {

/* Bits in memory as Stored; a value of type Wide is what is folded. */
template <typename S>
struct Integer {
    using Stored = S;
    using Wide = S;
    static __device__ Wide widen(Stored bits) { return bits; }
    static __device__ Stored narrow(Wide value) { return value; }
};

struct Half {
    using Stored = uint16_t;
    using Wide = float;
    static __device__ Wide widen(Stored bits) { return __half2float(__ushort_as_half(bits)); }
    static __device__ Stored narrow(Wide value) {
        return __half_as_ushort(__float2half_rn(value));
    }
};

struct Bfloat {
    using Stored = uint16_t;
    using Wide = float;
    static __device__ Wide widen(Stored bits) {
        return __bfloat162float(__ushort_as_bfloat16(bits));
    }
    static __device__ Stored narrow(Wide value) {
        return __bfloat16_as_ushort(__float2bfloat16_rn(value));
    }
};

/* What is too large becomes the largest number. */
template <__nv_fp8_interpretation_t FORMAT>
struct Float8 {
    using Stored = uint8_t;
    using Wide = float;
    static __device__ Wide widen(Stored bits) {
        return __half2float(__half(__nv_cvt_fp8_to_halfraw(bits, FORMAT)));
    }
    static __device__ Stored narrow(Wide value) {
        return __nv_cvt_float_to_fp8(value, __NV_SATFINITE, FORMAT);
    }
};

struct Float {
    using Stored = uint32_t;
    using Wide = float;
    static __device__ Wide widen(Stored bits) { return __uint_as_float(bits); }
    static __device__ Stored narrow(Wide value) { return __float_as_uint(value); }
};

struct Double {
    using Stored = uint64_t;
    using Wide = double;
    static __device__ Wide widen(Stored bits) { return __longlong_as_double(bits); }
    static __device__ Stored narrow(Wide value) { return __double_as_longlong(value); }
};

struct Sum {
    /* Its results may be divided. */
    static constexpr bool AVERAGES = true;
    template <typename W>
    static __device__ W fold(W a, W b) {
        return a + b;
    }
    /* Signed integers wrap around, too. */
    static __device__ int32_t fold(int32_t a, int32_t b) {
        return int32_t(uint32_t(a) + uint32_t(b));
    }
    static __device__ int64_t fold(int64_t a, int64_t b) {
        return int64_t(uint64_t(a) + uint64_t(b));
    }
};

struct Prod {
    static constexpr bool AVERAGES = false;
    template <typename W>
    static __device__ W fold(W a, W b) {
        return a * b;
    }
    static __device__ int32_t fold(int32_t a, int32_t b) {
        return int32_t(uint32_t(a) * uint32_t(b));
    }
    static __device__ int64_t fold(int64_t a, int64_t b) {
        return int64_t(uint64_t(a) * uint64_t(b));
    }
};

template <bool LARGEST>
struct Extreme {
    static constexpr bool AVERAGES = false;
    template <typename W>
    static __device__ W fold(W a, W b) {
        return (a < b) == LARGEST ? b : a;
    }
    static __device__ float fold(float a, float b) {
        float extreme;
        if constexpr (LARGEST) {
            asm("max.NaN.f32 %0, %1, %2;" : "=f"(extreme) : "f"(a), "f"(b));
        } else {
            asm("min.NaN.f32 %0, %1, %2;" : "=f"(extreme) : "f"(a), "f"(b));
        }
        return extreme;
    }
    static __device__ double fold(double a, double b) {
        if (isnan(a) || isnan(b)) {
            return a + b;
        }
        bool second = a == b ? bool(signbit(a)) : a < b;
        return second == LARGEST ? b : a;
    }
};

using Max = Extreme<true>;
using Min = Extreme<false>;

/* Elements that lie in 8 bytes, while they are folded. */
template <typename E, typename Op>
class Folded {
    using Stored = typename E::Stored;
    static constexpr int COUNT = 8 / sizeof(Stored);
    typename E::Wide values[COUNT];

    static __device__ Stored part(uint64_t word, int i) {
        return Stored(word >> (8 * sizeof(Stored) * i));
    }

  public:
    __device__ void begin(uint64_t word) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            values[i] = E::widen(part(word, i));
        }
    }

    __device__ void add(uint64_t word) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            values[i] = Op::fold(values[i], E::widen(part(word, i)));
        }
    }

    /* Divides by a number that is not 0. */
    __device__ void divide(uint32_t by) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            values[i] = values[i] / typename E::Wide(by);
        }
    }

    __device__ uint64_t end() const {
        uint64_t word = 0;
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            using Bits = std::make_unsigned_t<Stored>;
            word |= uint64_t(Bits(E::narrow(values[i]))) << (8 * sizeof(Stored) * i);
        }
        return word;
    }
};

}  // namespace jccl
