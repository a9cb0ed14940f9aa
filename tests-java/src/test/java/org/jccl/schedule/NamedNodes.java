package org.jccl.schedule;

/** Nodes by the name that each rank gives to its own. */
public final class NamedNodes {
    private NamedNodes() {}

    /**
     * Nodes of the ranks that give the same name.
     *
     * @param names by rank, any numbers
     */
    public static Nodes of(int... names) {
        return Nodes.of(
                names.length,
                new Nodes.Sharing() {
                    @Override
                    public boolean between(int q, int r) {
                        return names[q] == names[r];
                    }

                    @Override
                    public int kind(int q) {
                        return names[q];
                    }
                });
    }
}
