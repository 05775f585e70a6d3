package app;

import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The routes. The service's responses go to the page unchanged, as render.js expects of its endpoint. */
final class Routes {
    private static final int WAIT_MS = 1_500;
    private static final int MAX_WAIT_MS = 5_000;
    private static final int MAX_BODY_BYTES = 64 * 1024;
    private static final List<String> DECISIONS = List.of("granted", "denied", "withdrawn");

    private final Settings settings;
    private final Service service;
    private final Sessions sessions = new Sessions();

    Routes(Settings settings, Service service) {
        this.settings = settings;
        this.service = service;
    }

    /** Returns the response to a request. */
    Answer answer(HttpExchange exchange) throws IOException {
        try {
            return switch (exchange.getRequestMethod() + " " + exchange.getRequestURI().getPath()) {
                case "GET /api/config" -> config();
                case "POST /api/placement" -> place(exchange);
                case "GET /api/placement" -> poll(exchange);
                case "POST /api/consent" -> setConsent(exchange);
                case "POST /api/beacons" -> Beacons.forward(service, Beacons.read(readBody(exchange)));
                default -> notFound();
            };
        } catch (RequestException error) {
            return Answer.error(error.status, "validation_error", error.getMessage());
        }
    }

    static Answer notFound() {
        return Answer.error(404, "validation_error", "There is no such route.");
    }

    private Answer config() {
        var scriptUrl = settings.baseUrl() + "/v1/render.js";
        return Answer.json(200, Map.of("script_url", scriptUrl, "job_types", PlacementRequest.JOB_TYPES));
    }

    private Answer place(HttpExchange exchange) throws IOException {
        var body = readBody(exchange);
        var session = openSession(exchange);
        var consent = session.grantedConsent(System.currentTimeMillis());
        if (consent == null) return noFill("consent_not_granted");
        var purposes = Json.asObject(consent.get("purposes"));
        var request = PlacementRequest.build(body, settings.clientId(), session.id, purposes);
        if (request == null) {
            throw new RequestException(400, "job_type is one of " + String.join(", ", PlacementRequest.JOB_TYPES) + ".");
        }
        var answer = service.post("/v1/placements?wait_ms=" + WAIT_MS, request);
        if (answer.body().get("slot_id") instanceof String slotId) session.slotIds.add(slotId);
        return answer;
    }

    /** Pending is not no-fill: render.js polls here until it is decided. */
    private Answer poll(HttpExchange exchange) {
        var query = readQuery(exchange);
        var slotId = query.getOrDefault("slot_id", "");
        if (!openSession(exchange).slotIds.contains(slotId)) throw new RequestException(404, "No slot of this session.");
        var wait = query.getOrDefault("wait_ms", "");
        var waitMs = wait.matches("\\d{1,9}") ? Math.min(Integer.parseInt(wait), MAX_WAIT_MS) : 0;
        return service.get("/v1/decisions/" + slotId + "?wait_ms=" + waitMs);
    }

    private Answer setConsent(HttpExchange exchange) throws IOException {
        var body = readBody(exchange);
        var session = openSession(exchange);
        if (!(body.get("decision") instanceof String decision) || !DECISIONS.contains(decision)) {
            throw new RequestException(400, "decision is one of " + String.join(", ", DECISIONS) + ".");
        }
        // Denied until the service has stored it: if the call fails, nothing is permitted, whatever the earlier answer.
        session.consent = null;
        var purposes = new LinkedHashMap<String, Object>();
        for (var name : List.of("semantic_targeting", "prompt_shared")) {
            purposes.put(name, decision.equals("granted") && Boolean.TRUE.equals(body.get(name)));
        }
        var request = new LinkedHashMap<String, Object>();
        request.put("client_id", settings.clientId());
        request.put("session_id", session.id);
        request.put("decision", decision);
        request.put("purposes", purposes);
        var answer = service.post("/v1/consent", request);
        if (answer.status() == 200) session.consent = Json.asObject(answer.body().get("authoritative_consent"));
        return answer;
    }

    /** Returns the session of this request's cookie, or a new one. */
    private Session openSession(HttpExchange exchange) {
        for (var header : exchange.getRequestHeaders().getOrDefault("Cookie", List.of())) {
            for (var cookie : header.split("; *")) {
                var session = cookie.startsWith("session=") ? sessions.find(cookie.substring(8)) : null;
                if (session != null) return session;
            }
        }
        var session = sessions.begin();
        // Behind HTTPS, add Secure.
        var cookie = "session=" + session.cookie + "; Path=/; HttpOnly; SameSite=Lax";
        exchange.getResponseHeaders().set("Set-Cookie", cookie);
        return session;
    }

    /** Returns the JSON object of a request. */
    private static Map<String, Object> readBody(HttpExchange exchange) throws IOException {
        var content = exchange.getRequestBody().readNBytes(MAX_BODY_BYTES + 1);
        if (content.length > MAX_BODY_BYTES) {
            throw new RequestException(413, "A body has at most " + MAX_BODY_BYTES + " bytes.");
        }
        var type = exchange.getRequestHeaders().getFirst("Content-Type");
        if (type == null || !type.split(";")[0].strip().equalsIgnoreCase("application/json")) {
            throw new RequestException(415, "Send JSON, with Content-Type: application/json.");
        }
        try {
            return Json.parseObject(new String(content, StandardCharsets.UTF_8));
        } catch (Json.Malformed error) {
            throw new RequestException(400, "The body is " + error.getMessage() + ".");
        }
    }

    private static Map<String, String> readQuery(HttpExchange exchange) {
        var values = new HashMap<String, String>();
        var query = exchange.getRequestURI().getRawQuery();
        for (var pair : query == null ? new String[0] : query.split("&")) {
            var parts = pair.split("=", 2);
            if (parts.length == 2) values.put(parts[0], URLDecoder.decode(parts[1], StandardCharsets.UTF_8));
        }
        return values;
    }

    /** Returns this server's own decision, in the shape of the service's. */
    private static Answer noFill(String reason) {
        var body = new LinkedHashMap<String, Object>();
        body.put("slot_id", null);
        body.put("status", "ready");
        body.put("placement", null);
        body.put("decision", Map.of("fill", false, "no_fill_reason", reason));
        return Answer.json(200, body);
    }
}
