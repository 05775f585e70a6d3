package app;

import static app.Expect.same;
import static app.Sandbox.control;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The server against a sandbox. */
final class ServerTest {
    private static final Map<String, Object> CHAT = Map.of("job_type", "chat");
    private final int port;

    ServerTest(int port) {
        this.port = port;
    }

    /** Returns the tests by what they show. */
    Map<String, RunTests.Test> tests() {
        var tests = new LinkedHashMap<String, RunTests.Test>();
        tests.put("every job type gets a labelled placement", this::fillsEveryJobType);
        tests.put("without consent nothing is requested", this::asksForConsentFirst);
        tests.put("a withdrawal holds also when the service cannot be reached", this::withdraws);
        tests.put("topic and text leave the server as far as was consented to", this::sharesAsConsented);
        tests.put("a no-fill is an answer like any other", this::passesNoFill);
        tests.put("a pending decision is polled by its own session only", this::pollsPending);
        tests.put("an error goes to the page with its Retry-After, and is not retried here", this::passesErrors);
        tests.put("a service that is away or talks nonsense is a 502, not a crash", this::survivesNonsense);
        tests.put("beacons are forwarded once each, and again after a 429 with Retry-After", this::forwardsBeacons);
        tests.put("bad requests are the caller's mistakes", this::refusesBadRequests);
        tests.put("the page and its script are served, and nothing else", this::servesThePage);
        return tests;
    }

    private void fillsEveryJobType() throws Exception {
        for (var jobType : PlacementRequest.JOB_TYPES) {
            var answer = consenting().post("/api/placement", Map.of("job_type", jobType));
            same(200, answer.status());
            same(true, decision(answer).get("fill"));
            same(false, "".equals(placement(answer).getOrDefault("ad_label_text", "")));
        }
    }

    private void asksForConsentFirst() throws Exception {
        var filter = Map.<String, Object>of("method", "POST", "path", "/v1/placements");
        var before = control("POST", "requests/count", filter);
        var answer = new Visitor(port).post("/api/placement", CHAT);
        same(200, answer.status());
        same("consent_not_granted", decision(answer).get("no_fill_reason"));
        same(before, control("POST", "requests/count", filter));
    }

    private void withdraws() throws Exception {
        var visitor = consenting();
        control("POST", "faults", Map.of("path", "/v1/consent", "status", 503));
        same(503, visitor.post("/api/consent", Map.of("decision", "withdrawn")).status());
        same("consent_not_granted", decision(visitor.post("/api/placement", CHAT)).get("no_fill_reason"));
    }

    private void sharesAsConsented() throws Exception {
        same(null, sentPrompt(consenting()));
        same(Map.of("topic", "coffee"), sentPrompt(consenting("semantic_targeting")));
        same(List.of("text"), List.copyOf(Json.asObject(sentPrompt(consenting("prompt_shared"))).keySet()));
    }

    /** Returns the prompt as the sandbox received it: of a text, it stores only that there was one. */
    private Object sentPrompt(Visitor visitor) throws Exception {
        var prompt = Map.of("topic", "coffee", "text", "Which grinder?");
        var answer = visitor.post("/api/placement", Map.of("job_type", "chat", "prompt", prompt));
        var exchange = control("GET", "requests/" + answer.headers().get("x-request-id"), Map.of());
        return Json.parseObject((String) exchange.get("request_body")).get("prompt");
    }

    private void passesNoFill() throws Exception {
        control("POST", "scenarios/no_fill", Map.of());
        var answer = consenting().post("/api/placement", CHAT);
        same(200, answer.status());
        same(null, answer.body().get("placement"));
        same(false, decision(answer).get("fill"));
    }

    private void pollsPending() throws Exception {
        control("POST", "scenarios/pending_then_ready", Map.of());
        var visitor = consenting();
        var first = visitor.post("/api/placement", CHAT).body();
        same("pending", first.get("status"));
        var path = "/api/placement?wait_ms=3000&slot_id=" + first.get("slot_id");
        same(404, consenting().get(path).status());
        var second = visitor.get(path);
        same("ready", second.body().get("status"));
        same(true, decision(second).get("fill"));
    }

    private void passesErrors() throws Exception {
        var visitor = consenting();
        var fault = Map.<String, Object>of("path", "/v1/placements", "status", 429, "retry_after_s", 7, "times", 1);
        control("POST", "faults", fault);
        var answer = visitor.post("/api/placement", CHAT);
        same(429, answer.status());
        same("7", answer.headers().get("retry-after"));
        // Of another user: this one waits.
        same(200, consenting().post("/api/placement", CHAT).status());
    }

    private void survivesNonsense() throws Exception {
        for (var effect : List.of("reset", "truncate", "garble")) {
            var visitor = consenting();
            control("POST", "faults", Map.of("path", "/v1/placements", "effect", effect, "times", 1));
            same(502, visitor.post("/api/placement", CHAT).status());
        }
    }

    private void forwardsBeacons() throws Exception {
        var visitor = consenting();
        var placed = visitor.post("/api/placement", Map.of("job_type", "agent"));
        var slotId = placed.body().get("slot_id");
        var fault = Map.<String, Object>of("path", "/v1/beacons", "status", 429, "retry_after_s", 1, "times", 1);
        control("POST", "faults", fault);
        for (var event : List.of("render", "visible")) {
            var answer = visitor.post("/api/beacons", Map.of(
                    "beacon_id", slotId + ":" + event,
                    "slot_id", slotId,
                    "asset_token", placement(placed).get("asset_token"),
                    "event", event,
                    "occurred_at_ms", System.currentTimeMillis(),
                    "measurements", Map.of("visible_ratio", 1, "visible_ms", 1_000, "page_visible", true),
                    "not_a_field", 1));
            same(true, answer.body().get("accepted"));
        }
        var items = (List<?>) control("GET", "beacons?slot_id=" + slotId, Map.of()).get("items");
        var events = items.stream().map(item -> (String) Json.asObject(item).get("event")).sorted().toList();
        same(List.of("render", "visible"), events);
    }

    private void refusesBadRequests() throws Exception {
        var visitor = consenting();
        same(400, visitor.post("/api/placement", Map.of("job_type", "song")).status());
        same(400, visitor.post("/api/consent", Map.of("decision", "perhaps")).status());
        same(400, visitor.send("POST", "/api/consent", "[\"granted\"]").status());
        same(400, visitor.send("POST", "/api/consent", "[".repeat(50_000)).status());
        same(413, visitor.post("/api/consent", Map.of("decision", "a".repeat(70_000))).status());
        same(404, visitor.get("/api/placement?slot_id=slot_unknown").status());
        same(404, visitor.get("/../src/app/Settings.java").status());
    }

    private void servesThePage() throws Exception {
        var visitor = new Visitor(port);
        same("text/html; charset=utf-8", visitor.get("/").headers().get("content-type"));
        same(200, visitor.get("/page.js").status());
        same(404, visitor.get("/.env").status());
    }

    private Visitor consenting(String... purposes) throws Exception {
        return Visitor.consenting(port, purposes);
    }

    private static Map<String, Object> decision(Answer answer) {
        return Json.asObject(answer.body().get("decision"));
    }

    private static Map<String, Object> placement(Answer answer) {
        return Json.asObject(answer.body().get("placement"));
    }
}
