#define _GNU_SOURCE
#include "measure.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LINE_FLOATS = 16, SERIES = 9, MAX_SERIES = 1000 };
enum { CALIBRATION_CALLS = 10, MAX_CALLS = 200000, MIN_CALLS = 3 };

/* MEASURE_SERIES_MS and MEASURE_PATIENCE_MS change them; then a series has any number of calls. */
static double series_ns = 20e6;
static double patience_ns = 5e9;
static double most_calls = MAX_CALLS;
static const double WARM_UP_NS = 300e6;
static const struct timespec PAUSE = {0, 50 * 1000 * 1000};

struct series {
    double ns;
    double stolen;
};

static volatile float seen;

/*
 * MEASURE_NEIGHBOUR names a folder if every rank has a core of its own. Then a series also counts
 * as stolen from if something slowed the core right before or after it: work of a fixed amount took
 * longer than it ever has on this rank. The folder keeps the least time for the next processes of
 * the same kind of client. The work goes on for more than 1 ms, after which a core that has done
 * sums of 512 bits has its usual clock again.
 */
enum { WORK = 30000, LOOKS = 20 };
static const double SLOWED = 1.25;
static const char* neighbour;
static double least_work_ns;

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Hundredths of a second that the host of a virtual machine has kept from it so far. */
static double stolen(void) {
    double ticks = 0;
    FILE* file = fopen("/proc/stat", "r");
    if (!file || fscanf(file, "cpu %*u %*u %*u %*u %*u %*u %*u %lf", &ticks) != 1) {
        fprintf(stderr, "/proc/stat cannot be read\n");
        exit(1);
    }
    fclose(file);
    return ticks;
}

static void work_path(char* path, size_t size, int rank) {
    snprintf(path, size, "%s/c-%d", neighbour, rank);
}

static void begin_work(int rank) {
    char path[4096];
    neighbour = getenv("MEASURE_NEIGHBOUR");
    if (neighbour == NULL) {
        return;
    }
    work_path(path, sizeof path, rank);
    FILE* file = fopen(path, "r");
    if (file != NULL && fscanf(file, "%lf", &least_work_ns) != 1) {
        least_work_ns = 0;
    }
    if (file != NULL) {
        fclose(file);
    }
}

static void end_work(int rank) {
    char path[4096];
    if (neighbour == NULL) {
        return;
    }
    work_path(path, sizeof path, rank);
    FILE* file = fopen(path, "w");
    if (file == NULL || fprintf(file, "%.0f\n", least_work_ns) < 0 || fclose(file) != 0) {
        fprintf(stderr, "%s cannot be written\n", path);
        exit(1);
    }
}

/* Enough of it can be done at once that another thread on the core slows it. */
static double work_ns(void) {
    uint64_t a = 1, b = 2, c = 3, d = 4, e = 5;
    double since = now_ns();
    for (uint64_t i = 0; i < WORK; i++) {
        a += b ^ i;
        b += c ^ i;
        c += d ^ i;
        d += a ^ i;
        e ^= i * 3;
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));
    }
    return now_ns() - since;
}

/* 1 if the work takes longer than it has to, else 0. An interrupt does not slow all looks. */
static double slowed(void) {
    if (neighbour == NULL) {
        return 0;
    }
    double took = work_ns();
    for (int look = 1; look < LOOKS; look++) {
        double again = work_ns();
        took = again < took ? again : took;
    }
    if (least_work_ns == 0 || took < least_work_ns) {
        least_work_ns = took;
    }
    return took > SLOWED * least_work_ns ? 1 : 0;
}

/* One word of every cache line of the input is written before a call, and one of every line of the
 * output is read after it, as programs do. */
static double calls(const struct library* library, float* in, float* out, size_t count, long n) {
    double since = now_ns();
    for (long call = 0; call < n; call++) {
        for (size_t i = 0; i < count; i += LINE_FLOATS) {
            in[i] = (float)((call & 7) + library->rank);
        }
        library->sum(in, out, count);
        float sum = 0;
        for (size_t i = 0; i < count; i += LINE_FLOATS) {
            sum += out[i];
        }
        seen = sum;
    }
    return (now_ns() - since) / (double)n;
}

