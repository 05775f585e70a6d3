package app;

import java.time.DateTimeException;
import java.time.Duration;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Map;

/**
 * A response of the service, or of this server itself.
 *
 * @param text the JSON object, as it was received
 * @param body the same, read
 * @param headers by their names in lower case
 */
record Answer(int status, String text, Map<String, Object> body, Map<String, String> headers) {
    /** Returns a response with this JSON object. Throws Json.Malformed when it is none. */
    static Answer parse(int status, String text, Map<String, String> headers) {
        return new Answer(status, text, Json.parseObject(text), headers);
    }

    static Answer json(int status, Map<String, Object> body) {
        return new Answer(status, Json.write(body), body, Map.of());
    }

    static Answer error(int status, String error, String message) {
        return json(status, Map.of("error", error, "message", message, "retryable", status >= 500));
    }

    /** Returns how long the service asks to wait, by its own clock; null when it does not, or says it in no known form. */
    Duration retryAfter() {
        var value = headers.getOrDefault("retry-after", "");
        if (value.matches("\\d{1,9}")) return Duration.ofSeconds(Long.parseLong(value));
        var format = DateTimeFormatter.RFC_1123_DATE_TIME;
        try {
            var now = ZonedDateTime.parse(headers.getOrDefault("date", ""), format);
            var wait = Duration.between(now, ZonedDateTime.parse(value, format));
            return wait.isNegative() ? null : wait;
        } catch (DateTimeException error) {
            return null;
        }
    }
}
