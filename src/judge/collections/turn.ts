/**
 * The requests of a collection, in the order of a turn: what each one calls, with which example of the OpenAPI document,
 * what is taken from its response, and what must be in it. Everything else about a request comes from the contract.
 *
 * `{{name}}` is a variable: a setting, something a request before took from its response, or `new_id`, `now` or `a_second_later`,
 * which are new in each request.
 */
import type { EndpointId } from '#contract/index.ts'
import type { Json } from '#foundation/json.ts'

export interface Step {
  /** Unique. The name of the request where requests refer to each other. */
  readonly id: string
  readonly name: string
  readonly endpoint: EndpointId
  readonly bearer?: 'secret_key' | 'activation_token'
  /** The example of the body in the OpenAPI document. */
  readonly example?: string
  /** Fields of the example that have another value here; undefined removes one. */
  readonly changed?: Readonly<Record<string, Json | undefined>>
  /** The variables of parameters and fields that are not called like their variable. */
  readonly variables?: Readonly<Record<string, string>>
  /** Parameters of the query that are sent. The others are there, switched off. */
  readonly query?: Readonly<Record<string, string>>
  /** Optional request headers that are sent, beside required ones. */
  readonly headers?: readonly string[]
  /** Variables that later requests use, with their paths in the response. */
  readonly captured?: Readonly<Record<string, string>>
  /** Values in the response, by their paths. */
  readonly expected?: Readonly<Record<string, Json>>
  /** Whether it is sent again while the status in the response is pending. */
  readonly is_poll?: true
}

interface TurnFolder {
  readonly name: string
  readonly about: string
  readonly steps: readonly Step[]
}

const isGranted = { 'authoritative_consent.lifecycle_state': 'granted' }
const isAccepted = { accepted: true, reason_code: 'OK' }

