package app;

/** A required setting is missing from the environment, or has no useful value. */
final class SettingsException extends RuntimeException {
    private static final long serialVersionUID = 1;

    SettingsException(String message) {
        super(message);
    }
}
