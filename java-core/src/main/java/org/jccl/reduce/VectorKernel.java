package org.jccl.reduce;

import jdk.incubator.vector.ByteVector;
import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.LongVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorShape;
import jdk.incubator.vector.VectorSpecies;

import java.io.IOException;
import java.io.InputStream;
import java.lang.constant.ConstantDescs;
import java.lang.invoke.MethodHandles;

/**
 * What a vector kernel is for. A kernel is a copy of a template's class, to which this is class
 * data: species, operator and number of sources are constants to the compiler, and the loops of
 * each copy are as if they were written for them alone.
 *
 * @param dataType the type
 * @param redOp the operation
 * @param sources 2 to 4, or {@link #MANY}
 */
record VectorKernel(int dataType, int redOp, int sources) {
    /** Any number of sources. */
    static final int MANY = 5;

    /** Whether there are kernels for the pair. Integers cannot be divided in vectors. */
    static boolean exists(int dataType, int redOp) {
        return switch (dataType) {
            case Fold.FLOAT16, Fold.FLOAT8E4M3, Fold.FLOAT8E5M2 -> false;
            case Fold.FLOAT32, Fold.FLOAT64, Fold.BFLOAT16 -> true;
            default -> redOp != Fold.AVG;
        };
    }

    /** The kernel for n sources. */
    static VectorKernel of(int dataType, int redOp, int n) {
        return new VectorKernel(dataType, redOp, Math.min(n, MANY));
    }

    /** Makes the kernel's class. Costs about a millisecond. */
    Fold define() {
        Class<?> template = dataType == Fold.BFLOAT16 ? NarrowTemplate.class : WideTemplate.class;
        try (InputStream file = template.getResourceAsStream(template.getSimpleName() + ".class")) {
            if (file == null) {
                throw new IllegalStateException("the class file of " + template + " is missing");
            }
            return (Fold)
                    MethodHandles.lookup()
                            .defineHiddenClassWithClassData(file.readAllBytes(), this, true)
                            .lookupClass()
                            .getDeclaredConstructor()
                            .newInstance();
        } catch (IOException | ReflectiveOperationException e) {
            throw new IllegalStateException("no kernel is made of " + template, e);
        }
    }

    /** The class data of the template's copy that asks. */
    static VectorKernel of(MethodHandles.Lookup copy) {
        try {
            return MethodHandles.classData(copy, ConstantDescs.DEFAULT_NAME, VectorKernel.class);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Vectors of the type's elements, as long as the processor likes best or of 128 bits. */
    @SuppressWarnings("unchecked")
    VectorSpecies<Object> species(boolean isLong) {
        VectorSpecies<?> preferred =
                switch (dataType) {
                    case Fold.INT8, Fold.UINT8 -> ByteVector.SPECIES_PREFERRED;
                    case Fold.INT32, Fold.UINT32 -> IntVector.SPECIES_PREFERRED;
                    case Fold.INT64, Fold.UINT64 -> LongVector.SPECIES_PREFERRED;
                    case Fold.FLOAT32 -> FloatVector.SPECIES_PREFERRED;
                    case Fold.FLOAT64 -> DoubleVector.SPECIES_PREFERRED;
                    default -> throw new IllegalStateException("no vectors of " + dataType);
                };
        // Nothing depends on the type of the elements but the compiler's checks.
        return (VectorSpecies<Object>)
                (isLong ? preferred : preferred.withShape(VectorShape.S_128_BIT));
    }

    /** What combines two vectors; the average's is the sum. */
    VectorOperators.Associative operator() {
        boolean unsigned =
                dataType == Fold.UINT8 || dataType == Fold.UINT32 || dataType == Fold.UINT64;
        return switch (redOp) {
            case Fold.PROD -> VectorOperators.MUL;
            case Fold.MAX -> unsigned ? VectorOperators.UMAX : VectorOperators.MAX;
            case Fold.MIN -> unsigned ? VectorOperators.UMIN : VectorOperators.MIN;
            default -> VectorOperators.ADD;
        };
    }

    boolean averages() {
        return redOp == Fold.AVG;
    }
}
