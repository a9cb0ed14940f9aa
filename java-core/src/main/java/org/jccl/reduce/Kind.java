package org.jccl.reduce;

import org.jccl.type.DataType;
import org.jccl.type.RedOp;

import java.io.IOException;
import java.io.InputStream;
import java.lang.constant.ConstantDescs;
import java.lang.invoke.MethodHandles;
import java.util.Objects;

/**
 * What a kernel is for. A kernel is a copy of a template's class, a hidden class to which this is
 * class data: type, operation and number of sources are constants to the compiler, and the loops of
 * each copy are as if they were written for them alone.
 *
 * @param type the type
 * @param op the operation
 * @param sources 2 to 4, or {@link #MANY}
 * @param isLong whether vectors are as long as the processor likes best, or of 128 bits
 * @param rest folds what is too short for a vector
 */
record Kind(DataType type, RedOp op, int sources, boolean isLong, Kernel rest) {
    /** Any number of sources. */
    static final int MANY = 5;

    /** Makes a kernel of this kind. Costs about a millisecond. */
    Kernel copy(Class<? extends Kernel> template) {
        try (InputStream file = template.getResourceAsStream(template.getSimpleName() + ".class")) {
            byte[] bytes = Objects.requireNonNull(file).readAllBytes();
            return (Kernel)
                    MethodHandles.lookup()
                            .defineHiddenClassWithClassData(bytes, this, true)
                            .lookupClass()
                            .getDeclaredConstructor()
                            .newInstance();
        } catch (IOException | ReflectiveOperationException e) {
            throw new IllegalStateException("no kernel is made of " + template, e);
        }
    }

    /** The kind of the copy that asks. */
    static Kind of(MethodHandles.Lookup copy) {
        try {
            return MethodHandles.classData(copy, ConstantDescs.DEFAULT_NAME, Kind.class);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }
}
