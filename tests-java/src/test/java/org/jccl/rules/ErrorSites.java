package org.jccl.rules;

import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.ExpressionTree;
import com.sun.source.tree.IdentifierTree;
import com.sun.source.tree.MemberSelectTree;
import com.sun.source.tree.MethodInvocationTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.VariableTree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.TreeScanner;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/** Where the sources name a kind of error, and the sentences that they say there. */
final class ErrorSites {
    /**
     * One place.
     *
     * @param kind the enum and its constant, as {@code ErrorKind.NOT_READY}
     * @param sentences with an ellipsis for what varies
     * @param tells whether the code is that of another failure
     */
    record Site(String kind, List<String> sentences, boolean tells) {}

    private ErrorSites() {}

    /** The places in these files, where a kind is a constant of one of these enums. */
    static List<Site> in(List<Path> files, Set<String> enums) {
        JavaCompiler compiler = Objects.requireNonNull(ToolProvider.getSystemJavaCompiler());
        List<Site> sites = new ArrayList<>();
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
            List<CompilationUnitTree> units = new ArrayList<>();
            task.parse().forEach(units::add);
            Map<String, ExpressionTree> constants = constants(units);
            for (CompilationUnitTree unit : units) {
                new Collector(enums, new Sentences(constants, unit), sites).scan(unit, null);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return sites;
    }

    /** Fields with a value, by class and name. */
    private static Map<String, ExpressionTree> constants(List<CompilationUnitTree> units) {
        Map<String, ExpressionTree> found = new HashMap<>();
        for (CompilationUnitTree unit : units) {
            new TreeScanner<@Nullable Void, String>() {
                @Override
                public @Nullable Void visitClass(ClassTree tree, String outer) {
                    for (var member : tree.getMembers()) {
                        if (member instanceof VariableTree field
                                && field.getInitializer() != null
                                && field.getModifiers().toString().contains("final")) {
                            found.put(
                                    tree.getSimpleName() + "." + field.getName(),
                                    field.getInitializer());
                        }
                    }
                    return super.visitClass(tree, outer);
                }
            }.scan(unit, "");
        }
        return found;
    }

    private static final class Collector extends TreeScanner<@Nullable Void, @Nullable Void> {
        private final Set<String> enums;
        private final Sentences sentences;
        private final List<Site> sites;
        private @Nullable MethodTree method;
        private String className = "";

        Collector(Set<String> enums, Sentences sentences, List<Site> sites) {
            this.enums = enums;
            this.sentences = sentences;
            this.sites = sites;
        }

        @Override
        public @Nullable Void visitMethod(MethodTree tree, @Nullable Void unused) {
            MethodTree outer = method;
            method = tree;
            super.visitMethod(tree, null);
            method = outer;
            return null;
        }

        @Override
        public @Nullable Void visitMethodInvocation(
                MethodInvocationTree call, @Nullable Void unused) {
            List<? extends ExpressionTree> arguments = call.getArguments();
            if (call.getMethodSelect() instanceof MemberSelectTree select) {
                String kind = kind(select.getExpression());
                if (kind != null && select.getIdentifier().contentEquals("because")) {
                    sites.add(new Site(kind, said(arguments, 1), false));
                }
                if (kind != null && select.getIdentifier().contentEquals("says")) {
                    List<String> first = sentences.of(arguments.getFirst(), method);
                    boolean tells = arguments.size() > 1 && first.equals(List.of(Sentences.VARIES));
                    sites.add(new Site(kind, said(arguments, tells ? 1 : 0), tells));
                }
            }
            if (call.getMethodSelect().toString().equals("Log.survived")) {
                List<String> said = sentences.of(arguments.getFirst(), method);
                List<String> whole = said.stream().map(each -> each + Sentences.VARIES).toList();
                sites.add(new Site("ErrorKind.SURVIVED", whole, false));
            }
            for (int i = 0; i + 1 < arguments.size(); i++) {
                String kind = kind(arguments.get(i));
                if (kind != null) {
                    sites.add(new Site(kind, sentences.of(arguments.get(i + 1), method), false));
                }
            }
            return super.visitMethodInvocation(call, null);
        }

        /** The sentences that the argument at this place can be, with their parts. */
        private List<String> said(List<? extends ExpressionTree> arguments, int at) {
            return sentences.filled(arguments.subList(at, arguments.size()), method);
        }

        @Override
        public @Nullable Void visitClass(ClassTree tree, @Nullable Void unused) {
            String outer = className;
            className = tree.getSimpleName().toString();
            super.visitClass(tree, null);
            className = outer;
            return null;
        }

        private @Nullable String kind(ExpressionTree tree) {
            if (tree instanceof IdentifierTree constant
                    && enums.contains(className)
                    && constant.getName().toString().matches("[A-Z_]+")) {
                return className + "." + constant.getName();
            }
            return tree instanceof MemberSelectTree select
                            && select.getExpression() instanceof IdentifierTree type
                            && enums.contains(type.getName().toString())
                    ? select.toString()
                    : null;
        }
    }
}
