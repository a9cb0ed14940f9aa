import org.jccl.Buffers;
import org.jccl.Communicator;
import org.jccl.type.DataType;
import org.jccl.type.RedOp;
import org.jccl.type.UniqueId;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.zip.CRC32;

/**
 * Data-parallel training of a small network in plain Java: each rank has a copy of the network and
 * a part of each batch, and the ranks average their gradients. The ranks are processes that a
 * launcher starts, or threads of one process:
 *
 * <pre>
 * python -m jccl.run -n 4 --no-python java -cp "$(python -m jccl --jar)" Train.java
 * java -cp "$(python -m jccl --jar)" Train.java 4
 * </pre>
 *
 * Both end with the same parameters, bit for bit: on one machine gradients are added in the order
 * of the ranks, whatever those are.
 */
public final class Train {
    private static final int CLASSES = 3;
    private static final int HIDDEN = 32;
    private static final int POINTS = 960;
    private static final int BATCH = 64;
    private static final int STEPS = 1500;
    private static final float RATE = 0.2f;

    private final Communicator comm;

    /** Weights and bias of each hidden unit: x, y, 1. Below, of each class: the units, 1. */
    private final Layer first = new Layer(HIDDEN, 2);

    private final Layer second = new Layer(CLASSES, HIDDEN);

    /** A layer's parameters and their gradient, in memory that operations can use. */
    private static final class Layer {
        final int inputs;
        final FloatBuffer values;
        final FloatBuffer gradient;

        Layer(int units, int inputs) {
            this.inputs = inputs;
            values = floats(units * (inputs + 1));
            gradient = floats(units * (inputs + 1));
        }

        private static FloatBuffer floats(int count) {
            ByteBuffer bytes = ByteBuffer.allocateDirect(Float.BYTES * count);
            return bytes.order(ByteOrder.nativeOrder()).asFloatBuffer();
        }

        /** What a unit gives for an input. */
        float unit(int unit, float[] input) {
            int at = unit * (inputs + 1);
            float sum = values.get(at + inputs);
            for (int i = 0; i < inputs; i++) {
                sum += values.get(at + i) * input[i];
            }
            return sum;
        }

        /** Adds what an error of a unit's output says of its parameters. */
        void learn(int unit, float error, float[] input) {
            int at = unit * (inputs + 1);
            for (int i = 0; i < inputs; i++) {
                gradient.put(at + i, gradient.get(at + i) + error * input[i]);
            }
            gradient.put(at + inputs, gradient.get(at + inputs) + error);
        }

        /** Goes down the gradient, and clears it. */
        void step(float rate) {
            for (int i = 0; i < values.capacity(); i++) {
                values.put(i, values.get(i) - rate * gradient.get(i));
                gradient.put(i, 0);
            }
        }
    }

    private Train(Communicator comm) {
        this.comm = comm;
    }

    /** Point {@code i} of three spirals, one for each class. */
    private static float[] point(int i) {
        SplittableRandom random = new SplittableRandom(i);
        double radius = random.nextDouble();
        double angle = 3 * radius + 2 * StrictMath.PI * (i % CLASSES) / CLASSES;
        angle += 0.3 * (random.nextDouble() - 0.5);
        return new float[] {
            (float) (radius * StrictMath.cos(angle)), (float) (radius * StrictMath.sin(angle))
        };
    }

    private float[] hidden(float[] point) {
        float[] hidden = new float[HIDDEN];
        for (int h = 0; h < HIDDEN; h++) {
            hidden[h] = Math.max(0, first.unit(h, point));
        }
        return hidden;
    }

    /** The probability of each class. */
    private float[] classes(float[] hidden) {
        double[] powers = new double[CLASSES];
        double sum = 0;
        for (int c = 0; c < CLASSES; c++) {
            powers[c] = StrictMath.exp(second.unit(c, hidden));
            sum += powers[c];
        }
        float[] probabilities = new float[CLASSES];
        for (int c = 0; c < CLASSES; c++) {
            probabilities[c] = (float) (powers[c] / sum);
        }
        return probabilities;
    }

