package org.jccl.embed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Jep's jar and library must be of one version. */
final class JepPackageTest {
    @TempDir private Path folder;

    @BeforeEach
    void install() throws IOException {
        Files.writeString(folder.resolve("version.py"), "# Jep\n__VERSION__ = '4.3.1'\n");
        Files.writeString(folder.resolve("libjep.so"), "");
        Files.writeString(folder.resolve("jep-4.3.1.jar"), "");
    }

    private String refusal() {
        return String.valueOf(
                assertThrows(
                                IllegalStateException.class,
                                () -> JepPackage.in(folder, Path.of("python")))
                        .getMessage());
    }

    @Test
    void findsTheJarOfTheLibrary() throws IOException {
        assertEquals(
                folder.resolve("jep-4.3.1.jar"), JepPackage.in(folder, Path.of("python")).jar());
    }

    @Test
    void refusesAnotherJarBesideIt() throws IOException {
        Files.writeString(folder.resolve("jep-4.2.2.jar"), "");
        assertTrue(refusal().endsWith("or several; install jep again"));
    }

    @Test
    void refusesAJarOfAnotherVersion() throws IOException {
        Files.move(folder.resolve("jep-4.3.1.jar"), folder.resolve("jep-4.2.2.jar"));
        assertTrue(refusal().contains("is Jep 4.3.1, but has jep-4.2.2.jar"));
    }

    @Test
    void refusesAFolderWithoutLibrary() throws IOException {
        Files.delete(folder.resolve("libjep.so"));
        assertTrue(refusal().contains("no libjep.so"));
    }

    @Test
    void refusesClassesOfAnotherJar() throws IOException {
        JepPackage found = JepPackage.in(folder, Path.of("python"));
        String said =
                String.valueOf(
                        assertThrows(
                                        IllegalStateException.class,
                                        () -> found.requireClassesOf(JepPackage.class))
                                .getMessage());
        assertTrue(said.contains("put that jar on the class path"), said);
    }
}
