package app;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Map;
import java.util.stream.Collectors;

/** Calls the placement service: one request, one response, never an exception. */
final class Service {
    /** Longer than the longest wait_ms, which is 5 s. */
    private static final Duration TIMEOUT = Duration.ofSeconds(8);

    private final Settings settings;
    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(TIMEOUT).build();

    Service(Settings settings) {
        this.settings = settings;
    }

    Answer get(String path) {
        return call("GET", path, HttpRequest.newBuilder().GET());
    }

    Answer post(String path, Map<String, Object> body) {
        var request = HttpRequest.newBuilder().header("Content-Type", "application/json");
        return call("POST", path, request.POST(BodyPublishers.ofString(Json.write(body))));
    }

    private Answer call(String method, String path, HttpRequest.Builder builder) {
        try {
            var request = builder.uri(URI.create(settings.baseUrl() + path))
                    .header("Authorization", "Bearer " + settings.secretKey())
                    .timeout(TIMEOUT)
                    .build();
            var response = client.send(request, BodyHandlers.ofString());
            var headers = response.headers().map().entrySet().stream()
                    .collect(Collectors.toMap(entry -> entry.getKey().toLowerCase(), entry -> entry.getValue().get(0)));
            return Answer.parse(response.statusCode(), response.body(), headers);
        } catch (IOException | IllegalArgumentException | Json.Malformed error) {
            System.err.printf("%s %s%s: %s%n", method, settings.baseUrl(), path, error);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
        return Answer.error(502, "no_answer", "The placement service sent no readable response.");
    }
}
