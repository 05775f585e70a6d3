package app;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Turns the page's request into the service's: the one place that decides which data leaves this server. */
final class PlacementRequest {
    static final List<String> JOB_TYPES = List.of("chat", "code", "image", "voice", "agent");

    /** The slot position of each kind of work, and the formats that suit it. */
    private static final Map<String, Map<String, Object>> SURFACES = Map.of(
            "chat", surface(Map.of("position", "below"), Map.of("allowed_formats", List.of("native", "banner"))),
            "code", surface(
                    Map.of("position", "sidebar", "max_width", 300, "max_height", 250),
                    Map.of("allowed_formats", List.of("banner"))),
            "image", surface(Map.of("position", "between", "max_width", 640), Map.of("allowed_formats", List.of("clip"))),
            "voice", surface(Map.of("position", "above"), Map.of("allowed_formats", List.of("banner", "native"))),
            "agent", surface(
                    Map.of("position", "inline"),
                    Map.of("allowed_formats", List.of("native"), "native_template_id", "list_item")));

    private PlacementRequest() {}

    /**
     * Returns the body of POST /v1/placements, or null when the page names no job type.
     *
     * <p>The topic goes along only with consent to semantic targeting, the text of the prompt only with consent to share it.
     */
    static Map<String, Object> build(
            Map<String, Object> body, String clientId, String sessionId, Map<String, Object> purposes) {
        if (!(body.get("job_type") instanceof String jobType) || !SURFACES.containsKey(jobType)) return null;
        var given = Json.asObject(body.get("prompt"));
        var shared = new LinkedHashMap<String, Object>();
        if (Boolean.TRUE.equals(purposes.get("semantic_targeting")) && given.get("topic") instanceof String topic) {
            shared.put("topic", shorten(topic, 200));
        }
        if (Boolean.TRUE.equals(purposes.get("prompt_shared")) && given.get("text") instanceof String text) {
            shared.put("text", shorten(text, 8_000));
        }
        var request = new LinkedHashMap<String, Object>();
        request.put("client_id", clientId);
        request.put("session_id", sessionId);
        request.put("job_type", jobType);
        request.putAll(SURFACES.get(jobType));
        if (!shared.isEmpty()) request.put("prompt", shared);
        return request;
    }

    private static Map<String, Object> surface(Map<String, Object> slotHint, Map<String, Object> overrides) {
        return Map.of("slot_hint", slotHint, "overrides", overrides);
    }

    /** Returns the first letters of a text, without half a letter at its end. */
    private static String shorten(String text, int length) {
        var letters = text.codePointCount(0, text.length());
        return letters <= length ? text : text.substring(0, text.offsetByCodePoints(0, length));
    }
}
