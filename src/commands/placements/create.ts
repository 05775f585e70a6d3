/** `svc placements create`: the hand-made face of POST /v1/placements. */
import { InvalidArgumentError, Option } from 'commander'
import { bodyOptions, buildBody } from '../../cli/endpoint/body.ts'
import { callEndpoint } from '../../cli/endpoint/endpoint-command.ts'
import { placementSummary } from '../../cli/output/placement-summary.ts'
import { curlCommand, secretKeyVariable, shellMediaType } from '../../cli/output/quoting.ts'
import { describeValue } from '../../cli/output/text.ts'
import { openPage } from '../../cli/process/open-url.ts'
import type { Command, CommandInput } from '../../cli/run/command.ts'
import { CliError } from '../../cli/run/errors.ts'
import type { Session } from '../../cli/run/session.ts'
import { buildRequest, type HttpRequest, isProductionKey } from '../../client/request.ts'
import { formats, jobTypes, nativeTemplates, positions } from '../../contract/fields.ts'
import { contract } from '../../contract/index.ts'
import { limits } from '../../contract/limits.ts'
import type { PlacementResponse } from '../../contract/v1/placements.ts'
import { checkExpectations, expectOption } from './expectations.ts'
import { rememberPlacement } from './last-placement.ts'

interface CreateOptions {
  format?: string[]
  fill: boolean
  topic?: string
  prompt?: string
  promptShared?: true
  jobType?: string
  wait?: number
  session?: string
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

export const createPlacementCommand: Command = {
  name: 'create',
  summary: contract['placements.create'].summary,
  details: [
    `${contract['placements.create'].description} (POST /v1/placements)`,
    '--topic takes part in matching only with consent, so it sends consent.semantic_targeting: true unless --consent says otherwise.',
    '--consent denied stores the denial with POST /v1/consent first, because the consent of a request can only grant.',
  ].join('\n\n'),
  options: [
    new Option('--format <format...>', 'formats that may fill').choices(formats),
    new Option('--no-fill', 'force a no-fill; needs a test key'),
    new Option('--topic <text>', 'topic of the prompt; implies semantic targeting consent'),
    new Option('--prompt <text>', 'prompt text; dropped at the door without --prompt-shared'),
    new Option('--prompt-shared', 'consent to the processing of prompt text'),
    new Option('--job-type <type>', 'workload category; default: chat').choices(jobTypes),
    new Option(
      '--wait <ms>',
      `long-poll wait; default: ${limits.wait_ms.placements_default}, at most ${limits.wait_ms.max}`,
    ).argParser(integer),
    new Option('--session <id>', 'session; default: a new one'),
    new Option('--consent <state>', 'granted, denied or none').choices(['granted', 'denied', 'none']),
    new Option('--position <position>', 'where the slot is').choices(positions),
    new Option('--max-width <px>', 'widest creative').argParser(integer),
    new Option('--max-height <px>', 'highest creative').argParser(integer),
    new Option('--native-template <id>', 'layout of native fills').choices(nativeTemplates),
    new Option('--live', "use the sandbox project's live key: the catalogue's own creatives, nothing billed"),
    new Option('--open', 'open the frame of a fill in the browser'),
    expectOption,
    new Option('--curl', 'print the equivalent curl command instead of sending'),
    ...bodyOptions(),
  ],
  examples: [
    'placements create --format banner --topic coffee',
    'placements create --format clip --expect fill --expect format=clip -o json',
    'placements create --no-fill --expect reason=test_forced',
  ],
  run: create,
}

async function create(session: Session, given: CommandInput): Promise<number> {
  const options = given.options as unknown as CreateOptions
  const body = await createBody(session, options)
  const query = options.wait === undefined ? {} : { wait_ms: options.wait }
  const credential = options.live ? liveKey(session) : undefined
  const denial = options.consent === 'denied' ? denialOf(body) : null

  if (options.curl) {
    const consent = denial === null ? [] : [requestOf(session, 'consent.set', { body: denial }, credential)]
    printCurl(session, [...consent, requestOf(session, 'placements.create', { query, body }, credential)])
    return 0
  }
  if (denial !== null) {
    await callEndpoint(session, 'consent.set', { body: denial }, credential)
    session.out.note(`Stored consent denied for session ${denial.session_id} with POST /v1/consent.`)
  }
  const { data, meta } = await callEndpoint(session, 'placements.create', { query, body }, credential)
  const answer = data as PlacementResponse
  await rememberPlacement(session, answer, meta)
  session.out.data(data, (style) =>
    meta.differences.length === 0
      ? placementSummary(answer, meta, style, { ...session, next_options: nextOptions(session, credential) })
      : describeValue(data, style),
  )
  if (options.open) await openFrame(session, answer)
  checkExpectations(answer, options.expect ?? [])
  return 0
}

async function openFrame(session: Session, { placement }: PlacementResponse): Promise<void> {
  if (placement === null) session.out.note('Not opened: there is no fill to show.')
  else await openPage(session, placement.render.frame_url)
}

/** The request's body. Flags are written by path, so that they go into what --data gives. */
async function createBody({ host, settings }: Session, options: CreateOptions): Promise<Record<string, unknown>> {
  const body = await buildBody(host, contract['placements.create'], {
    defaults: {
      ...(settings.client_id === null ? {} : { client_id: settings.client_id }),
      session_id: `sess_${host.randomText(12)}`,
      job_type: 'chat',
    },
    flags: Object.fromEntries(Object.entries(members(options)).filter(([, value]) => value !== undefined)),
    data: options.data,
    set: options.set ?? [],
  })
  return body as Record<string, unknown>
}

/** Where each flag goes in the body. */
function members(options: CreateOptions): Record<string, unknown> {
  const isTargeted = options.consent === 'granted' || (options.consent === undefined && options.topic !== undefined)
  const isSent = options.consent === undefined || options.consent === 'granted'
  return {
    test_outcome: options.fill ? undefined : 'no_fill',
    session_id: options.session,
    job_type: options.jobType,
    'prompt.topic': options.topic,
    'prompt.text': options.prompt,
    'slot_hint.position': options.position,
    'slot_hint.max_width': options.maxWidth,
    'slot_hint.max_height': options.maxHeight,
    'overrides.allowed_formats': options.format,
    'overrides.native_template_id': options.nativeTemplate,
    'consent.semantic_targeting': isTargeted ? true : undefined,
    'consent.prompt_shared': isSent ? options.promptShared : undefined,
  }
}

/** The options that the next command needs to mean the same service, project and key. */
function nextOptions({ settings }: Session, live_key: string | undefined): string {
  const { source } = settings
  return [
    source.base_url === 'flag' ? ` --base-url ${settings.base_url}` : '',
    source.client_id === 'flag' ? ` --client-id ${settings.client_id}` : '',
    live_key === undefined ? '' : ` --secret-key ${live_key}`,
  ].join('')
}

function denialOf(body: Record<string, unknown>) {
  const purposes = { semantic_targeting: false, prompt_shared: false }
  return { client_id: body.client_id, session_id: body.session_id, decision: 'denied', purposes }
}

/** The live key of the running sandbox, or the configured key where it is one. */
function liveKey({ settings }: Session): string {
  const { secret_key, sandbox, client_id } = settings
  if (secret_key !== null && isProductionKey(secret_key)) return secret_key
  const project = sandbox?.projects.find((project) => project.client_id === client_id)
  if (project !== undefined) return project.live_secret_key
  throw new CliError(
    'credentials',
    'live_key_missing',
    '--live: no live key is known.',
    'Start a sandbox with svc start, or give --secret-key sk_live_...',
  )
}

/** A key that is not the sandbox's own may be a real one: it is named, not printed. */
function requestOf(
  { settings }: Session,
  id: 'placements.create' | 'consent.set',
  input: Parameters<typeof buildRequest>[1],
  credential: string | undefined,
): HttpRequest {
  const isOfSandbox = credential !== undefined || settings.source.secret_key === 'sandbox'
  const shown = isOfSandbox ? (credential ?? settings.secret_key) : null
  return buildRequest(contract[id], input, { base_url: settings.base_url, credential: shown ?? secretKeyVariable })
}

function printCurl({ out }: Session, requests: readonly HttpRequest[]): void {
  out.document(`${requests.map((request) => curlCommand(request)).join('\n')}\n`, shellMediaType)
}

function integer(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}
