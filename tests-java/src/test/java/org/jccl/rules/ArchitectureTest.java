package org.jccl.rules;

import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.library.dependencies.SlicesRuleDefinition;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** The packages of the library depend on each other in one direction only. */
final class ArchitectureTest {
    private static final String ROOT = "org.jccl";

    /** A package may use those of later rows; packages of one row do not see each other. */
    private static final List<List<String>> ROWS =
            List.of(
                    List.of("(root)", "abi"),
                    List.of("comm", "launch"),
                    List.of("group"),
                    List.of("progress"),
                    List.of("executor"),
                    List.of("plan"),
                    List.of("collective"),
                    List.of("transport", "bootstrap"),
                    List.of("reduce", "device"),
                    List.of("schedule", "call", "param"),
                    List.of("log"),
                    List.of("platform"),
                    List.of("type"));

    private static final Map<String, Integer> ROW_OF = rowOf();

    private static final int MOST_IN_A_CYCLE = 3;

    /** The classes of the waiting room that other packages may see. */
    private static final Set<String> DOORS = Set.of("CommExecutor", "Submission", "Wait");

    private static final int MOST_REACHES = 10;

    private static final JavaClasses CLASSES =
            new ClassFileImporter()
                    .withImportOption(location -> !location.contains("/test-classes/"))
                    .importPackages(ROOT);

    private static Map<String, Integer> rowOf() {
        Map<String, Integer> rows = new HashMap<>();
        for (int row = 0; row < ROWS.size(); row++) {
            for (String name : ROWS.get(row)) {
                rows.put(name, row);
            }
        }
        return rows;
    }

    /** The package below org.jccl that a class belongs to; "(root)" for org.jccl itself. */
    private static String room(JavaClass type) {
        String name = type.getPackageName();
        return name.equals(ROOT) ? "(root)" : name.substring(ROOT.length() + 1).split("\\.")[0];
    }

    private static boolean isOurs(JavaClass type) {
        return type.getPackageName().equals(ROOT) || type.getPackageName().startsWith(ROOT + ".");
    }

    @Test
    void theLibraryIsThere() {
        assertTrue(CLASSES.contain("org.jccl.type.DataType"), "no class of the library was found");
    }

    @Test
    void everyPackageHasItsRow() {
        TreeSet<String> unknown = new TreeSet<>();
        for (JavaClass type : CLASSES) {
            if (!ROW_OF.containsKey(room(type))) {
                unknown.add(room(type));
            }
        }
        assertEquals(new TreeSet<String>(), unknown, "packages that stand in no row of this test");
    }

    @Test
    void dependenciesGoDownwards() {
        List<String> wrong = new ArrayList<>();
        for (JavaClass type : CLASSES) {
            for (Dependency dependency : type.getDirectDependenciesFromSelf()) {
                JavaClass target = dependency.getTargetClass().getBaseComponentType();
                if (!isOurs(target) || room(target).equals(room(type))) {
                    continue;
                }
                int from = ROW_OF.getOrDefault(room(type), -1);
                int to = ROW_OF.getOrDefault(room(target), -1);
                if (to <= from) {
                    wrong.add(room(type) + " uses " + room(target) + ": " + dependency);
                }
            }
        }
        assertTrue(wrong.isEmpty(), () -> String.join("\n", wrong));
    }

    @Test
    void packagesFormNoCycles() {
        SlicesRuleDefinition.slices()
                .matching(ROOT + ".(*)..")
                .should()
                .beFreeOfCycles()
                .check(CLASSES);
    }

    @Test
    void transportsDoNotSeeEachOther() {
        SlicesRuleDefinition.slices()
                .matching(ROOT + ".transport.(*)..")
                .should()
                .notDependOnEachOther()
                .allowEmptyShould(true)
                .check(CLASSES);
    }

    @Test
    void jcudaIsSeenByTheCudaModuleAlone() {
        noClasses()
                .that()
                .resideOutsideOfPackage(ROOT + ".cuda..")
                .should()
                .dependOnClassesThat(resideInAPackage("jcuda.."))
                .check(CLASSES);
    }

    @Test
    void nobodyEndsTheProcess() {
        noClasses()
                .should()
                .callMethod(System.class, "exit", int.class)
                .orShould()
                .callMethod(Runtime.class, "exit", int.class)
                .orShould()
                .callMethod(Runtime.class, "halt", int.class)
                .because("the JVM is a guest in the process of a Python or C program")
                .check(CLASSES);
    }

    @Test
    void nobodyUsesUnsafe() {
        noClasses()
                .should()
                .dependOnClassesThat(resideInAPackage("sun.misc.."))
                .orShould()
                .dependOnClassesThat(resideInAPackage("jdk.internal.."))
                .check(CLASSES);
    }

    /** Classes that need each other can only be read, and changed, together. */
    @Test
    void atMostThreeClassesFormACycle() {
        Map<String, Set<String>> uses = new TreeMap<>();
        for (JavaClass type : CLASSES) {
            for (Dependency dependency : type.getDirectDependenciesFromSelf()) {
                JavaClass target = dependency.getTargetClass().getBaseComponentType();
                if (isOurs(target) && !outermost(target).equals(outermost(type))) {
                    uses.computeIfAbsent(outermost(type), name -> new TreeSet<>())
                            .add(outermost(target));
                }
            }
        }
        List<Set<String>> large = new ArrayList<>(Cycles.of(uses));
        large.removeIf(cycle -> cycle.size() <= MOST_IN_A_CYCLE);
        assertEquals(List.of(), large);
    }

    /** Other packages see the doors of the waiting room, and hardly anything inside. */
    @Test
    void fewReachIntoTheWaitingRoom() {
        Set<String> reaches = new TreeSet<>();
        for (JavaClass type : CLASSES) {
            for (Dependency dependency : type.getDirectDependenciesFromSelf()) {
                JavaClass target = dependency.getTargetClass().getBaseComponentType();
                if (isOurs(target)
                        && room(target).equals("progress")
                        && !room(type).equals("progress")
                        && !DOORS.contains(target.getSimpleName())) {
                    reaches.add(outermost(type) + " uses " + target.getName());
                }
            }
        }
        assertTrue(reaches.size() <= MOST_REACHES, () -> String.join("\n", reaches));
    }

    private static String outermost(JavaClass type) {
        return type.getName().split("\\$")[0];
    }
}
