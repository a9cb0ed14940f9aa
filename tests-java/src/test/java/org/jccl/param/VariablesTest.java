package org.jccl.param;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;

import org.jccl.platform.Environment;
import org.junit.jupiter.api.Test;

/** The list of variables is complete: nobody reads one by another way. */
class VariablesTest {
    private static final JavaClasses CLASSES =
            new ClassFileImporter()
                    .withImportOption(location -> !location.contains("/test-classes/"))
                    .importPackages("org.jccl");

    @Test
    void onlyDeclaredVariablesAreRead() {
        noClasses()
                .that()
                .resideOutsideOfPackages("org.jccl.param", "org.jccl.log")
                .should()
                .callMethod(Environment.class, "get", String.class)
                .check(CLASSES);
    }

    @Test
    void nobodyReadsJavasSnapshotOfTheEnvironment() {
        noClasses()
                .should()
                .callMethod(System.class, "getenv", String.class)
                .orShould()
                .callMethod(System.class, "getenv")
                .because("it misses what Python or C set after the start of the JVM")
                .check(CLASSES);
    }
}
