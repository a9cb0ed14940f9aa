package org.jccl.harness;

import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * After the first failure no other test begins. A planted fault may leave every test of a class
 * hanging until its deadline, where one says enough. Active only where JUnit looks for extensions
 * by itself, as {@code .ci/faults.py} tells it to.
 */
public final class FirstFailure implements ExecutionCondition, AfterTestExecutionCallback {
    private static volatile String failed = "";

    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
        return failed.isEmpty()
                ? ConditionEvaluationResult.enabled("no test has failed")
                : ConditionEvaluationResult.disabled(failed + " has failed");
    }

    @Override
    public void afterTestExecution(ExtensionContext context) {
        if (context.getExecutionException().isPresent()) {
            failed = context.getDisplayName();
        }
    }
}
