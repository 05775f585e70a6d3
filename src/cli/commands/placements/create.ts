/** `svc placements create`: POST /v1/placements, with short flags for the fields that are set most often. */

import { InvalidArgumentError, Option } from 'commander'
import { callEndpoint, endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import { endpoints } from '#cli/endpoint/facts.ts'
import { choicesAt } from '#cli/endpoint/flags.ts'
import { bodyOptions, buildBody, checkRequired } from '#cli/endpoint/input.ts'
import { savePlacement } from '#cli/endpoint/last-placement.ts'
import { append, spanMs, wholeNumber } from '#cli/endpoint/option-values.ts'
import { nextOptions, placementSummary } from '#cli/output/placement-summary.ts'
import { openPage } from '#cli/process/open-url.ts'
import { type CommandContext, type CommandInput, suggestValues } from '#cli/run/command.ts'
import { permittedKey } from '#cli/settings/settings.ts'
import { buildRequest, isProductionKey } from '#client/exchange.ts'
import { limits } from '#contract/limits.ts'
import { noFillReasons } from '#contract/no-fill.ts'
import type { PlacementResponse } from '#contract/resources/placements.ts'
import { curlCommand, secretKeyVariable, shellMediaType } from '#foundation/http.ts'
import { CliError, didYouMean } from '#text/cli-error.ts'
import { describeValue } from '#text/text.ts'

type CreateOptions = {
  format?: string[]
  fill: boolean
  topic?: string
  campaign?: string
  prompt?: string
  promptShared?: true
  jobType?: string
  waitMs?: number
  slotsRequested?: number
  testOutcome?: string
  sessionId?: string
  consent?: 'granted' | 'denied' | 'none'
  position?: string
  maxWidth?: number
  maxHeight?: number
  nativeTemplate?: string
  live?: true
  open?: true
  curl?: true
  expect?: string[]
  set?: string[]
  data?: string
}

const choices = (...path: string[]) => choicesAt('placements.create', path)
const formats = choices('overrides', 'allowed_formats')
const expectations = [
  'fill',
  'no_fill',
  'pending',
  ...formats.map((format) => `format=${format}`),
  ...Object.keys(noFillReasons).map((reason) => `reason=${reason}`),
]

const expectOption = new Option(
  '--expect <what>',
  'fill, no_fill, pending, format=<format> or reason=<code>; unmet: exit 5, no fill instead of a fill: exit 6 (repeatable)',
).argParser((text, before: string[] | undefined) => {
  if (expectations.includes(text)) return append(text, before)
  const expected = 'fill, no_fill, pending, format=<format> or reason=<no-fill reason>'
  throw new InvalidArgumentError(`It must be ${expected}. ${didYouMean(text, expectations) ?? ''}`.trimEnd())
})

export const create = endpointCommand('placements.create', {
  details: [
    '--topic is used for matching only with consent, so it sends consent.semantic_targeting: true unless --consent says otherwise.',
    '--consent denied first stores the denial with POST /v1/consent, because consent in a request can only grant.',
  ].join('\n\n'),
  usualFlags:
    '--format --no-fill --topic --session-id --consent --job-type --wait-ms --live --open --expect --curl --set',
  options: [
    new Option('--format <format...>', 'formats that may fill').choices(formats),
    new Option('--no-fill', 'force a no-fill; needs a test key'),
    new Option('--topic <text>', 'topic of the prompt; implies semantic targeting consent'),
    new Option('--campaign <id>', 'this campaign fills, or the rule that forbids it is the reason; sandbox, test key'),
    new Option('--prompt <text>', 'prompt text; discarded unless --prompt-shared is given'),
    new Option('--prompt-shared', 'consent to the processing of prompt text'),
    new Option('--job-type <type>', 'workload category; default: chat').choices(choices('job_type')),
    new Option(
      '--wait, --wait-ms <ms>',
      `long-poll wait; default: ${limits.wait_ms.placements_default}, at most ${limits.wait_ms.max}`,
    ).argParser(spanMs),
    new Option('--slots-requested <n>', 'number of slots; the response is of the first').argParser(wholeNumber),
    new Option('--test-outcome <outcome>', 'the same as --no-fill').choices(['no_fill']),
    new Option('--session-id <id>', 'session; default: a new one'),
    new Option('--consent <state>', 'consent of the session').choices(['granted', 'denied', 'none']),
    new Option('--position <position>', 'position of the slot').choices(choices('slot_hint', 'position')),
    new Option('--max-width <px>', 'maximum width of the creative').argParser(wholeNumber),
    new Option('--max-height <px>', 'maximum height of the creative').argParser(wholeNumber),
    new Option('--native-template <id>', 'layout of native fills').choices(choices('overrides', 'native_template_id')),
    new Option('--live', "use the sandbox project's live key: the catalogue's own creatives, nothing billed"),
    new Option('--open', 'open the frame of a fill in the browser'),
    suggestValues(expectOption, ['fill', 'no_fill', 'pending']),
    new Option('--curl', 'print the equivalent curl command instead of sending'),
    ...bodyOptions(),
  ],
  examples: [
    'placements create --format banner --topic coffee',
    'placements create --format clip --expect fill --expect format=clip -o json',
    'placements create --no-fill --expect reason=test_forced',
  ],
  run,
})

async function run(context: CommandContext, { options }: CommandInput<CreateOptions>): Promise<number> {
  const body = await createBody(context, options)
  const query = options.waitMs === undefined ? {} : { wait_ms: options.waitMs }
  const live_key = options.live ? liveKey(context) : undefined
  const denial = options.consent === 'denied' ? explainDenial(body) : null

  if (options.curl) {
    const lines = [
      ...(denial === null ? [] : [curlLine(context, 'consent.set', { body: denial }, live_key)]),
      curlLine(context, 'placements.create', { query, body }, live_key),
    ]
    context.out.document(lines.join(''), shellMediaType)
    return 0
  }
  const credential = live_key === undefined ? undefined : permittedKey(context.settings, live_key)
  if (options.data === undefined && context.settings.secret_key !== null) checkRequired('placements.create', body, [])
  if (denial !== null) {
    await callEndpoint(context, 'consent.set', { body: denial }, credential)
    context.out.note(`Stored consent denied for session ${denial.session_id} with POST /v1/consent.`)
  }
  const { data, meta } = await callEndpoint(context, 'placements.create', { query, body }, credential)
  await savePlacement(context, data, meta)
  context.out.data(data, (style) =>
    meta.differences.length === 0
      ? // A live key of your own is not printed: the next command finds it where this one did.
        placementSummary(data, style, {
          meta,
          context,
          live_key: live_key === context.settings.secret_key ? undefined : live_key,
        })
      : describeValue(data, style),
  )
  if (options.open) {
    if (data.placement === null) context.out.note('Not opened: there is no fill to show.')
    else await openPage(context, data.placement.render.frame_url)
  }
  checkExpectations(context, data, options.expect ?? [])
  return 0
}

/** Returns the body of the request. Flags are written by path, so that they are merged into --data. */
async function createBody(
  { system, settings }: CommandContext,
  options: CreateOptions,
): Promise<Record<string, unknown>> {
  const body = await buildBody(system, 'placements.create', {
    defaults: {
      ...(settings.client_id === null ? {} : { client_id: settings.client_id }),
      session_id: `sess_${system.randomText(12)}`,
      job_type: 'chat',
    },
    flags: Object.fromEntries(Object.entries(bodyFields(options)).filter(([, value]) => value !== undefined)),
    data: options.data,
    set: options.set ?? [],
  })
  return body as Record<string, unknown>
}

/** Returns the value of each flag by its path in the body. */
function bodyFields(options: CreateOptions): Record<string, unknown> {
  const isTargeted = options.consent === 'granted' || (options.consent === undefined && options.topic !== undefined)
  const isSent = options.consent === undefined || options.consent === 'granted'
  return {
    test_outcome: options.fill ? options.testOutcome : 'no_fill',
    slots_requested: options.slotsRequested,
    session_id: options.sessionId,
    job_type: options.jobType,
    'prompt.topic': options.topic,
    'prompt.text': options.prompt,
    'slot_hint.position': options.position,
    'slot_hint.max_width': options.maxWidth,
    'slot_hint.max_height': options.maxHeight,
    'overrides.allowed_formats': options.format,
    'overrides.native_template_id': options.nativeTemplate,
    'overrides.force_campaign_id':
      options.campaign === undefined || options.campaign.startsWith('cmp_')
        ? options.campaign
        : `cmp_${options.campaign}`,
    'consent.semantic_targeting': isTargeted ? true : undefined,
    'consent.prompt_shared': isSent ? options.promptShared : undefined,
  }
}

function explainDenial(body: Record<string, unknown>) {
  const purposes = { semantic_targeting: false, prompt_shared: false }
  return { client_id: body.client_id, session_id: body.session_id, decision: 'denied', purposes }
}

/** Returns the configured key if it is a live one, else the live key of the running sandbox. */
function liveKey({ settings }: CommandContext): string {
  const { secret_key, sandbox, client_id } = settings
  if (secret_key !== null && isProductionKey(secret_key)) return secret_key
  const project = sandbox?.projects.find((project) => project.client_id === client_id)
  if (project !== undefined) return project.live_secret_key
  throw new CliError(
    'credentials',
    'live_key_missing',
    '--live needs a live key, and none is known.',
    'Start a sandbox with svc start, or give --secret-key sk_live_...',
  )
}

/** A key that is not the sandbox's may be a real one: a shell variable is printed instead. */
function curlLine(
  { settings }: CommandContext,
  id: 'placements.create' | 'consent.set',
  input: Parameters<typeof buildRequest>[1],
  credential: string | undefined,
): string {
  const { base_url, secret_key, source } = settings
  const shown = credential ?? (source.secret_key === 'sandbox' ? secret_key : null) ?? secretKeyVariable
  return `${curlCommand(buildRequest(endpoints[id], input, { base_url, credential: shown }))}\n`
}

/** Throws CliError for the first expectation that the response does not meet. */
function checkExpectations(
  { settings }: CommandContext,
  response: PlacementResponse,
  expected: readonly string[],
): void {
  const facts = outcomeFacts(response)
  for (const expectation of expected) {
    if (facts.includes(expectation)) continue
    const isNoFill = expectation === 'fill' && facts.includes('no_fill')
    throw new CliError(
      isNoFill ? 'no_fill' : 'expectation',
      isNoFill ? 'no_fill' : 'expectation_unmet',
      `Expected ${expectation}, got ${facts.join(', ')}.`,
      `See why: svc explain ${response.slot_id}${nextOptions(settings)}`,
    )
  }
}

/** Returns every expectation that the response meets. */
function outcomeFacts({ decision }: PlacementResponse): string[] {
  if (decision === null) return ['pending']
  return decision.fill ? ['fill', `format=${decision.format}`] : ['no_fill', `reason=${decision.no_fill_reason}`]
}