    private void initialise() {
        SplittableRandom random = new SplittableRandom(comm.rank());
        for (Layer layer : new Layer[] {first, second}) {
            for (int i = 0; i < layer.values.capacity(); i++) {
                layer.values.put(i, (float) (random.nextDouble() - 0.5));
            }
            // All begin with what rank 0 has thrown.
            MemorySegment values = Buffers.of(layer.values);
            comm.broadcast(values, values, layer.values.capacity(), DataType.FLOAT32, 0);
        }
    }

    private CompletableFuture<Void> average(Layer layer) {
        MemorySegment gradient = Buffers.of(layer.gradient);
        int count = layer.gradient.capacity();
        return comm.async().allReduce(gradient, gradient, count, DataType.FLOAT32, RedOp.AVG);
    }

    /** One step on this rank's part of a batch. */
    private void step(int number) {
        int mine = BATCH / comm.count();
        float[][] points = new float[mine][];
        float[][] back = new float[mine][HIDDEN];
        for (int p = 0; p < mine; p++) {
            int i = (number * BATCH + comm.rank() * mine + p) % POINTS;
            points[p] = point(i);
            float[] hidden = hidden(points[p]);
            float[] errors = classes(hidden);
            errors[i % CLASSES] -= 1;
            for (int c = 0; c < CLASSES; c++) {
                second.learn(c, errors[c] / mine, hidden);
                for (int h = 0; h < HIDDEN; h++) {
                    float weight = second.values.get(c * (HIDDEN + 1) + h);
                    back[p][h] += hidden[h] > 0 ? weight * errors[c] / mine : 0;
                }
            }
        }
        // The ranks average the second layer's gradient while each computes the first's.
        CompletableFuture<Void> averaged = average(second);
        for (int p = 0; p < mine; p++) {
            for (int h = 0; h < HIDDEN; h++) {
                first.learn(h, back[p][h], points[p]);
            }
        }
        CompletableFuture.allOf(averaged, average(first)).join();
        first.step(RATE);
        second.step(RATE);
    }

    private double accuracy() {
        int right = 0;
        for (int i = POINTS; i < 2 * POINTS; i++) {
            float[] found = classes(hidden(point(i)));
            int best = 0;
            for (int c = 1; c < CLASSES; c++) {
                best = found[c] > found[best] ? c : best;
            }
            right += best == i % CLASSES ? 1 : 0;
        }
        return right / (double) POINTS;
    }

    private String parameters() {
        CRC32 sum = new CRC32();
        for (Layer layer : new Layer[] {first, second}) {
            sum.update(Buffers.of(layer.values).asByteBuffer());
        }
        return Long.toHexString(sum.getValue());
    }

    private static void train(Communicator comm) {
        Train train = new Train(comm);
        train.initialise();
        for (int number = 0; number < STEPS; number++) {
            train.step(number);
        }
        System.out.printf(
                "rank %d: %.1f %% right, parameters %s%n",
                comm.rank(), 100 * train.accuracy(), train.parameters());
    }

    private static void trainInThreads(int ranks) throws Exception {
        UniqueId id = Communicator.uniqueId();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<?>[] running = new Future<?>[ranks];
            for (int r = 0; r < ranks; r++) {
                int rank = r;
                running[r] =
                        threads.submit(
                                () -> {
                                    try (var comm = Communicator.initRank(ranks, id, rank)) {
                                        train(comm);
                                    }
                                });
            }
            for (Future<?> each : running) {
                each.get();
            }
        }
    }

    /** Trains as one of the launcher's ranks, or with so many ranks that are threads. */
    public static void main(String[] args) throws Exception {
        if (args.length > 0) {
            trainInThreads(Integer.parseInt(args[0]));
        } else {
            try (Communicator comm = Communicator.fromEnvironment()) {
                train(comm);
            }
        }
    }
}
