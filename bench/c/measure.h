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

/* Measures every size in bytes. Rank 0 prints a line "size microseconds stolen trip" for each.
 * stolen is the time that the host kept from the machine, in hundredths of a second, in the series
 * from which it kept most, and one for each look that found the core slowed, or two ranks' cores
 * further apart than before (MEASURE_NEIGHBOUR); trip is what a word took between these cores and
 * back at most, in ns, 0 if nobody looked.
 * Any rank ends the program with a sentence if a result is wrong. */
void measure_all(const struct library* library, int n_ranks, int n_sizes, char** sizes);

#endif
