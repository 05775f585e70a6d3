package app;

/** The caller's mistake. */
final class RequestException extends RuntimeException {
    private static final long serialVersionUID = 1;

    final int status;

    RequestException(int status, String message) {
        super(message);
        this.status = status;
    }
}
