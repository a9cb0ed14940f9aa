package org.jccl.rules;

import com.sun.source.tree.BinaryTree;
import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.ConditionalExpressionTree;
import com.sun.source.tree.ExpressionTree;
import com.sun.source.tree.IdentifierTree;
import com.sun.source.tree.LambdaExpressionTree;
import com.sun.source.tree.LiteralTree;
import com.sun.source.tree.MemberSelectTree;
import com.sun.source.tree.MethodInvocationTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.ParenthesizedTree;
import com.sun.source.tree.ReturnTree;
import com.sun.source.tree.Tree;
import com.sun.source.tree.VariableTree;
import com.sun.source.util.TreeScanner;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The texts that an expression of one source file can be, as far as its literals tell. */
final class Sentences {
    /** Stands for a part that is known at run time only. */
    static final String VARIES = "…";

    private static final List<String> UNKNOWN = List.of(VARIES);
    private static final String PART = "%s";
    private static final int MOST = 8;
    private static final int DEEPEST = 4;

    private final Map<String, ExpressionTree> constants;
    private final Map<String, List<MethodTree>> methods = new HashMap<>();
    private String className = "";

    /** Reads this file, with the constants of all files by class and name. */
    Sentences(Map<String, ExpressionTree> constants, CompilationUnitTree unit) {
        this.constants = constants;
        new TreeScanner<@Nullable Void, @Nullable Void>() {
            @Override
            public @Nullable Void visitClass(ClassTree tree, @Nullable Void unused) {
                className = className.isEmpty() ? tree.getSimpleName().toString() : className;
                return super.visitClass(tree, null);
            }

            @Override
            public @Nullable Void visitMethod(MethodTree tree, @Nullable Void unused) {
                String name = tree.getName().toString();
                methods.computeIfAbsent(name, each -> new ArrayList<>()).add(tree);
                return super.visitMethod(tree, null);
            }
        }.scan(unit, null);
    }

    /** The texts that the expression can be where it stands in this method. */
    List<String> of(ExpressionTree tree, @Nullable MethodTree method) {
        return of(tree, method, 0).stream().map(Sentences::tidy).distinct().toList();
    }

    /**
     * What a sentence with its parts can be.
     *
     * @param said the sentence, then what stands for each %s of it
     */
    List<String> filled(List<? extends ExpressionTree> said, @Nullable MethodTree method) {
        List<String> texts = of(said.getFirst(), method, 0);
        for (ExpressionTree part : said.subList(1, said.size())) {
            Set<String> all = new LinkedHashSet<>();
            List<String> values = of(part, method, 0);
            for (String text : texts) {
                int at = text.indexOf(PART);
                if (at < 0) {
                    throw new AssertionError("no %s for " + part + " in \"" + text + "\"");
                }
                for (String value : values.size() * texts.size() > MOST ? UNKNOWN : values) {
                    all.add(text.substring(0, at) + value + text.substring(at + PART.length()));
                }
            }
            texts = List.copyOf(all);
        }
        for (String text : texts) {
            if (text.contains(PART)) {
                throw new AssertionError("nothing for %s in \"" + text + "\"");
            }
        }
        return texts.stream().map(Sentences::tidy).distinct().toList();
    }

    private List<String> of(ExpressionTree tree, @Nullable MethodTree method, int depth) {
        if (depth > DEEPEST) {
            return UNKNOWN;
        }
        return switch (tree) {
            case LiteralTree literal ->
                    literal.getValue() instanceof String text ? List.of(text) : UNKNOWN;
            case ParenthesizedTree inner -> of(inner.getExpression(), method, depth);
            case BinaryTree sum when sum.getKind() == Tree.Kind.PLUS ->
                    joined(
                            of(sum.getLeftOperand(), method, depth),
                            of(sum.getRightOperand(), method, depth));
            case ConditionalExpressionTree either -> {
                Set<String> both = new LinkedHashSet<>();
                both.addAll(of(either.getTrueExpression(), method, depth));
                both.addAll(of(either.getFalseExpression(), method, depth));
                yield limited(both);
            }
            case IdentifierTree name -> ofName(name.getName().toString(), method, depth);
            case MemberSelectTree field -> ofConstant(field.toString(), depth);
            case MethodInvocationTree call ->
                    call.getMethodSelect().toString().equals("Sentence.of")
                            ? filled(call.getArguments(), method)
                            : ofCall(call, depth);
            default -> UNKNOWN;
        };
    }

    private List<String> ofName(String name, @Nullable MethodTree method, int depth) {
        ExpressionTree value = method == null ? null : variables(method).get(name);
        return value == null
                ? ofConstant(className + "." + name, depth)
                : of(value, method, depth + 1);
    }

    private List<String> ofConstant(String name, int depth) {
        ExpressionTree value = constants.get(name);
        return value == null ? UNKNOWN : of(value, null, depth + 1);
    }

    private List<String> ofCall(MethodInvocationTree call, int depth) {
        List<MethodTree> called =
                call.getMethodSelect() instanceof IdentifierTree name
                        ? methods.getOrDefault(name.getName().toString(), List.of())
                        : List.of();
        if (called.size() != 1 || !"String".equals(String.valueOf(called.get(0).getReturnType()))) {
            return UNKNOWN;
        }
        MethodTree method = called.get(0);
        Set<String> all = new LinkedHashSet<>();
        new TreeScanner<@Nullable Void, @Nullable Void>() {
            @Override
            public @Nullable Void visitReturn(ReturnTree tree, @Nullable Void unused) {
                all.addAll(of(tree.getExpression(), method, depth + 1));
                return null;
            }

            @Override
            public @Nullable Void visitLambdaExpression(
                    LambdaExpressionTree tree, @Nullable Void unused) {
                return null;
            }
        }.scan(method.getBody(), null);
        return limited(all);
    }

    /** Local variables with a value; those of a name that is used twice are left out. */
    private static Map<String, ExpressionTree> variables(MethodTree method) {
        Map<String, ExpressionTree> found = new HashMap<>();
        Set<String> twice = new LinkedHashSet<>();
        new TreeScanner<@Nullable Void, @Nullable Void>() {
            @Override
            public @Nullable Void visitVariable(VariableTree tree, @Nullable Void unused) {
                ExpressionTree value = tree.getInitializer();
                String name = tree.getName().toString();
                if (value != null && found.put(name, value) != null) {
                    twice.add(name);
                }
                return super.visitVariable(tree, null);
            }
        }.scan(method.getBody(), null);
        twice.forEach(found::remove);
        return found;
    }

    private static List<String> joined(List<String> left, List<String> right) {
        Set<String> all = new LinkedHashSet<>();
        for (String a : left) {
            for (String b : right) {
                all.add(a + b);
            }
        }
        return limited(all);
    }

    private static List<String> limited(Set<String> texts) {
        return texts.isEmpty() || texts.size() > MOST ? UNKNOWN : List.copyOf(texts);
    }

    private static String tidy(String text) {
        return text.replaceAll(VARIES + "+", VARIES);
    }
}
