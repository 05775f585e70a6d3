<?php

declare(strict_types=1);

namespace Tests;

/** What a request received. */
final readonly class Reply
{
    /** @param array<string, string> $headers by their names in lower case */
    public function __construct(public int $status, public mixed $body, public array $headers)
    {
    }

    /** Sends a request with a JSON body, or with none. */
    public static function to(string $method, string $url, mixed $body = null, string $cookie = ''): self
    {
        $headers = ["Cookie: $cookie", ...($body === null ? [] : ['Content-Type: application/json'])];
        $content = $body === null ? '' : json_encode($body, JSON_THROW_ON_ERROR);
        $http = ['method' => $method, 'header' => $headers, 'content' => $content, 'ignore_errors' => true, 'timeout' => 15];
        $text = file_get_contents($url, false, stream_context_create(['http' => $http]));
        $received = [];
        foreach (array_slice($http_response_header, 1) as $line) {
            [$name, $value] = explode(': ', $line, 2) + [1 => ''];
            $received[strtolower($name)] = $value;
        }
        return new self((int) explode(' ', $http_response_header[0])[1], json_decode((string) $text, true), $received);
    }
}
