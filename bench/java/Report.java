import com.google.gson.Gson;
import com.google.gson.GsonBuilder;

import org.jccl.Statistics;

import java.io.IOException;
import java.io.Reader;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * What {@link AllReduceClient} has measured, as JSON that docs/json.md describes.
 *
 * @param schema the name and version of this form
 * @param ranks how many ranks there were
 * @param java the version of the virtual machine
 * @param figures a figure for each size, in the order of the command line
 * @param statistics the counters of rank 0 for the whole run
 */
record Report(String schema, int ranks, String java, List<Figure> figures, Statistics statistics) {
    static final String SCHEMA = "jccl-bench-all-reduce/1";

    private static final Gson GSON = new GsonBuilder().setPrettyPrinting().create();

    /**
     * The figure of one size.
     *
     * @param bytes the size of each rank's buffer
     * @param microseconds of a call, the median of the quietest series
     * @param stolen hundredths of a second that the host stole in the worst of these series
     * @param trip what a word took between two ranks' cores and back in ns; 0 if nobody looked
     */
    record Figure(long bytes, double microseconds, double stolen, double trip) {}

    static Report of(int ranks, List<Figure> figures, Statistics statistics) {
        String java = Runtime.version().toString();
        return new Report(SCHEMA, ranks, java, List.copyOf(figures), statistics);
    }

    void write(Path file) throws IOException {
        try (Writer out = Files.newBufferedWriter(file)) {
            GSON.toJson(this, out);
        }
    }

    /**
     * Reads a report.
     *
     * @throws IOException if the file cannot be read, or has another schema
     */
    static Report read(Path file) throws IOException {
        try (Reader in = Files.newBufferedReader(file)) {
            Report report = GSON.fromJson(in, Report.class);
            if (report == null || !SCHEMA.equals(report.schema)) {
                throw new IOException(file + " has not the schema " + SCHEMA);
            }
            return report;
        }
    }

    /** Prints reports one after the other, as AllReduceClient prints its figures. */
    public static void main(String[] files) throws IOException {
        for (String file : files) {
            for (Figure each : read(Path.of(file)).figures) {
                System.out.printf(
                        "%d %.4f %.0f %.0f%n",
                        each.bytes, each.microseconds, each.stolen, each.trip);
            }
        }
    }
}
