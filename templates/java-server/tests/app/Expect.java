package app;

import java.util.Objects;

/** What tests expect. */
final class Expect {
    private Expect() {}

    /** Throws AssertionError that shows both values when they differ. */
    static void same(Object expected, Object actual) {
        if (!Objects.equals(expected, actual)) {
            throw new AssertionError("expected " + expected + "\nreceived " + actual);
        }
    }
}
