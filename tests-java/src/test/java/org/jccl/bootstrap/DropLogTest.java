package org.jccl.bootstrap;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

class DropLogTest {
    @Test
    void saysOneLineAndCountsTheRest() {
        List<String> lines = new ArrayList<>();
        DropLog drops = new DropLog(lines::add);
        long start = Long.MAX_VALUE - 5;
        for (int i = 0; i < 1000; i++) {
            drops.add(() -> "a stranger", start + i);
        }
        assertEquals(List.of("a stranger"), lines);
        drops.add(() -> "the last", start + DropLog.QUIET_NS);
        drops.add(() -> "not yet", start + 2 * DropLog.QUIET_NS - 1);
        assertEquals(
                List.of("a stranger", "the last (and 999 more like it in the last 10 s)"), lines);
    }
}
