<?php
/** The routes. The service's responses go to the page unchanged, as render.js expects of its endpoint. */

declare(strict_types=1);

namespace App;

final readonly class Routes
{
    private const WAIT_MS = 1_500;
    private const MAX_WAIT_MS = 5_000;
    private const MAX_BODY_BYTES = 64 * 1024;
    private const DECISIONS = ['granted', 'denied', 'withdrawn'];
    /** The service's response headers that the page needs: when to retry, and the service's time. */
    private const PASSED_HEADERS = ['Retry-After', 'Date', 'X-Request-Id'];

    public function __construct(private Settings $settings, private Service $service)
    {
    }

    /** Writes the response to this request. */
    public function respond(string $method, string $path): void
    {
        try {
            $answer = match ("$method $path") {
                'GET /api/config' => $this->config(),
                'POST /api/placement' => $this->place(),
                'GET /api/placement' => $this->poll(),
                'POST /api/consent' => $this->setConsent(),
                'POST /api/beacons' => Beacons::forward($this->service, Beacons::read($this->body())),
                default => throw new RequestError(404, 'There is no such route.'),
            };
        } catch (RequestError $error) {
            $answer = Answer::error($error->getCode(), 'validation_error', $error->getMessage());
        }
        http_response_code($answer->status);
        header('Content-Type: application/json');
        foreach (self::PASSED_HEADERS as $name) {
            $value = $answer->headers[strtolower($name)] ?? null;
            if ($value !== null) {
                header("$name: $value");
            }
        }
        echo $answer->text;
    }

    private function config(): Answer
    {
        $scriptUrl = "{$this->settings->baseUrl}/v1/render.js";
        return Answer::json(200, ['script_url' => $scriptUrl, 'job_types' => PlacementRequest::JOB_TYPES]);
    }

    private function place(): Answer
    {
        [$body, $session] = [$this->body(), new Session()];
        $consent = $session->grantedConsent(time() * 1_000);
        if ($consent === null) {
            return self::noFill('consent_not_granted');
        }
        $request = PlacementRequest::build($body, $this->settings->clientId, $session->id, $consent['purposes']);
        if ($request === null) {
            throw new RequestError(400, 'job_type is one of ' . implode(', ', PlacementRequest::JOB_TYPES) . '.');
        }
        $answer = $this->service->post('/v1/placements?wait_ms=' . self::WAIT_MS, $request);
        if (isset($answer->body['slot_id'])) {
            $session->addSlot($answer->body['slot_id']);
        }
        return $answer;
    }

    /** Pending is not no-fill: render.js polls here until it is decided. */
    private function poll(): Answer
    {
        $slotId = self::query('slot_id');
        if (!(new Session())->hasSlot($slotId)) {
            throw new RequestError(404, 'No slot of this session.');
        }
        $waitMs = ctype_digit(self::query('wait_ms')) ? min((int) self::query('wait_ms'), self::MAX_WAIT_MS) : 0;
        return $this->service->get("/v1/decisions/$slotId?wait_ms=$waitMs");
    }

    private function setConsent(): Answer
    {
        [$body, $session] = [$this->body(), new Session()];
        $decision = $body['decision'] ?? null;
        if (!in_array($decision, self::DECISIONS, true)) {
            throw new RequestError(400, 'decision is one of ' . implode(', ', self::DECISIONS) . '.');
        }
        // Denied until the service has stored it: if the call fails, nothing is permitted, whatever the earlier answer.
        $session->setConsent(null);
        $purposes = [];
        foreach (['semantic_targeting', 'prompt_shared'] as $name) {
            $purposes[$name] = $decision === 'granted' && ($body[$name] ?? null) === true;
        }
        $ids = ['client_id' => $this->settings->clientId, 'session_id' => $session->id];
        $answer = $this->service->post('/v1/consent', [...$ids, 'decision' => $decision, 'purposes' => $purposes]);
        if ($answer->status === 200) {
            $session->setConsent($answer->body['authoritative_consent']);
        }
        return $answer;
    }

    /**
     * Returns the JSON object of this request; objects in it stay objects, so that an empty one is sent on as one.
     *
     * @return array<string, mixed>
     */
    private function body(): array
    {
        $content = (string) file_get_contents('php://input', length: self::MAX_BODY_BYTES + 1);
        if (strlen($content) > self::MAX_BODY_BYTES) {
            throw new RequestError(413, 'A body has at most ' . self::MAX_BODY_BYTES . ' bytes.');
        }
        $type = strtolower(trim(explode(';', $_SERVER['CONTENT_TYPE'] ?? '')[0]));
        if ($type !== 'application/json') {
            throw new RequestError(415, 'Send JSON, with Content-Type: application/json.');
        }
        $body = json_decode($content);
        if (!is_object($body)) {
            throw new RequestError(400, 'The body is not a JSON object.');
        }
        return get_object_vars($body);
    }

    /** Returns a parameter of the query, or '' when it is missing or a list. */
    private static function query(string $name): string
    {
        $value = $_GET[$name] ?? '';
        return is_string($value) ? $value : '';
    }

    /** Returns this server's own decision, in the shape of the service's. */
    private static function noFill(string $reason): Answer
    {
        $decision = ['fill' => false, 'no_fill_reason' => $reason];
        return Answer::json(200, ['slot_id' => null, 'status' => 'ready', 'placement' => null, 'decision' => $decision]);
    }
}
