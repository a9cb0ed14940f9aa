#define _GNU_SOURCE
#include "measure.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

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
    double trip_ns;
};

static volatile float seen;

/*
 * MEASURE_NEIGHBOUR names a folder if every rank has a core of its own. Then a series also counts
 * as stolen from if something slowed the core right before or after it: work of a fixed amount took
 * longer than it ever has on this rank. The folder keeps the least time for the next processes of
 * the same kind of client. The work goes on for more than 1 ms, after which a core that has done
 * sums of 512 bits has its usual clock again.
 *
 * Of two ranks it also counts as stolen from if their cores were further apart than they have been
 * in this process: the host of a virtual machine moves them, and a word then takes several times as
 * long from one to the other, whatever the library.
 */
enum { WORK = 30000, LOOKS = 20, TRIPS = 200, TRIP_LOOKS = 10, WORDS_BYTES = 4096 };
static const double SLOWED = 1.25;
static const double APART = 1.5;
static const char* neighbour;
static double least_work_ns;
static double least_trip_ns;

/* A rank's word in a file of the folder: how often it has had its turn. */
struct word {
    _Atomic long turn;
    char rest[WORDS_BYTES / 2 - sizeof(long)];
};
static struct word* words;

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

static void cannot(const char* what, const char* path) {
    fprintf(stderr, "%s cannot be %s\n", path, what);
    exit(1);
}

/* All ranks call it before any of them goes on. */
static void begin_words(const struct library* library) {
    char path[4096];
    snprintf(path, sizeof path, "%s/words", neighbour);
    int file = open(path, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, WORDS_BYTES) != 0) {
        cannot("written", path);
    }
    words = mmap(NULL, WORDS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (words == MAP_FAILED) {
        cannot("mapped", path);
    }
    atomic_store(&words[library->rank].turn, 0);
    library->maximum(0);
}

static void begin_work(const struct library* library, int n_ranks) {
    char path[4096];
    neighbour = getenv("MEASURE_NEIGHBOUR");
    if (neighbour == NULL) {
        return;
    }
    work_path(path, sizeof path, library->rank);
    FILE* file = fopen(path, "r");
    if (file != NULL && fscanf(file, "%lf", &least_work_ns) != 1) {
        least_work_ns = 0;
    }
    if (file != NULL) {
        fclose(file);
    }
    if (n_ranks == 2) {
        begin_words(library);
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
        cannot("written", path);
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

/* What a word takes to the other rank and back. */
static double trip_ns(int rank) {
    static long turn;
    double since = now_ns();
    for (int trip = 0; trip < TRIPS; trip++) {
        turn++;
        if (rank == 0) {
            atomic_store_explicit(&words[0].turn, turn, memory_order_release);
        }
        while (atomic_load_explicit(&words[1 - rank].turn, memory_order_acquire) < turn) {
        }
        if (rank == 1) {
            atomic_store_explicit(&words[1].turn, turn, memory_order_release);
        }
    }
    return (now_ns() - since) / TRIPS;
}

/* The least of some; 0 if nobody looks. */
static double look_at_trip(int rank) {
    double took = 0;
    for (int look = 0; words != NULL && look < TRIP_LOOKS; look++) {
        double again = trip_ns(rank);
        took = look == 0 || again < took ? again : took;
    }
    if (least_trip_ns == 0 || took < least_trip_ns) {
        least_trip_ns = took;
    }
    return took;
}

/* Looks whether something disturbs a series now, and adds it. */
static void look(struct series* series, int rank) {
    double trip = look_at_trip(rank);
    series->trip_ns = trip > series->trip_ns ? trip : series->trip_ns;
    series->stolen += slowed() + (trip > APART * least_trip_ns ? 1 : 0);
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
        struct series* series = &all[n_series++];
        *series = (struct series){0, 0, 0};
        look(series, library->rank);
        double before = stolen();
        library->maximum(0);
        series->ns = calls(library, in, out, count, n);
        series->stolen += stolen() - before;
        look(series, library->rank);
        series->stolen = library->maximum(series->stolen);
        if (series->stolen == 0) {
            n_quiet++;
        } else {
            nanosleep(&PAUSE, NULL);
            calls(library, in, out, count, MIN_CALLS);
        }
    }
    qsort(all, (size_t)n_series, sizeof(all[0]), by_stolen);
    double most = all[SERIES - 1].stolen;
    double trip = 0;
    for (int i = 0; i < SERIES; i++) {
        trip = all[i].trip_ns > trip ? all[i].trip_ns : trip;
    }
    qsort(all, SERIES, sizeof(all[0]), by_ns);
    return (struct series){all[SERIES / 2].ns, most, trip};
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
    begin_work(library, n_ranks);
    for (int i = 0; i < n_sizes; i++) {
        size_t bytes = strtoull(sizes[i], NULL, 10);
        struct series median = measure(library, bytes, n_ranks);
        if (library->rank == 0) {
            printf("%zu %.4f %.0f %.0f\n", bytes, median.ns / 1000, median.stolen, median.trip_ns);
            fflush(stdout);
        }
    }
    end_work(library->rank);
}
