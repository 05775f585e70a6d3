package app;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** The web server: answers of the routes, and the files of the page. */
final class Server {
    private static final Path PUBLIC = Path.of("public");
    private static final Map<String, String> TYPES =
            Map.of("html", "text/html; charset=utf-8", "css", "text/css", "js", "text/javascript");

    private final HttpServer http;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final Routes routes;

    /** Listens on this port of loopback; 0 picks one. Throws IOException when it is taken. */
    Server(Settings settings, int port) throws IOException {
        routes = new Routes(settings, new Service(settings));
        http = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
        // A request that waits, for a decision or for Retry-After, must not stop the others.
        http.setExecutor(threads);
        http.createContext("/", this::respond);
    }

    void start() {
        http.start();
    }

    void stop() {
        http.stop(0);
        threads.shutdown();
    }

    int port() {
        return http.getAddress().getPort();
    }

    private void respond(HttpExchange exchange) throws IOException {
        try (exchange) {
            var path = exchange.getRequestURI().getPath();
            if (exchange.getRequestMethod().equals("GET") && !path.startsWith("/api/")) sendFile(exchange, path);
            else send(exchange, routes.answer(exchange));
        } catch (RuntimeException error) {
            // Never without a response: the browser would wait.
            error.printStackTrace();
            send(exchange, Answer.error(500, "internal_error", "See the log of this server."));
        }
    }

    private void sendFile(HttpExchange exchange, String path) throws IOException {
        var name = path.equals("/") ? "index.html" : path.substring(1);
        try (var files = Files.list(PUBLIC)) {
            var file = files.filter(each -> each.getFileName().toString().equals(name)).findFirst();
            if (file.isEmpty()) {
                send(exchange, Routes.notFound());
                return;
            }
            var type = TYPES.getOrDefault(name.substring(name.lastIndexOf('.') + 1), "application/octet-stream");
            write(exchange, 200, type, Files.readAllBytes(file.get()));
        }
    }

    private static void send(HttpExchange exchange, Answer answer) throws IOException {
        var headers = exchange.getResponseHeaders();
        // In seconds, also where the service says a date: the JDK writes a Date of its own over the service's.
        if (answer.retryAfter() != null) headers.set("Retry-After", String.valueOf(answer.retryAfter().toSeconds()));
        if (answer.headers().containsKey("x-request-id")) headers.set("X-Request-Id", answer.headers().get("x-request-id"));
        write(exchange, answer.status(), "application/json", answer.text().getBytes(StandardCharsets.UTF_8));
    }

    private static void write(HttpExchange exchange, int status, String type, byte[] content) throws IOException {
        exchange.getResponseHeaders().set("Content-Type", type);
        exchange.sendResponseHeaders(status, content.length);
        exchange.getResponseBody().write(content);
    }
}
