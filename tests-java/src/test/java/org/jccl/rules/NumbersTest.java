package org.jccl.rules;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.jccl.type.DataType;
import org.jccl.type.NcclResult;
import org.jccl.type.Operation;
import org.jccl.type.RedOp;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The numbers of operations, types, reductions and results, and what an operation takes and gives,
 * stand in the enums of {@code org.jccl.type}. What C and Python know of them lies between two
 * marks of their files; with {@code -Dupdate} it is written anew.
 */
final class NumbersTest {
    private static final String BEGIN = " written by NumbersTest ";
    private static final String END = " end ";

    private static final int ROOT = 0;
    private static final int OTHER = 1;

    /** The second names in {@code nccl.h}. */
    private static final Map<DataType, String> SHORT_NAMES =
            Map.of(
                    DataType.INT8, "ncclChar",
                    DataType.INT32, "ncclInt",
                    DataType.FLOAT16, "ncclHalf",
                    DataType.FLOAT32, "ncclFloat",
                    DataType.FLOAT64, "ncclDouble");

    /** A place in a file that is written from the enums. */
    enum Place {
        C_RESULTS("java-core/src/main/c/nccl.h", "ncclResult_t") {
            @Override
            String text() {
                return lines(
                        Arrays.stream(NcclResult.values()),
                        each -> "    " + ncclName(each) + " = " + each.code() + ",\n");
            }
        },
        C_TYPES("java-core/src/main/c/nccl.h", "ncclDataType_t") {
            @Override
            String text() {
                return lines(
                        Arrays.stream(DataType.values()),
                        each ->
                                Stream.of(each.ncclName(), SHORT_NAMES.getOrDefault(each, ""))
                                        .filter(name -> !name.isEmpty())
                                        .map(name -> "    " + name + " = " + each.number() + ",\n")
                                        .collect(Collectors.joining()));
            }
        },
        C_REDUCTIONS("java-core/src/main/c/nccl.h", "ncclRedOp_t") {
            @Override
            String text() {
                return lines(
                        Arrays.stream(RedOp.values()),
                        each -> "    " + each.ncclName() + " = " + each.number() + ",\n");
            }
        },
        C_OPERATIONS("java-core/src/main/c/jccl.h", "operations") {
            @Override
            String text() {
                String all =
                        lines(
                                Arrays.stream(Operation.values()),
                                each ->
                                        "    jccl"
                                                + each.ncclName()
                                                + " = "
                                                + each.number()
                                                + ",\n");
                return all.substring(0, all.length() - 2) + "\n";
            }
        },
        C_TABLE("java-core/src/main/c/python/operations.def", "operations") {
            @Override
            String text() {
                return lines(
                        Arrays.stream(Operation.values()),
                        each ->
                                String.format(
                                        "OPERATION(%s, %s, %s, %s, %s, %s)\n",
                                        each.ncclName(),
                                        each.in(),
                                        ranks(each.in(), each.sends(OTHER, ROOT)),
                                        each.out(),
                                        ranks(each.out(), each.receives(OTHER, ROOT)),
                                        numbers(each)));
            }

            private static String numbers(Operation operation) {
                if (operation.pointToPoint()) {
                    return "PEER";
                }
                String reduced = operation.reduces() ? "REDUCED" : "";
                String rooted = operation.rooted() ? "ROOTED" : "";
                String between = reduced.isEmpty() || rooted.isEmpty() ? "" : "_";
                String both = reduced + between + rooted;
                return both.isEmpty() ? "PLAIN" : both;
            }
        },
        PYTHON_TABLE("python-pkg/jccl/_operations.py", "operations") {
            @Override
            String text() {
                return lines(
                        Arrays.stream(Operation.values()),
                        each ->
                                String.format(
                                        "    %s: Operation(\"%s\", \"%s\", %s, %s, %s, %s, %s),\n",
                                        each,
                                        each.ncclName(),
                                        snake(each.ncclName()),
                                        each.in(),
                                        ranks(each.in(), each.sends(OTHER, ROOT)),
                                        each.out(),
                                        ranks(each.out(), each.receives(OTHER, ROOT)),
                                        each.reduces() ? "True" : "False"));
            }

            private static String snake(String name) {
                return name.replaceAll("(?<=.)([A-Z])", "_$1").toLowerCase(Locale.ROOT);
            }
        },
        PYTHON("python-pkg/jccl/_numbers.py", "numbers") {
            @Override
            String text() {
                return lines(
                                Arrays.stream(NcclResult.values()),
                                each -> constant(each.name(), each.code()))
                        + "\n"
                        + lines(
                                Arrays.stream(Operation.values()),
                                each -> constant(each.name(), each.number()))
                        + "\n"
                        + lines(
                                Arrays.stream(DataType.values()),
                                each -> constant(each.name(), each.number()))
                        + "\n"
                        + lines(
                                Arrays.stream(RedOp.values()),
                                each -> constant(each.name(), each.number()))
                        + "\nTYPE_BYTES: Final = ("
                        + Arrays.stream(DataType.values())
                                .map(each -> Integer.toString(each.sizeBytes()))
                                .collect(Collectors.joining(", "))
                        + ")\n";
            }
        };

        private final String file;
        private final String what;

        Place(String file, String what) {
            this.file = file;
            this.what = what;
        }

        abstract String text();

        /** Which ranks have a buffer of these parts. */
        private static String ranks(Operation.Parts parts, boolean others) {
            return parts == Operation.Parts.NONE || others ? "ALL" : "ROOT";
        }

        private static String constant(String name, int value) {
            return name + ": Final = " + value + "\n";
        }

        private static <T> String lines(
                Stream<T> values, java.util.function.Function<T, String> line) {
            return values.map(line).collect(Collectors.joining());
        }
    }

    /** The name in {@code nccl.h}. */
    static String ncclName(NcclResult result) {
        return Arrays.stream(result.name().split("_", -1))
                .map(word -> word.charAt(0) + word.substring(1).toLowerCase(Locale.ROOT))
                .collect(Collectors.joining("", "nccl", ""));
    }

    @ParameterizedTest
    @EnumSource(Place.class)
    void placeSaysWhatTheEnumsSay(Place place) throws IOException {
        Path file = Repository.root().resolve(place.file);
        String whole = Files.readString(file);
        int begin = after(whole, place.what + BEGIN, file);
        int end = whole.lastIndexOf('\n', whole.indexOf(place.what + END, begin)) + 1;
        String updated = whole.substring(0, begin) + place.text() + whole.substring(end);
        if (System.getProperty("update") != null && !updated.equals(whole)) {
            Files.writeString(file, updated);
        }
        assertEquals(
                updated,
                Files.readString(file),
                place.file
                        + " is not what org.jccl.type says: mvn verify -Dtest=NumbersTest"
                        + " -Dupdate writes it anew");
    }

    /** The beginning of the line after the one with the mark. */
    private static int after(String whole, String mark, Path file) {
        int at = whole.indexOf(mark);
        if (at < 0 || whole.indexOf(mark.replace(BEGIN, END), at) < 0) {
            throw new AssertionError(file + " has no lines for \"" + mark + "\"");
        }
        return whole.indexOf('\n', at) + 1;
    }
}
