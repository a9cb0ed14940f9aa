package org.jccl.abi;

import org.jccl.type.ErrorKind;

/** Refuses NULL where a function needs an address, before anything else happens. */
final class Checked {
    private Checked() {}

    static void pointer(String function, String name, long address) {
        if (address == 0) {
            throw ErrorKind.NULL_ARGUMENT.says(
                    "%s : %s argument is NULL; pass the address of a variable", function, name);
        }
    }
}
