package org.jccl.suite;

import org.jccl.type.DataType;
import org.jccl.type.Operation;
import org.jccl.type.RedOp;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;

/**
 * One cell of the matrix.
 *
 * @param operation what is called; SEND stands for a ring of sends and receives in a group
 * @param type the element type
 * @param op the reduction operation; SUM where nothing is reduced
 * @param size elements of the whole buffer, before it is divided among the ranks
 * @param inPlace whether send and receive buffer are the same, as NCCL defines it
 */
record MatrixCase(Operation operation, DataType type, RedOp op, int size, boolean inPlace) {
    static final List<DataType> TYPES =
            List.of(
                    DataType.FLOAT32,
                    DataType.FLOAT64,
                    DataType.FLOAT16,
                    DataType.BFLOAT16,
                    DataType.INT32,
                    DataType.INT64,
                    DataType.UINT8,
                    DataType.INT8,
                    DataType.UINT32,
                    DataType.UINT64,
                    DataType.FLOAT8E4M3,
                    DataType.FLOAT8E5M2);
    static final List<RedOp> OPS = List.of(RedOp.SUM, RedOp.AVG, RedOp.MAX, RedOp.MIN, RedOp.PROD);

    /** Types that differ from another type only in how they are folded. */
    private static final Set<DataType> SIBLINGS =
            Set.of(DataType.INT8, DataType.UINT32, DataType.UINT64, DataType.FLOAT8E5M2);

    static final int LARGE = 3 * (1 << 20) + 1;
    private static final int[] SIZES = {0, 1, 3, 1023, 65537};

    /** For cells at a given alignment: in a cache line, in small slots, in the ring. */
    private static final int[] ALIGNED_SIZES = {7, 1023, 20_011};

    private static final Set<Integer> FEW_SIZES = Set.of(3, 65537);
    private static final List<Operation> OPERATIONS =
            List.of(
                    Operation.ALL_REDUCE,
                    Operation.REDUCE_SCATTER,
                    Operation.BROADCAST,
                    Operation.ALL_GATHER,
                    Operation.REDUCE,
                    Operation.ALL_TO_ALL,
                    Operation.GATHER,
                    Operation.SCATTER,
                    Operation.SEND);

    /** Every cell, in a fixed order. */
    static List<MatrixCase> all() {
        List<MatrixCase> cases = new ArrayList<>();
        for (Operation operation : OPERATIONS) {
            for (DataType type : TYPES) {
                for (int size : SIZES) {
                    add(cases, operation, type, size);
                }
                if (type == DataType.FLOAT32 || type == DataType.BFLOAT16) {
                    add(cases, operation, type, LARGE);
                }
            }
        }
        return cases;
    }

    /** The cells of this size, of float32 alone if others do not have it; or with 0 every cell. */
    static List<MatrixCase> ofSize(int size) {
        List<MatrixCase> cases = all();
        cases.removeIf(cell -> size != 0 && cell.size() != size);
        if (cases.isEmpty()) {
            OPERATIONS.forEach(operation -> add(cases, operation, DataType.FLOAT32, size));
        }
        return cases;
    }

    /** So many cells, chosen and ordered by the seed; {@code nLarge} of them are large. */
    static List<MatrixCase> sample(long seed, int count, int nLarge) {
        Random random = new Random(seed);
        List<MatrixCase> small = new ArrayList<>();
        List<MatrixCase> large = new ArrayList<>();
        for (MatrixCase one : all()) {
            (one.size() == LARGE ? large : small).add(one);
        }
        java.util.Collections.shuffle(small, random);
        java.util.Collections.shuffle(large, random);
        List<MatrixCase> chosen = new ArrayList<>(small.subList(0, Math.min(count, small.size())));
        chosen.addAll(large.subList(0, nLarge));
        java.util.Collections.shuffle(chosen, random);
        return chosen;
    }

    /**
     * So many cells, or with 0 one of every operation, type and size; the reductions, and in and
     * out of place, take turns.
     */
    static List<MatrixCase> inTurn(int turn, long seed, int count) {
        List<MatrixCase> cases = new ArrayList<>();
        for (Operation operation : OPERATIONS) {
            for (DataType type : TYPES) {
                for (int size : ALIGNED_SIZES) {
                    int number = cases.size() + turn;
                    RedOp op = operation.reduces() ? OPS.get(number % OPS.size()) : RedOp.SUM;
                    boolean inPlace = number % 2 == 0 && operation != Operation.SEND;
                    cases.add(new MatrixCase(operation, type, op, size, inPlace));
                }
            }
        }
        if (count == 0) {
            return cases;
        }
        java.util.Collections.shuffle(cases, new Random(seed + turn));
        return cases.subList(0, count);
    }

    private static void add(List<MatrixCase> cases, Operation operation, DataType type, int size) {
        List<RedOp> ops = operation.reduces() ? OPS : List.of(RedOp.SUM);
        for (RedOp op : ops) {
            if ((SIBLINGS.contains(type) || op == RedOp.PROD) && !FEW_SIZES.contains(size)) {
                continue;
            }
            cases.add(new MatrixCase(operation, type, op, size, false));
            if (operation != Operation.SEND) {
                cases.add(new MatrixCase(operation, type, op, size, true));
            }
        }
    }

    /** The count of the call: the whole buffer's, or each rank's part of it, rounded up. */
    int count(int nRanks) {
        return isOfParts() ? (size + nRanks - 1) / nRanks : size;
    }

    private boolean isOfParts() {
        return switch (operation) {
            case ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, GATHER, SCATTER -> true;
            default -> false;
        };
    }

    /** Elements of each rank's input. */
    int inputCount(int nRanks) {
        return switch (operation) {
            case REDUCE_SCATTER, ALL_TO_ALL, SCATTER -> count(nRanks) * nRanks;
            default -> count(nRanks);
        };
    }

    /** Elements of each rank's output. */
    int outputCount(int nRanks) {
        return switch (operation) {
            case ALL_GATHER, ALL_TO_ALL, GATHER -> count(nRanks) * nRanks;
            default -> count(nRanks);
        };
    }
}
