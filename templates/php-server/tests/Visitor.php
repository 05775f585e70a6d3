<?php

declare(strict_types=1);

namespace Tests;

/** A browser with its own cookie. */
final class Visitor
{
    private string $cookie = '';

    public function __construct(private readonly Backend $backend)
    {
    }

    /** Returns a visitor who has allowed ads, for these purposes. */
    public static function consenting(Backend $backend, string ...$purposes): self
    {
        $visitor = new self($backend);
        $reply = $visitor->post('/api/consent', ['decision' => 'granted', ...array_fill_keys($purposes, true)]);
        same('granted', $reply->body['authoritative_consent']['lifecycle_state']);
        return $visitor;
    }

    public function get(string $path): Reply
    {
        return $this->send('GET', $path, null);
    }

    public function post(string $path, mixed $body): Reply
    {
        return $this->send('POST', $path, $body);
    }

    /** Sends a request as the page does: the frame of a fill is loaded. */
    private function send(string $method, string $path, mixed $body): Reply
    {
        $reply = Reply::to($method, $this->backend->url . $path, $body, $this->cookie);
        $this->cookie = explode(';', $reply->headers['set-cookie'] ?? $this->cookie)[0];
        $frameUrl = $reply->body['placement']['render']['frame_url'] ?? null;
        if ($frameUrl !== null) {
            file_get_contents($frameUrl);
        }
        return $reply;
    }
}
