package org.jccl.rules;

import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.Tree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.SourcePositions;
import com.sun.source.util.TreeScanner;
import com.sun.source.util.Trees;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/** Java sources as the compiler's parser sees them. */
final class JavaSource {
    /** A class or a method: its name, its file, and the lines from its first to its last. */
    record Declaration(String name, Path file, long firstLine, long lastLine) {
        long lineCount() {
            return lastLine - firstLine + 1;
        }

        @Override
        public String toString() {
            return Repository.shown(file) + ":" + firstLine + " " + name;
        }
    }

    /** The declarations of a set of sources. */
    record Declarations(List<Declaration> classes, List<Declaration> methods) {}

    private JavaSource() {}

    /** Parses files; nothing is resolved, so no class path is needed. */
    static Declarations parse(List<Path> files) {
        JavaCompiler compiler = Objects.requireNonNull(ToolProvider.getSystemJavaCompiler());
        Declarations found = new Declarations(new ArrayList<>(), new ArrayList<>());
        try (StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, null)) {
            JavacTask task =
                    (JavacTask)
                            compiler.getTask(
                                    null,
                                    manager,
                                    null,
                                    List.of("-proc:none"),
                                    null,
                                    manager.getJavaFileObjectsFromPaths(files));
            SourcePositions positions = Trees.instance(task).getSourcePositions();
            for (CompilationUnitTree unit : task.parse()) {
                new Collector(unit, positions, found).scan(unit, null);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return found;
    }

    private static final class Collector extends TreeScanner<@Nullable Void, @Nullable Void> {
        private final CompilationUnitTree unit;
        private final SourcePositions positions;
        private final Declarations found;

        Collector(CompilationUnitTree unit, SourcePositions positions, Declarations found) {
            this.unit = unit;
            this.positions = positions;
            this.found = found;
        }

        @Override
        public @Nullable Void visitClass(ClassTree tree, @Nullable Void unused) {
            found.classes().add(declaration(tree.getSimpleName().toString(), tree));
            return super.visitClass(tree, null);
        }

        @Override
        public @Nullable Void visitMethod(MethodTree tree, @Nullable Void unused) {
            found.methods().add(declaration(tree.getName().toString(), tree));
            return super.visitMethod(tree, null);
        }

        private Declaration declaration(String name, Tree tree) {
            Path file = Path.of(unit.getSourceFile().toUri());
            long start = positions.getStartPosition(unit, tree);
            long end = positions.getEndPosition(unit, tree);
            return new Declaration(name, file, line(start), line(end));
        }

        private long line(long position) {
            return position < 0 ? 0 : unit.getLineMap().getLineNumber(position);
        }
    }
}
