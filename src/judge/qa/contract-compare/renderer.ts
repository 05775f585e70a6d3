/**
 * Runs the render.js and the frames of a recording against a sandbox, in a page of a real browser, and ours beside them:
 * what the page is notified of, and which beacons arrive, should be the same.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, Route } from 'playwright-core'
import type { Client } from '#client/client.ts'
import { isFormat } from '#contract/facts/formats.ts'
import type { Format } from '#contract/fields.ts'
import { findRole } from '#contract/recordings/field-roles.ts'
import type { RecordedExchange } from '#contract/recordings/recording.ts'
import { isObject, type Json, valueAt } from '#foundation/json.ts'
import { redactSecrets } from '#foundation/redaction.ts'
import { openHostPage, type PageEvent } from '../browser/host-page.ts'
import { readRecordedJson } from './sendable.ts'

/** The parts of a renderer that a recording has. */
interface RecordedRenderer {
  /** Scripts by path: `/v1/render.js` and those that it loads. */
  files: ReadonlyMap<string, RecordedFile>
  /** A frame for each format, with the response that gave out its token. */
  frames: readonly { format: Format; file: RecordedFile; response: Json }[]
}

interface RecordedFile {
  /** Where the service was. */
  base_url: string
  headers: Readonly<Record<string, string>>
  text: string
}

/** Returns the renderer of a recording; null without a script and a frame. */
export function readRenderer(exchanges: readonly RecordedExchange[]): RecordedRenderer | null {
  const files = new Map<string, RecordedFile>()
  const frames = new Map<Format, RecordedRenderer['frames'][number]>()
  const responses = exchanges.map(readRecordedJson)
  for (const {
    endpoint,
    status,
    path,
    params,
    base_url,
    response_headers: headers,
    response_body: body,
  } of exchanges) {
    if (status !== 200 || body === null || !('text' in body)) continue
    const file = { base_url, headers, text: body.text }
    if (endpoint === null || endpoint === 'render.script') files.set(path.split('?')[0] ?? path, file)
    if (endpoint !== 'render.frame') continue
    const response = responses.find((json) => valueAt(json, 'placement.asset_token') === params.asset_token)
    const format = valueAt(response, 'decision.format')
    if (response !== undefined && isFormat(format) && !frames.has(format))
      frames.set(format, { format, file, response })
  }
  return files.has('/v1/render.js') || frames.size > 0 ? { files, frames: [...frames.values()] } : null
}

/** What a page and the sandbox saw of one placement. */
interface RendererRun {
  /** Events of the page, in their order, without those of beacons. Empty where the script has no such list. */
  events: string[]
  /** Beacons at the sandbox, in their order: `render OK`. */
  beacons: string[]
  /** Errors on the console of the page. */
  errors: string[]
}

/** A format with the renderer of the recording and with ours. */
export interface RendererComparison {
  format: Format
  /** Which parts are those of the recording. */
  recorded: ('script' | 'frame')[]
  service: RendererRun
  sandbox: RendererRun
  /** The parts of both runs that differ. */
  differs: (keyof RendererRun)[]
}

interface RendererOptions {
  browser: Browser
  client: Client
  /** Of the sandbox, without a trailing slash. */
  base_url: string
  client_id: string
  /** Of the page: one that the project allows. */
  origin: string
  /** Begins the sessions. */
  prefix: string
  signal: AbortSignal
}

/** Runs each recorded format in both ways; a banner where no frame was recorded. */
export async function compareRenderers(
  recorded: RecordedRenderer,
  options: RendererOptions,
): Promise<RendererComparison[]> {
  const compared: RendererComparison[] = []
  const formats = recorded.frames.length === 0 ? (['banner'] as const) : recorded.frames.map(({ format }) => format)
  for (const format of formats) {
    const started = performance.now()
    const sandbox = await runPlacement(format, { recorded: null, max_ms: maxView_ms }, options)
    // A view that takes several times as long as ours does not come.
    const max_ms = Math.max(minWait_ms, 4 * (performance.now() - started))
    const service = await runPlacement(format, { recorded, max_ms }, options)
    const parts = ['events', 'beacons', 'errors'] as const
    compared.push({
      format,
      recorded: [
        ...(recorded.files.has('/v1/render.js') ? (['script'] as const) : []),
        ...(recorded.frames.length > 0 ? (['frame'] as const) : []),
      ],
      service,
      sandbox,
      differs: parts.filter((part) => service[part].join() !== sandbox[part].join()),
    })
  }
  return compared
}

/** The longest that our view may take, milliseconds: two seconds of a clip, and a slow computer. */
const maxView_ms = 20_000
/** How long a recorded renderer has at least for a view, milliseconds. */
const minWait_ms = 4_000
const interval_ms = 150

