package org.jccl.harness;

import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.InvocationInterceptor;
import org.junit.jupiter.api.extension.ReflectiveInvocationContext;

import java.lang.reflect.Method;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Fails a test that does not end, with the stacks of all threads, after the time that a {@link
 * Cluster} has: JCCL_TEST_DEADLINE, in seconds. For {@code @ExtendWith}.
 */
public final class Deadline implements InvocationInterceptor {
    /** How long anything in a test may last. */
    public static long seconds() {
        return Cluster.defaultDeadline().toSeconds();
    }

    @Override
    public void interceptTestMethod(
            Invocation<Void> invocation,
            ReflectiveInvocationContext<Method> method,
            ExtensionContext context)
            throws Throwable {
        run(invocation, context);
    }

    @Override
    public void interceptTestTemplateMethod(
            Invocation<Void> invocation,
            ReflectiveInvocationContext<Method> method,
            ExtensionContext context)
            throws Throwable {
        run(invocation, context);
    }

    private static void run(Invocation<Void> invocation, ExtensionContext context)
            throws Throwable {
        FutureTask<Void> test =
                new FutureTask<>(
                        () -> {
                            proceed(invocation);
                            return null;
                        });
        Thread thread = new Thread(test, "test " + context.getDisplayName());
        thread.setDaemon(true);
        thread.start();
        long limit = seconds();
        try {
            test.get(limit, TimeUnit.SECONDS);
        } catch (ExecutionException failed) {
            throw failed.getCause() instanceof Carried carried ? carried.getCause() : failed;
        } catch (TimeoutException hung) {
            String stacks = Stacks.all();
            thread.interrupt();
            throw new AssertionError("it did not end within " + limit + " s\n" + stacks, hung);
        }
    }

    /** Whatever a test throws, through an interface that allows exceptions only. */
    private static final class Carried extends Exception {
        private static final long serialVersionUID = 1L;

        Carried(Throwable thrown) {
            super(thrown);
        }
    }

    private static void proceed(Invocation<Void> invocation) throws Carried {
        try {
            invocation.proceed();
        } catch (Throwable thrown) {
            throw new Carried(thrown);
        }
    }
}
