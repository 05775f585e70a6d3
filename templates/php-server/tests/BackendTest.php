<?php
/** The backend against a sandbox. */

declare(strict_types=1);

use App\PlacementRequest;
use Tests\Backend;
use Tests\Visitor;

use function Tests\same;

/** Returns the prompt as the sandbox received it: of a text, it stores only that there was one. */
$sentPrompt = static function (Visitor $visitor): mixed {
    $prompt = ['topic' => 'coffee', 'text' => 'Which grinder?'];
    $reply = $visitor->post('/api/placement', ['job_type' => 'chat', 'prompt' => $prompt]);
    $exchange = Backend::control('GET', "requests/{$reply->headers['x-request-id']}");
    return json_decode($exchange['request_body'], true)['prompt'] ?? null;
};

return [
    'every job type gets a labelled placement' => function (Backend $backend): void {
        foreach (PlacementRequest::JOB_TYPES as $jobType) {
            $reply = Visitor::consenting($backend)->post('/api/placement', ['job_type' => $jobType]);
            same([200, true], [$reply->status, $reply->body['decision']['fill']]);
            same(true, $reply->body['placement']['ad_label_text'] !== '');
        }
    },

    'without consent nothing is requested' => function (Backend $backend): void {
        $filter = ['method' => 'POST', 'path' => '/v1/placements'];
        $before = Backend::control('POST', 'requests/count', $filter);
        $reply = (new Visitor($backend))->post('/api/placement', ['job_type' => 'chat']);
        same([200, 'consent_not_granted'], [$reply->status, $reply->body['decision']['no_fill_reason']]);
        same($before, Backend::control('POST', 'requests/count', $filter));
    },

    'a withdrawal holds also when the service cannot be reached' => function (Backend $backend): void {
        $visitor = Visitor::consenting($backend);
        Backend::control('POST', 'faults', ['path' => '/v1/consent', 'status' => 503]);
        same(503, $visitor->post('/api/consent', ['decision' => 'withdrawn'])->status);
        $reply = $visitor->post('/api/placement', ['job_type' => 'chat']);
        same('consent_not_granted', $reply->body['decision']['no_fill_reason']);
    },

    'topic and text leave the server as far as was consented to' => function (Backend $backend) use ($sentPrompt): void {
        same(null, $sentPrompt(Visitor::consenting($backend)));
        same(['topic' => 'coffee'], $sentPrompt(Visitor::consenting($backend, 'semantic_targeting')));
        same(['text'], array_keys($sentPrompt(Visitor::consenting($backend, 'prompt_shared'))));
    },

    'a no-fill is an answer like any other' => function (Backend $backend): void {
        Backend::control('POST', 'scenarios/no_fill');
        $reply = Visitor::consenting($backend)->post('/api/placement', ['job_type' => 'chat']);
        same([200, null, false], [$reply->status, $reply->body['placement'], $reply->body['decision']['fill']]);
    },

    'a pending decision is polled by its own session only' => function (Backend $backend): void {
        Backend::control('POST', 'scenarios/pending_then_ready');
        $visitor = Visitor::consenting($backend);
        $first = $visitor->post('/api/placement', ['job_type' => 'chat'])->body;
        same('pending', $first['status']);
        $path = "/api/placement?slot_id={$first['slot_id']}&wait_ms=3000";
        same(404, Visitor::consenting($backend)->get($path)->status);
        $second = $visitor->get($path)->body;
        same(['ready', true], [$second['status'], $second['decision']['fill']]);
    },

    'an error goes to the page with its Retry-After, and is not retried here' => function (Backend $backend): void {
        $visitor = Visitor::consenting($backend);
        $fault = ['path' => '/v1/placements', 'status' => 429, 'retry_after_s' => 7, 'times' => 1];
        Backend::control('POST', 'faults', $fault);
        $reply = $visitor->post('/api/placement', ['job_type' => 'chat']);
        same([429, '7'], [$reply->status, $reply->headers['retry-after']]);
        // Of another user: this one waits.
        same(200, Visitor::consenting($backend)->post('/api/placement', ['job_type' => 'chat'])->status);
    },

    'a service that is away or talks nonsense is a 502, not a crash' => function (Backend $backend): void {
        foreach (['reset', 'truncate', 'garble'] as $effect) {
            $visitor = Visitor::consenting($backend);
            Backend::control('POST', 'faults', ['path' => '/v1/placements', 'effect' => $effect, 'times' => 1]);
            same(502, $visitor->post('/api/placement', ['job_type' => 'chat'])->status);
        }
    },

    'beacons are forwarded once each, and again after a 429 with Retry-After' => function (Backend $backend): void {
        $visitor = Visitor::consenting($backend);
        $placed = $visitor->post('/api/placement', ['job_type' => 'agent'])->body;
        $fault = ['path' => '/v1/beacons', 'status' => 429, 'retry_after_s' => 1, 'times' => 1];
        Backend::control('POST', 'faults', $fault);
        foreach (['render', 'visible'] as $event) {
            $reply = $visitor->post('/api/beacons', [
                'beacon_id' => "{$placed['slot_id']}:$event",
                'slot_id' => $placed['slot_id'],
                'asset_token' => $placed['placement']['asset_token'],
                'event' => $event,
                'occurred_at_ms' => (int) (microtime(true) * 1_000),
                'measurements' => ['visible_ratio' => 1, 'visible_ms' => 1_000, 'page_visible' => true],
                'metadata' => new stdClass(),
                'not_a_field' => 1,
            ]);
            same(true, $reply->body['accepted']);
        }
        $events = array_column(Backend::control('GET', "beacons?slot_id={$placed['slot_id']}")['items'], 'event');
        sort($events);
        same(['render', 'visible'], $events);
    },

    'bad requests are the caller\'s mistakes' => function (Backend $backend): void {
        $visitor = Visitor::consenting($backend);
        same(400, $visitor->post('/api/placement', ['job_type' => 'song'])->status);
        same(400, $visitor->post('/api/consent', ['decision' => 'perhaps'])->status);
        same(400, $visitor->post('/api/consent', ['granted'])->status);
        same(413, $visitor->post('/api/consent', ['decision' => str_repeat('a', 70_000)])->status);
        same(404, $visitor->get('/api/placement?slot_id=slot_unknown')->status);
        same(404, $visitor->get('/../app/Settings.php')->status);
    },

    'the page and its script are served, the source of the backend is not' => function (Backend $backend): void {
        $visitor = new Visitor($backend);
        same('text/html; charset=UTF-8', $visitor->get('/')->headers['content-type']);
        same(200, $visitor->get('/page.js')->status);
        same(404, $visitor->get('/index.php')->status);
    },
];
