<?php

declare(strict_types=1);

namespace App;

/** A response of the service, or of this server itself. */
final readonly class Answer
{
    /**
     * @param string $text the JSON, as it was received
     * @param array<string, mixed> $body the same, decoded
     * @param array<string, string> $headers by their names in lower case
     */
    private function __construct(
        public int $status,
        public string $text,
        public array $body,
        public array $headers,
    ) {
    }

    /**
     * Returns a response with this JSON object.
     *
     * @param array<string, string> $headers
     * @throws \JsonException when it is none
     */
    public static function parse(int $status, string $text, array $headers = []): self
    {
        $body = json_decode($text, true, flags: JSON_THROW_ON_ERROR);
        if (!is_array($body) || !str_starts_with(ltrim($text), '{')) {
            throw new \JsonException('the response is not a JSON object');
        }
        return new self($status, $text, $body, array_change_key_case($headers));
    }

    /** @param array<string, mixed> $body */
    public static function json(int $status, array $body): self
    {
        return self::parse($status, json_encode($body, JSON_THROW_ON_ERROR));
    }

    public static function error(int $status, string $error, string $message): self
    {
        return self::json($status, ['error' => $error, 'message' => $message, 'retryable' => $status >= 500]);
    }
}
