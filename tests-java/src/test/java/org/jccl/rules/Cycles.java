package org.jccl.rules;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** The strongly connected components of a graph, by Tarjan's algorithm. */
final class Cycles {
    private final Map<String, Set<String>> edges;
    private final Map<String, Integer> index = new HashMap<>();
    private final Deque<String> stack = new ArrayDeque<>();
    private final List<Set<String>> found = new ArrayList<>();

    private Cycles(Map<String, Set<String>> edges) {
        this.edges = edges;
    }

    /** The components, of which each node is in one. */
    static List<Set<String>> of(Map<String, Set<String>> edges) {
        Cycles cycles = new Cycles(edges);
        for (String node : edges.keySet()) {
            if (!cycles.index.containsKey(node)) {
                cycles.visit(node);
            }
        }
        return cycles.found;
    }

    private int visit(String node) {
        int number = index.size();
        index.put(node, number);
        int low = number;
        stack.push(node);
        for (String next : edges.getOrDefault(node, Set.of())) {
            if (!index.containsKey(next)) {
                low = Math.min(low, visit(next));
            } else if (stack.contains(next)) {
                low = Math.min(low, index.get(next));
            }
        }
        if (low == number) {
            Set<String> component = new TreeSet<>();
            String last;
            do {
                last = stack.pop();
                component.add(last);
            } while (!last.equals(node));
            found.add(component);
        }
        return low;
    }
}
