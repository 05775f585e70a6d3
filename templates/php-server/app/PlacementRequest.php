<?php
/** Turns the page's request into the service's: the one place that decides which data leaves this server. */

declare(strict_types=1);

namespace App;

final class PlacementRequest
{
    /** The slot position of each kind of work, and the formats that suit it. */
    private const SURFACES = [
        'chat' => ['slot_hint' => ['position' => 'below'], 'overrides' => ['allowed_formats' => ['native', 'banner']]],
        'code' => [
            'slot_hint' => ['position' => 'sidebar', 'max_width' => 300, 'max_height' => 250],
            'overrides' => ['allowed_formats' => ['banner']],
        ],
        'image' => [
            'slot_hint' => ['position' => 'between', 'max_width' => 640],
            'overrides' => ['allowed_formats' => ['clip']],
        ],
        'voice' => ['slot_hint' => ['position' => 'above'], 'overrides' => ['allowed_formats' => ['banner', 'native']]],
        'agent' => [
            'slot_hint' => ['position' => 'inline'],
            'overrides' => ['allowed_formats' => ['native'], 'native_template_id' => 'list_item'],
        ],
    ];
    public const JOB_TYPES = ['chat', 'code', 'image', 'voice', 'agent'];

    /**
     * Returns the body of POST /v1/placements, or null when the page names no job type.
     *
     * The topic goes along only with consent to semantic targeting, the text of the prompt only with consent to share it.
     *
     * @param array<string, mixed> $body
     * @param array<string, bool> $purposes
     * @return array<string, mixed>|null
     */
    public static function build(array $body, string $clientId, string $sessionId, array $purposes): ?array
    {
        $jobType = $body['job_type'] ?? null;
        if (!in_array($jobType, self::JOB_TYPES, true)) {
            return null;
        }
        $given = is_object($body['prompt'] ?? null) ? get_object_vars($body['prompt']) : [];
        $shared = [];
        if (($purposes['semantic_targeting'] ?? null) === true && is_string($given['topic'] ?? null)) {
            $shared['topic'] = iconv_substr($given['topic'], 0, 200, 'UTF-8');
        }
        if (($purposes['prompt_shared'] ?? null) === true && is_string($given['text'] ?? null)) {
            $shared['text'] = iconv_substr($given['text'], 0, 8_000, 'UTF-8');
        }
        $ids = ['client_id' => $clientId, 'session_id' => $sessionId, 'job_type' => $jobType];
        $request = [...$ids, ...self::SURFACES[$jobType]];
        return $shared === [] ? $request : [...$request, 'prompt' => $shared];
    }
}
