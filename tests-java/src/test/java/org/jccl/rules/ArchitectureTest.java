package org.jccl.rules;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;

import org.junit.jupiter.api.Test;

final class ArchitectureTest {
    private static final JavaClasses CLASSES = new ClassFileImporter().importPackages("org.jccl");

    @Test
    void nobodyEndsTheProcess() {
        noClasses().should().callMethod(System.class, "exit", int.class).check(CLASSES);
    }
}
