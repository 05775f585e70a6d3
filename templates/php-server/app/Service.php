<?php
/** Calls the placement service: one request, one response, never an exception. */

declare(strict_types=1);

namespace App;

final readonly class Service
{
    /** Longer than the longest wait_ms, which is 5 s. */
    private const TIMEOUT_S = 8;

    public function __construct(private Settings $settings)
    {
    }

    public function get(string $path): Answer
    {
        return $this->call('GET', $path, null);
    }

    /** @param array<string, mixed> $body */
    public function post(string $path, array $body): Answer
    {
        return $this->call('POST', $path, json_encode($body, JSON_THROW_ON_ERROR));
    }

    private function call(string $method, string $path, ?string $content): Answer
    {
        $headers = ["Authorization: Bearer {$this->settings->secretKey}", 'Connection: close'];
        $http = [
            'method' => $method,
            'header' => $content === null ? $headers : [...$headers, 'Content-Type: application/json'],
            'content' => $content ?? '',
            'protocol_version' => '1.1',
            'timeout' => self::TIMEOUT_S,
            // An error status is a response too, and a redirect is not followed with the key.
            'ignore_errors' => true,
            'follow_location' => 0,
        ];
        try {
            error_clear_last();
            $text = @file_get_contents($this->settings->baseUrl . $path, false, stream_context_create(['http' => $http]));
            if ($text === false) {
                throw new \RuntimeException(error_get_last()['message'] ?? 'no response');
            }
            [$status, $received] = self::readHeaders($http_response_header ?? []);
            return Answer::parse($status, $text, $received);
        } catch (\RuntimeException | \JsonException $error) {
            error_log("$method $path: {$error->getMessage()}");
            return Answer::error(502, 'no_answer', 'The placement service sent no readable response.');
        }
    }

    /**
     * @param list<string> $lines the status line, and the headers
     * @return array{int, array<string, string>}
     */
    private static function readHeaders(array $lines): array
    {
        $headers = [];
        foreach (array_slice($lines, 1) as $line) {
            [$name, $value] = explode(':', $line, 2) + [1 => ''];
            $headers[$name] = trim($value);
        }
        return [(int) (explode(' ', $lines[0] ?? '')[1] ?? 0), $headers];
    }
}