/** Shows one placement of the sandbox until its view is reported, or an error. */
async function runPlacement(
  format: Format,
  { recorded, max_ms }: { recorded: RecordedRenderer | null; max_ms: number },
  { browser, client, base_url, client_id, origin, prefix, signal }: RendererOptions,
): Promise<RendererRun> {
  const session_id = `${prefix}${format}_${recorded === null ? 'sandbox' : 'recorded'}`
  const body = { client_id, session_id, job_type: 'chat' as const, overrides: { allowed_formats: [format] } }
  const response = await client.placements.create({ body, query: { wait_ms: 1_500 } }, { signal })
  const { slot_id } = response
  const substitute = recorded === null ? {} : { substitute: createSubstitute(recorded, format, response, base_url) }
  const host = await openHostPage(browser, { origin, base_url, ...substitute })
  try {
    await host.page.evaluate(mount, { response: response as object, session_id })
    const ends_at = performance.now() + max_ms
    let events: PageEvent[] = []
    let beacons: string[] = []
    while (performance.now() < ends_at && !signal.aborted) {
      events = await host.page.evaluate(readEvents)
      const seen = (await client.placements.explain({ params: { slot_id } }, { signal })).beacons
      beacons = seen
        .filter(({ event }) => event !== 'heartbeat')
        .map(({ event, reason_code }) => `${event} ${reason_code}`)
      if (seen.some(({ event }) => event === 'visible') || events.some(({ type }) => /^error$|^blocked$/.test(type)))
        break
      await sleep(interval_ms, undefined, { signal })
    }
    const types = events.map(({ type }) => type).filter((type) => type !== 'beacon')
    return { events: types, beacons, errors: [...new Set(host.console_errors.map(redactSecrets))] }
  } finally {
    await host.close()
  }
}

/** Runs in the page. */
function mount({ response, session_id }: { response: object; session_id: string }): void {
  interface Renderer {
    renderPlacement(options: object): unknown
  }
  const { SponsoredPlacement: renderer } = window as { SponsoredPlacement?: Renderer }
  renderer?.renderPlacement({ target: '#slot', response, session_id })
}

/** Runs in the page. */
function readEvents(): PageEvent[] {
  interface Renderer {
    getEvents?(): PageEvent[]
  }
  const { SponsoredPlacement: renderer } = window as { SponsoredPlacement?: Renderer }
  return renderer?.getEvents?.() ?? [...(renderer === undefined ? [{ type: 'error' }] : [])]
}

/** Serves the files of the recording at the addresses of the sandbox. */
function createSubstitute(recorded: RecordedRenderer, format: Format, response: object, base_url: string) {
  const frame = recorded.frames.find((each) => each.format === format)
  const isFrame = ({ pathname }: URL) => frame !== undefined && /^\/v1\/render\/[^/]+$/.test(pathname)
  return {
    isMeant: (url: URL) =>
      url.origin === new URL(base_url).origin && (recorded.files.has(url.pathname) || isFrame(url)),
    async respond(route: Route): Promise<void> {
      const url = new URL(route.request().url())
      const file = recorded.files.get(url.pathname)
      if (file !== undefined) {
        const pairs: TextPair[] = [[file.base_url, base_url]]
        return route.fulfill({ headers: servedHeaders(file, pairs), body: replaceTexts(file.text, pairs) })
      }
      if (frame === undefined) return route.continue()
      // The sandbox notes that its frame was loaded, and gives out the token for its beacons.
      const own = await (await route.fetch()).text()
      const texts: TextPair[] = [
        [frame.file.base_url, base_url],
        ...pairAll('', frame.response, response as Json),
        ...pairPattern(frame.file.text, own, /\bbt_[\w-]+/),
      ]
      const present = new Map([...own.matchAll(times)].map(([whole, name]) => [name, whole]))
      const moved = replaceTexts(frame.file.text, texts).replace(times, (whole, name) => present.get(name) ?? whole)
      return route.fulfill({ headers: servedHeaders(frame.file, texts), body: moved })
    },
  }
}

/** Times that a frame compares with the present. */
const times = /"([a-z_]*(?:time|_at)_ms)":\d{13}/g

/** Headers of the recording that decide about a page. A policy of which the recording has no text is left out. */
function servedHeaders({ headers }: RecordedFile, texts: readonly TextPair[]): Record<string, string> {
  const policy = headers['content-security-policy']
  return {
    'content-type': headers['content-type'] ?? 'text/html; charset=utf-8',
    'access-control-allow-origin': '*',
    'cross-origin-resource-policy': 'cross-origin',
    ...(headers['cross-origin-embedder-policy'] !== undefined && {
      'cross-origin-embedder-policy': headers['cross-origin-embedder-policy'],
    }),
    ...(policy !== undefined &&
      !policy.startsWith('[removed') && {
        'content-security-policy': replaceTexts(policy, texts),
      }),
  }
}

type TextPair = readonly [recorded: string, own: string]

/** Yields the identifiers, tokens and addresses of the recorded placement with those of the one that is shown. */
function* pairAll(name: string, recorded: Json, own: Json | undefined): Generator<TextPair> {
  if (typeof recorded === 'string') {
    const isMeant = ['identifier', 'token', 'address'].includes(findRole(name))
    if (isMeant && typeof own === 'string' && recorded.length > 3) yield [recorded, own]
  } else if (isObject(recorded)) {
    for (const [key, field] of Object.entries(recorded))
      yield* pairAll(key, field, isObject(own) ? own[key] : undefined)
  }
}

function pairPattern(recorded: string, own: string, pattern: RegExp): TextPair[] {
  const [one, two] = [pattern.exec(recorded)?.[0], pattern.exec(own)?.[0]]
  return one === undefined || two === undefined ? [] : [[one, two]]
}

/** Longer texts first: an address contains a token. */
function replaceTexts(text: string, pairs: readonly TextPair[]): string {
  return pairs
    .toSorted(([a], [b]) => b.length - a.length)
    .reduce((all, [from, to]) => all.replaceAll(from, () => to), text)
}