static long agreed(const struct library* library, double budget_ns, double call_ns) {
    double slowest_ns = library->maximum(call_ns);
    double n = budget_ns / slowest_ns;
    return (long)(n < MIN_CALLS ? MIN_CALLS : n > most_calls ? most_calls : n);
}

static int by_stolen(const void* a, const void* b) {
    double x = ((const struct series*)a)->stolen;
    double y = ((const struct series*)b)->stolen;
    return (x > y) - (x < y);
}

static int by_ns(const void* a, const void* b) {
    double x = ((const struct series*)a)->ns;
    double y = ((const struct series*)b)->ns;
    return (x > y) - (x < y);
}

/* The median of the first series from which nothing was stolen, or of those from which least was
 * if there are too few for too long. */
static struct series quiet_series(const struct library* library, float* in, float* out,
                                  size_t count, long n) {
    static struct series all[MAX_SERIES];
    int n_series = 0;
    int n_quiet = 0;
    double since = now_ns();
    while (n_series < SERIES || (n_quiet < SERIES && n_series < MAX_SERIES &&
                                 library->maximum(now_ns() - since) < patience_ns)) {
        double slow = slowed();
        double before = stolen();
        library->maximum(0);
        double ns = calls(library, in, out, count, n);
        all[n_series].ns = ns;
        double taken = stolen() - before;
        all[n_series].stolen = library->maximum(taken + slow + slowed());
        if (all[n_series++].stolen == 0) {
            n_quiet++;
        } else {
            nanosleep(&PAUSE, NULL);
            calls(library, in, out, count, MIN_CALLS);
        }
    }
    qsort(all, (size_t)n_series, sizeof(all[0]), by_stolen);
    double most = all[SERIES - 1].stolen;
    qsort(all, SERIES, sizeof(all[0]), by_ns);
    return (struct series){all[SERIES / 2].ns, most};
}

static void check(const struct library* library, float* in, float* out, size_t count, int ranks) {
    for (size_t i = 0; i < count; i++) {
        in[i] = (float)((i & 1023) + (size_t)library->rank);
    }
    library->sum(in, out, count);
    for (size_t i = 0; i < count; i++) {
        float expected = (float)((size_t)ranks * (i & 1023)) + (float)(ranks * (ranks - 1)) / 2;
        if (out[i] != expected) {
            fprintf(stderr, "element %zu is %g, not %g\n", i, (double)out[i], (double)expected);
            exit(1);
        }
    }
}

static struct series measure(const struct library* library, size_t bytes, int n_ranks) {
    size_t count = bytes / sizeof(float);
    float* in = NULL;
    float* out = NULL;
    if (posix_memalign((void**)&in, 4096, bytes) || posix_memalign((void**)&out, 4096, bytes)) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        exit(1);
    }
    check(library, in, out, count, n_ranks);
    double call_ns = calls(library, in, out, count, CALIBRATION_CALLS);
    double warm_ns = 0;
    while (library->maximum(warm_ns) < WARM_UP_NS) {
        long n = agreed(library, series_ns, call_ns);
        call_ns = calls(library, in, out, count, n);
        warm_ns += call_ns * (double)n;
    }
    long n = agreed(library, series_ns, call_ns);
    struct series median = quiet_series(library, in, out, count, n);
    check(library, in, out, count, n_ranks);
    free(in);
    free(out);
    return median;
}

static double from_environment(const char* name, double ns) {
    const char* ms = getenv(name);
    return ms == NULL ? ns : atof(ms) * 1e6;
}

void measure_all(const struct library* library, int n_ranks, int n_sizes, char** sizes) {
    series_ns = from_environment("MEASURE_SERIES_MS", series_ns);
    patience_ns = from_environment("MEASURE_PATIENCE_MS", patience_ns);
    most_calls = getenv("MEASURE_SERIES_MS") == NULL ? MAX_CALLS : 1e9;
    begin_work(library->rank);
    for (int i = 0; i < n_sizes; i++) {
        size_t bytes = strtoull(sizes[i], NULL, 10);
        struct series median = measure(library, bytes, n_ranks);
        if (library->rank == 0) {
            printf("%zu %.4f %.0f\n", bytes, median.ns / 1000, median.stolen);
            fflush(stdout);
        }
    }
    end_work(library->rank);
}
