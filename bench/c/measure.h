/* What all C clients of the comparison share: touched buffers, calibration, series, medians. */
#ifndef JCCL_BENCH_MEASURE_H
#define JCCL_BENCH_MEASURE_H

#include <stddef.h>

/* One rank's library: sums count floats over the ranks, or takes the maximum. */
struct library {
    int rank;
    void (*sum)(const float* send, float* recv, size_t count);
    double (*maximum)(double mine);
};

/* Measures every size in bytes; rank 0 prints "size microseconds stolen", a line each, where stolen
 * is what the host kept of the machine, in hundredths of a second, in the series from which it kept
 * most. Any rank ends the program with a sentence if a result is wrong. */
void measure_all(const struct library* library, int n_ranks, int n_sizes, char** sizes);

#endif
