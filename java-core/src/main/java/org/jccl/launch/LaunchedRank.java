package org.jccl.launch;

import org.jccl.param.Param;
import org.jccl.param.Params;
import org.jccl.type.ErrorKind;
import org.jccl.type.NcclException;
import org.jspecify.annotations.Nullable;

/**
 * Which rank of a job this process is, as launchers say it in variables.
 *
 * @param localRank its number among the ranks of its machine, -1 if the launcher does not say
 */
public record LaunchedRank(int rank, int nRanks, int localRank) {
    /**
     * Reads RANK, WORLD_SIZE and LOCAL_RANK.
     *
     * @throws NcclException INVALID_USAGE if one is missing or makes no sense
     */
    public static LaunchedRank fromEnvironment() {
        int nRanks = number(Params.WORLD_SIZE, "the number of ranks");
        int rank = number(Params.RANK, "the number of this rank");
        if (rank >= nRanks) {
            throw ErrorKind.VARIABLE_UNFIT.says(
                    "RANK is %s and WORLD_SIZE %s; set RANK to 0 to WORLD_SIZE - 1, another number "
                            + "in each process",
                    rank, nRanks);
        }
        int local = Params.LOCAL_RANK.text() == null ? -1 : number(Params.LOCAL_RANK, "");
        return new LaunchedRank(rank, nRanks, local);
    }

    private static int number(Param<@Nullable String> variable, String meaning) {
        String text = variable.text();
        if (text == null) {
            throw ErrorKind.VARIABLE_MISSING.says(
                    "%s is not set; start the program by python -m jccl.run --no-python or "
                            + "torchrun --no-python, or set it to %s",
                    variable.name(), meaning);
        }
        try {
            int number = Integer.parseInt(text.strip());
            if (number >= 0) {
                return number;
            }
        } catch (NumberFormatException noNumber) {
            // Refused below, with the text.
        }
        throw ErrorKind.VARIABLE_UNFIT.says(
                "%s is '%s'; set it to a number, 0 or more", variable.name(), text);
    }
}
