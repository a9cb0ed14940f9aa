package org.jccl.simulation;

import org.jccl.schedule.Ref;
import org.jccl.schedule.Schedule;
import org.jccl.schedule.Space;
import org.jccl.schedule.Step;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;

/** Ways to get one schedule wrong; each of them must be found. */
final class Mutations {
    /** A changed list of steps and what was changed. */
    record Mutation(String what, List<Step> steps) {}

    private final List<Step> steps;
    private final int elementBytes;
    private final List<Mutation> all = new ArrayList<>();

    private Mutations(List<Step> steps, int elementBytes) {
        this.steps = steps;
        this.elementBytes = elementBytes;
    }

    /** Every mutation of a schedule: of each step, all that its kind allows. */
    static List<Mutation> of(Schedule schedule, int elementBytes) {
        Mutations mutations = new Mutations(schedule.steps(), elementBytes);
        for (int i = 0; i < schedule.steps().size(); i++) {
            mutations.mutate(i);
        }
        return mutations.all;
    }

    /** The schedule with every place in the ring moved to a ring of fewer slots. */
    static Schedule withFewerSlots(Schedule schedule, int slotBytes, int slots) {
        UnaryOperator<Ref> wrap =
                ref ->
                        ref.space() == Space.RING
                                ? new Ref(
                                        Space.RING,
                                        ref.rank(),
                                        ref.offset() % ((long) slots * slotBytes))
                                : ref;
        List<Step> wrapped = new ArrayList<>();
        for (Step step : schedule.steps()) {
            wrapped.add(
                    switch (step) {
                        case Step.Put p ->
                                new Step.Put(p.src(), p.length(), wrap.apply(p.dst()), p.readers());
                        case Step.Copy c -> new Step.Copy(c.dst(), wrap.apply(c.src()), c.length());
                        case Step.Fold f ->
                                new Step.Fold(
                                        f.dst(),
                                        f.sources().stream().map(wrap).toList(),
                                        f.length(),
                                        f.last());
                        default -> step;
                    });
        }
        return new Schedule(
                schedule.rank(),
                schedule.nRanks(),
                wrapped,
                schedule.order(),
                schedule.sequenceNumbers());
    }

    private void mutate(int i) {
        Step step = steps.get(i);
        change("drop " + step, list -> list.remove(i));
        switch (step) {
            case Step.Put p -> {
                replace(i, new Step.Put(shift(p.src()), p.length(), p.dst(), p.readers()));
                replace(i, new Step.Put(p.src(), p.length(), shift(p.dst()), p.readers()));
                if (p.length() > elementBytes) {
                    replace(i, new Step.Put(p.src(), less(p.length()), p.dst(), p.readers()));
                }
                if (p.readers().length > 1) {
                    int[] fewer = fewer(p.readers());
                    replace(i, new Step.Put(p.src(), p.length(), p.dst(), fewer));
                }
            }
            case Step.Signal s -> {
                if (s.readers().length > 1) {
                    replace(i, new Step.Signal(s.flag(), s.delta(), fewer(s.readers())));
                }
                if (i > 0 && steps.get(i - 1) instanceof Step.Put) {
                    change(step + " too early", list -> Collections.swap(list, i, i - 1));
                }
            }
            case Step.Wait w -> {
                if (w.delta() > 1) {
                    replace(i, new Step.Wait(w.rank(), w.flag(), w.delta() - 1));
                }
            }
            case Step.Fold f -> {
                replace(i, new Step.Fold(shift(f.dst()), f.sources(), f.length(), f.last()));
                if (f.length() > elementBytes) {
                    replace(i, new Step.Fold(f.dst(), f.sources(), less(f.length()), f.last()));
                }
                List<Ref> sources = new ArrayList<>(f.sources());
                sources.set(1, shift(sources.get(1)));
                replace(i, new Step.Fold(f.dst(), sources, f.length(), f.last()));
                replace(i, new Step.Fold(f.dst(), f.sources(), f.length(), !f.last()));
                replace(i, new Step.Fold(f.dst(), f.sources().reversed(), f.length(), f.last()));
            }
            case Step.Copy c -> {
                replace(i, new Step.Copy(shift(c.dst()), c.src(), c.length()));
                replace(i, new Step.Copy(c.dst(), shift(c.src()), c.length()));
                if (c.length() > elementBytes) {
                    replace(i, new Step.Copy(c.dst(), c.src(), less(c.length())));
                }
            }
            case Step.Loop loop -> mutate(i, loop);
            case Step.TinyCopy c -> {
                replace(i, tinyCopy(c, shift(c.dst()), c.from()));
                if (c.from() + elementBytes <= c.message() - c.length()) {
                    replace(i, tinyCopy(c, c.dst(), c.from() + elementBytes));
                }
            }
            default -> {}
        }
    }

    /** Also exchanges steps that follow each other, and lets a wait look one round further back. */
    private void mutate(int i, Step.Loop loop) {
        Mutations body = new Mutations(loop.body(), elementBytes);
        for (int k = 0; k < loop.body().size(); k++) {
            int at = k;
            body.mutate(at);
            if (at > 0) {
                Step step = loop.body().get(at);
                body.change(step + " earlier", list -> Collections.swap(list, at, at - 1));
            }
            if (loop.body().get(at) instanceof Step.Wait w && w.delta() <= 1) {
                body.replace(at, new Step.Wait(w.rank(), w.flag(), w.delta() - 1));
            }
        }
        for (Mutation mutation : body.all) {
            Step changed = new Step.Loop(loop.chunkBytes(), mutation.steps());
            change(mutation.what(), list -> list.set(i, changed));
        }
    }

    private static Step tinyCopy(Step.TinyCopy c, Ref dst, long from) {
        return new Step.TinyCopy(dst, c.rank(), from, c.length(), c.message());
    }

    private void replace(int i, Step with) {
        change(steps.get(i) + " becomes " + with, list -> list.set(i, with));
    }

    private void change(String what, Consumer<List<Step>> change) {
        List<Step> changed = new ArrayList<>(steps);
        change.accept(changed);
        all.add(new Mutation(what, changed));
    }

    private Ref shift(Ref ref) {
        return ref.plus(elementBytes);
    }

    private long less(long length) {
        return length - elementBytes;
    }

    private static int[] fewer(int[] readers) {
        return IntStream.of(readers).skip(1).toArray();
    }
}
