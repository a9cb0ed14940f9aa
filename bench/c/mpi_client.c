/* MPI_Allreduce of floats: mpirun -n RANKS mpi_client SIZE... */
#include <mpi.h>

#include "measure.h"

static void sum(const float* send, float* recv, size_t count) {
    MPI_Allreduce(send, recv, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static double maximum(double mine) {
    double all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    struct library library = {0, sum, maximum};
    int n_ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &library.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    measure_all(&library, n_ranks, argc - 1, argv + 1);
    MPI_Finalize();
    return 0;
}