export const turn: readonly TurnFolder[] = [
  {
    name: 'Project and consent',
    about: 'The settings of the project, and the consent of the session, which everything after it needs.',
    steps: [
      {
        id: 'config',
        name: 'Read the configuration',
        endpoint: 'projects.config',
        bearer: 'secret_key',
        expected: { enabled: true },
      },
      {
        id: 'consent',
        name: 'Store the consent of the session',
        endpoint: 'consent.set',
        bearer: 'secret_key',
        example: 'granted',
        expected: isGranted,
      },
    ],
  },
  {
    name: 'Placement',
    about: 'A placement for a turn, its decision, and its frame. A decision that is pending is polled.',
    steps: [
      {
        id: 'placement',
        name: 'Request a placement',
        endpoint: 'placements.create',
        bearer: 'secret_key',
        example: 'with_topic_and_consent',
        query: { wait_ms: '1500' },
        captured: { slot_id: 'slot_id' },
      },
      {
        id: 'decision',
        name: 'Wait for the decision',
        endpoint: 'decisions.get',
        bearer: 'secret_key',
        query: { wait_ms: '5000' },
        is_poll: true,
        expected: { status: 'ready', 'decision.fill': true },
        captured: { asset_token: 'decision.asset_token' },
      },
      { id: 'script', name: 'Get the renderer', endpoint: 'render.script' },
      { id: 'frame', name: 'Get the frame of the ad', endpoint: 'render.frame' },
    ],
  },
  {
    name: 'Beacons',
    about: 'What a page reports of an ad. Each sending has an id of its own: the same id again is a duplicate.',
    steps: [
      {
        id: 'rendered',
        name: 'Report the render',
        endpoint: 'beacons.send',
        bearer: 'secret_key',
        example: 'render',
        expected: isAccepted,
      },
      {
        id: 'visible',
        name: 'Report the view',
        endpoint: 'beacons.send',
        bearer: 'secret_key',
        example: 'visible',
        changed: { occurred_at_ms: undefined, occurred_at: '{{a_second_later}}' },
        expected: isAccepted,
      },
      {
        id: 'clicked',
        name: 'Report the click',
        endpoint: 'beacons.send',
        bearer: 'secret_key',
        example: 'render',
        changed: { event: 'click', occurred_at: '{{a_second_later}}' },
        expected: isAccepted,
      },
    ],
  },
  {
    name: 'Job',
    about: 'The same in the steps of a backend that streams: a job with its slots, the generation, and the poll.',
    steps: [
      {
        id: 'job',
        name: 'Create a job',
        endpoint: 'jobs.create',
        bearer: 'secret_key',
        example: 'canonical',
        captured: { job_id: 'job_id', job_slot_id: 'slot_ids.0' },
        expected: { status: 'accepted' },
      },
      {
        id: 'started',
        name: 'Report the start of the generation',
        endpoint: 'generation.report',
        bearer: 'secret_key',
        example: 'generation',
        variables: { event: 'started' },
      },
      {
        id: 'job_decision',
        name: 'Wait for the decision of the job',
        endpoint: 'decisions.get',
        bearer: 'secret_key',
        variables: { slot_id: '{{job_slot_id}}' },
        query: { wait_ms: '5000' },
        is_poll: true,
        expected: { status: 'ready' },
      },
      {
        id: 'finished',
        name: 'Report the end of the generation',
        endpoint: 'generation.report',
        bearer: 'secret_key',
        example: 'generation',
        variables: { event: 'finished' },
      },
    ],
  },
  {
    name: 'Browser without a backend',
    about: 'The same as a page without a server: the publishable key becomes a token, which is bound to the Origin.',
    steps: [
      {
        id: 'activation',
        name: 'Get an activation token',
        endpoint: 'browser.activate',
        example: 'page',
        captured: { activation_token: 'activation_token' },
        expected: { ok: true },
      },
      {
        id: 'browser_consent',
        name: 'Store consent, as a page',
        endpoint: 'consent.set',
        bearer: 'activation_token',
        example: 'granted',
        expected: isGranted,
      },
      {
        id: 'browser_job',
        name: 'Create a job, as a page',
        endpoint: 'jobs.create',
        bearer: 'activation_token',
        example: 'browser',
        captured: { browser_slot_id: 'slot_ids.0' },
        expected: { status: 'accepted' },
      },
      {
        id: 'browser_decision',
        name: 'Wait for the decision, as a page',
        endpoint: 'decisions.get',
        bearer: 'activation_token',
        variables: { slot_id: '{{browser_slot_id}}' },
        query: { wait_ms: '5000' },
        is_poll: true,
        expected: { status: 'ready', 'decision.fill': true },
        captured: { browser_asset_token: 'decision.asset_token' },
      },
      {
        id: 'browser_rendered',
        name: 'Report the render, as a page',
        endpoint: 'beacons.send',
        bearer: 'activation_token',
        example: 'render',
        variables: { asset_token: '{{browser_asset_token}}' },
        expected: isAccepted,
      },
    ],
  },
  {
    name: 'No ad',
    about: 'A no-fill is normal: it is a 200 with a reason, and the turn goes on without an ad.',
    steps: [
      {
        id: 'no_fill',
        name: 'Request a no-fill',
        endpoint: 'placements.create',
        bearer: 'secret_key',
        example: 'forced_no_fill',
        query: { wait_ms: '5000' },
        expected: { 'decision.fill': false, 'decision.no_fill_reason': 'test_forced' },
      },
      {
        id: 'withdrawal',
        name: 'Withdraw the consent',
        endpoint: 'consent.set',
        bearer: 'secret_key',
        example: 'withdrawn',
        expected: { 'authoritative_consent.lifecycle_state': 'withdrawn' },
      },
      {
        id: 'refused',
        name: 'Request a placement without consent',
        endpoint: 'placements.create',
        bearer: 'secret_key',
        example: 'smallest',
        query: { wait_ms: '5000' },
        expected: { 'decision.fill': false, 'decision.no_fill_reason': 'consent_not_granted' },
      },
    ],
  },
  {
    name: 'What the sandbox recorded',
    about:
      'Only in the sandbox: the decision with its trace, the beacons with their verdicts, what would be billed, and the evidence.',
    steps: [
      { id: 'explained', name: 'Explain the placement', endpoint: 'placements.explain' },
      { id: 'beacons', name: 'List the beacons', endpoint: 'beacons.list', query: { slot_id: '{{slot_id}}' } },
      {
        id: 'billing',
        name: 'Read the billing report',
        endpoint: 'billing.report',
        query: { session_id: '{{session_id}}' },
      },
      { id: 'requests', name: 'List the requests', endpoint: 'requests.list', query: { session_id: '{{session_id}}' } },
      { id: 'evidence', name: 'Verify the evidence', endpoint: 'evidence.verify' },
    ],
  },
]
