package org.jccl.param;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;

/** The variables that {@link Params} declares. */
public final class DeclaredVariables {
    private DeclaredVariables() {}

    /** All of them, in the order of the file. */
    public static List<Param<?>> all() {
        List<Param<?>> found = new ArrayList<>();
        try {
            for (Field field : Params.class.getFields()) {
                found.add((Param<?>) field.get(null));
            }
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
        return found;
    }
}
