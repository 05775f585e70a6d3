/**
 * What the `error` events of render.js mean, in words: the same in the console on the page, `svc observe` and `svc qa hosts`.
 * What the service or the page's own backend responded is passed on whole: fields, kinds of values, address, fix.
 */

import { formatDuration } from '#foundation/duration.ts'
import { isObject } from '#foundation/json.ts'
import { nearestName } from '#foundation/nearest-name.ts'
import { findEntry } from '#foundation/table-entry.ts'
import { reasonCodes } from '../error-codes.ts'
import type { ErrorBody } from '../errors.ts'
import { describeChangedFrame, describeOtherRenderer } from './addresses.ts'
import { describeField } from './error-lines.ts'

/** The fields of an `error` event that say what happened. */
export interface ReportedError {
  code: string
  status?: number
  reason_code?: string
  /** What was found or passed instead: fields of a response, a target, options, the APIs that the browser does not have. */
  got?: readonly string[]
  /** The names of the options that there are. */
  known?: readonly string[]
  /** The directive of the page's Content-Security-Policy. */
  directive?: string
  message?: string
  /** Method and address of the request that failed, without its query: `POST /api/placement`; then ` > ` and where it was redirected. */
  request?: string
  /** The content type of the response; empty for a response without one. */
  content_type?: string
  /** What the Retry-After of an error response asked for, milliseconds; null for one without. */
  retry_after_ms?: number | null
  /** The error body of the service (A10), where the response had one. */
  response?: unknown
  /** The field of the response that has the placement response. */
  wrapped_in?: string | undefined
  slot_id?: string | undefined
  /** Of an ad whose frame has not the address of the service that render.js came from: both. */
  elsewhere?: { frame_url: string; base_url: string }
}

export interface ErrorWords {
  /** What happened: one sentence or two. */
  message: string
  /** Each invalid field on a line. */
  causes: readonly string[]
  /** What to do; null where that depends on what only the reader knows. */
  fix: string | null
  /** The page of the documentation: `errors/schema_invalid`, `render-js/target_not_found`. */
  topic: string
  /** The request that the service refused; null where it named none. */
  request_id: string | null
}

/** Returns an error of render.js in words. */
export function describeRendererError(error: ReportedError): ErrorWords {
  const body = readErrorBody(error.response)
  if (body !== null) return describeErrorBody(error, body)
  const { code, reason_code } = error
  const topic = reason_code !== undefined && isReasonCode(reason_code) ? `errors/${reason_code}` : `render-js/${code}`
  const describe = findEntry(describers, code) ?? describeByTable
  return { causes: [], topic, request_id: null, ...describe(error) }
}

/** The fields of a `blocked` event. */
export interface ReportedBlock {
  reason: string
  /** Of a snapshot from the future: how far, by the service's time, it and the clock of the device are ahead, milliseconds. */
  consent_ahead_ms?: number | undefined
  device_ahead_ms?: number | undefined
}

/** Returns in words why consent permits no ad. */
export function describeBlock({ reason, consent_ahead_ms, device_ahead_ms = 0 }: ReportedBlock): string {
  const text = findEntry(blocks, reason) ?? 'Consent does not permit the ad.'
  if (consent_ahead_ms === undefined) return text
  const ahead = formatDuration(consent_ahead_ms, 2)
  const device = `${formatDuration(device_ahead_ms, 2)} ${device_ahead_ms < 0 ? 'slow' : 'fast'}`
  return `${text} By the time of the service, the clock that stamped it is ${ahead} fast; the clock of this device is ${device}.`
}

/** Returns what to do about a block that only the page's own code can cause; null for any other. */
export function findBlockFix({ reason }: ReportedBlock): string | null {
  return reason === 'consent_missing'
    ? 'Let your endpoint return authoritative_consent with the placement, and pass it on unchanged.'
    : null
}

const blocks: Readonly<Record<string, string>> = {
  consent_missing: 'The response has no consent snapshot.',
  consent_unreadable: 'Fields of the consent snapshot are missing, or have the wrong type.',
  consent_not_granted: 'Consent is denied, withdrawn or pending.',
  consent_from_future: 'The consent snapshot is from the future.',
  consent_expired: 'The consent has expired.',
  consent_superseded: 'A later revision of the consent has been seen.',
}

/** Whether the service has a page about a reason. */
export function isReasonCode(reason_code: string): boolean {
  return findEntry(reasonCodes, reason_code) !== undefined
}

type Words = Pick<ErrorWords, 'message' | 'fix'>

/** An error body as a page may have it: of the fields only the first two are sure. */
type ReadErrorBody = Pick<ErrorBody, 'message'> & { reason_code: string } & Partial<
    Pick<ErrorBody, 'hint' | 'request_id' | 'fields'>
  >

function readErrorBody(response: unknown): ReadErrorBody | null {
  if (!isObject(response)) return null
  const { reason_code, hint, request_id, fields } = response
  if (typeof reason_code !== 'string') return null
  const message = typeof response.message === 'string' ? response.message : findEntry(reasonCodes, reason_code)?.message
  if (message === undefined) return null
  const isField = (field: unknown): boolean =>
    isObject(field) && [field.path, field.message, field.expected].every((text) => typeof text === 'string')
  return {
    message,
    reason_code,
    ...(typeof hint === 'string' && { hint }),
    ...(typeof request_id === 'string' && { request_id }),
    ...(Array.isArray(fields) && { fields: fields.filter(isField) }),
  }
}

function describeErrorBody(error: ReportedError, body: ReadErrorBody): ErrorWords {
  const { message, reason_code, hint, fields = [], request_id = null } = body
  const isPassedOn = error.code === 'response_unreadable'
  const passedOn = 'That is an error of the service, passed on as a placement: respond with its status, or show no ad.'
  return {
    message: `${error.request === undefined ? 'The response is an error of the service' : describeSource(error)}: ${message} (${reason_code})`,
    causes: fields.map(describeField),
    fix: [isPassedOn ? passedOn : null, explainNoRetry(error) ?? hint].filter(Boolean).join(' ') || null,
    topic: isReasonCode(reason_code) ? `errors/${reason_code}` : `render-js/${error.code}`,
    request_id,
  }
}

/** Returns why a 429 or 503 was not sent again; null for one that was, and for what is never retried. */
function explainNoRetry({ request = '', status, retry_after_ms }: ReportedError): string | null {
  if (retry_after_ms === undefined || (status !== 429 && status !== 503)) return null
  if (retry_after_ms !== null) {
    const isLong = retry_after_ms > 10_000
    return isLong ? `It was not retried: its Retry-After of ${formatDuration(retry_after_ms, 2)} is over 10s.` : null
  }
  const plain = 'It was not retried: it came without Retry-After.'
  if (request.includes('/v1/')) return plain
  const exposed = /^\S+ \w+:\/\//.test(request) ? ', and list it in Access-Control-Expose-Headers' : ''
  return `${plain} If the service sent one, your backend has to pass it on${exposed}.`
}

/** `POST /api/placement responded with 404`. */
function describeSource({ request = 'The request', status }: ReportedError): string {
  const [sent, ended] = request.split(' > ')
  const source = ended === undefined ? sent : `${sent} was redirected to ${ended}, which`
  return `${source} responded${status === undefined ? '' : ` with ${status}`}`
}

/** Of a redirect that no service sends. */
function fixOfRedirect({ request = '' }: ReportedError): string | null {
  return request.includes(' > ')
    ? 'Your server redirects the route: to a login where the session is missing, or to another spelling of the address, where a POST becomes a GET. Let the route itself respond.'
    : null
}

const describers: Readonly<Record<string, (error: ReportedError) => Words>> = {
  request_failed: describeRequest,
  activation_failed: describeRequest,
  response_unreadable: describeUnreadable,
  target_not_found: ({ got: [passed = ''] = [] }) => ({
    message: passed === '' ? 'There is no element for the target.' : `There is no element for the target ${passed}.`,
    fix: fixOfTarget(passed),
  }),
  option_unknown: describeOptions,
  late_decision: ({ message }) => ({
    message: 'The decision came after the turn had ended, and was dropped.',
    fix:
      message === 'cleared'
        ? 'With keepMounted: true it is still shown after finish().'
        : `Nothing: the turn was ${message ?? 'over'}. If it happens often, request earlier.`,
  }),
  render_timeout: (error) => {
    const { slot_id, elsewhere } = error
    if (elsewhere === undefined) return describeByTable(error)
    return describeChangedFrame(slot_id, elsewhere.frame_url, elsewhere.base_url)
  },
  renderer_elsewhere: (error) => {
    const { elsewhere } = error
    return elsewhere ? describeOtherRenderer(elsewhere.base_url, elsewhere.frame_url) : describeByTable(error)
  },
  engine_unsupported: ({ got = [] }) => ({
    message: `The browser does not have what an ad needs${got.length === 0 ? '' : `: ${got.join(', ')}`}.`,
    fix: 'Nothing: your turn continues without an ad.',
  }),
  csp_blocked: ({ directive }) => ({
    message: `The page's Content-Security-Policy does not allow it${directive === undefined ? '' : `: ${directive}`}.`,
    fix: 'Add the origin of what was blocked to that directive of the Content-Security-Policy of the page.',
  }),
}

function describeRequest(error: ReportedError): Words {
  const { code, request, status, reason_code, content_type, got, message } = error
  if (status === undefined) {
    const isScript = code === 'activation_failed' && message?.includes('script element') === true
    const what = request === undefined ? 'The request failed' : `${request} had no response`
    return {
      message: `${what}${message === undefined ? '' : `: ${message}`}.`,
      fix: isScript ? fixOfScript : 'Is the server running, and does it allow this page to read its responses?',
    }
  }
  // A backend with errors of its own.
  const said = message?.replace(/^Error: /, '')
  const fields = got === undefined || got.length === 0 ? '' : ` with the fields ${got.join(', ')}`
  const isOwn = said === undefined || said === reason_code
  const what = isOwn ? 'not an error of the service.' : said
  return {
    message: `${describeSource(error)} and ${describeType(content_type)}${fields}: ${what}`,
    fix:
      code === 'activation_failed'
        ? fixOfScript
        : (explainNoRetry(error) ??
          fixOfRedirect(error) ??
          (isOwn ? fixOfOwnStatus(status) : findEntry(fixesOfStatus, String(status))) ??
          null),
  }
}

const fixOfScript =
  'Load render.js from the service, by a script element without type="module": it activates with the server it was loaded from.'

const fixesOfStatus: Readonly<Record<string, string>> = {
  404: 'Your server has no such route: correct the endpoint of the turn, or add the route.',
  405: 'Your server has the route for other methods: let it accept POST.',
}

/** Returns what to do about a status that a backend responds with by itself. */
function fixOfOwnStatus(status: number): string | undefined {
  if (status < 500) return findEntry(fixesOfStatus, String(status))
  return 'Your server failed before it had a response to pass on: its log says why. Is the service running at the base URL that it uses (svc sandbox ps)?'
}

function describeUnreadable(error: ReportedError): Words {
  const { content_type, got = [], wrapped_in } = error
  const fix = 'Let your endpoint return the response of POST /v1/placements unchanged, with its names and levels.'
  if (content_type !== undefined && !/\bjson\b/.test(content_type)) {
    const message = `${describeSource(error)} and ${describeType(content_type)}, not with JSON.`
    return { message, fix: fixOfRedirect(error) ?? fix }
  }
  // A response that the page itself has passed has no address.
  const isPassed = error.request === undefined
  const text = readText(got)
  if (text !== null) {
    const is = text === '' ? 'empty.' : `no JSON object. It begins with: ${text}`
    return { message: isPassed ? `The response is ${is}` : `${describeSource(error)}: its body is ${is}`, fix }
  }
  const from = isPassed ? 'The response has' : `${describeSource(error)}: its body has`
  const fields = got.length === 0 ? 'no fields' : `the fields ${got.join(', ')}`
  if (wrapped_in === undefined) return { message: `${from} ${fields}, not those of a placement response.`, fix }
  return {
    message: `${from} the placement response in its field ${wrapped_in}.`,
    fix: `Return what is in ${wrapped_in}, and nothing around it.`,
  }
}

/** Returns the beginning of a response that is no JSON object, which render.js reports as `string: <!doctype html>`; else null. */
function readText(got: readonly string[]): string | null {
  const text = /^(?:string|number|boolean|object|undefined):(.*)/s.exec(got.length === 1 ? got[0]! : '')?.[1]
  return text === undefined ? null : text.replaceAll(/\s+/g, ' ').trim()
}

function describeType(content_type: string | undefined): string {
  return content_type || 'no content type'
}

function describeOptions({ got = [], known = [] }: ReportedError): Words {
  if (got.every((name) => /^\d+$/.test(name)))
    return {
      message: 'A text or a list was passed where the options belong.',
      fix: `Pass one object: { ${known[0]}, ... }.`,
    }
  const meant = got.flatMap((name) => nearestName(name.replaceAll(/[_-]/g, ''), known) ?? [])
  return {
    message:
      got.length === 1
        ? `There is no option ${got[0]}: it is ignored.`
        : `There are no options ${got.join(', ')}: they are ignored.`,
    fix: meant.length > 0 ? `Did you mean ${meant.join(', ')}?` : `The options are ${known.join(', ')}.`,
  }
}

/** `passed` is what render.js got: `"#slot"`, `Object {current}`, `NodeList {0,1}`, `5`. */
function fixOfTarget(passed: string): string {
  if (/\bcurrent\b/.test(passed)) return 'Pass the element of the ref: ref.current.'
  if (/\{0\b/.test(passed) || /^(jQuery|NodeList|HTMLCollection|Array)/.test(passed)) {
    return 'Pass one element of the list: list[0].'
  }
  if (/^"[a-z][\w-]*"$/i.test(passed)) return 'Write an id as a selector, with # before it, or pass the element.'
  if (passed !== '' && !passed.startsWith('"')) return 'Pass an element, or a selector of one.'
  return 'Correct the selector, or pass the element itself as target: a selector does not find elements in a shadow root, or elements that do not exist yet.'
}

function describeByTable({ code, reason_code, message }: ReportedError): Words {
  const [text, fix = null] = findEntry(rendererErrors, code) ?? ['The ad could not be shown.']
  const known = reason_code === undefined ? undefined : findEntry(reasonCodes, reason_code)
  const cause = known?.message ?? (message === undefined ? (reason_code ?? null) : `(${message})`)
  return { message: cause === null ? text : `${text} ${cause}`, fix: known?.hint ?? fix }
}

/** What each code means, and what to do. Those with a describer of their own are not listed. */
const rendererErrors: Readonly<Record<string, readonly [message: string, fix?: string]>> = {
  asset_token_expired: ['The frame was loaded too late after the decision.', 'Mount each response as it arrives.'],
  asset_token_invalid: ['The service does not know the asset token.', 'Pass frame_url on unchanged.'],
  autoplay_blocked: ['The browser refused autoplay: the clip waits for its play button.'],
  creative_failed: ['Image or clip could not be loaded.'],
  decision_expired: ['The decision is too old.', 'Request a placement for each turn; do not store responses.'],
  decision_pending: [
    'There was no decision after 30 s, or a pending response was passed to renderPlacement.',
    'Poll the decision; add a GET to your route.',
  ],
  endpoint_missing: [
    'The turn names no endpoint, and no key was activated.',
    'Name your route as endpoint, or call activate first.',
  ],
  frame_reloaded: ['Something navigated the frame.'],
  internal: ['The renderer failed.'],
  label_removed: ['The ad label did not stay readable.'],
  media_type_mismatch: ['The frame has another format than the response.', 'Pass the response on unchanged.'],
  message_flood: ['The frame sent too many messages.'],
  origin_opaque: [
    'The page has no origin of its own.',
    'Serve the page from an origin that the project allows: a file, or a sandboxed frame without allow-same-origin, has none.',
  ],
  render_timeout: [
    'The frame did not show its creative in time.',
    'Allow the origin of the page in the project if the frame was refused; else the network or the device is slow.',
  ],
  script_incomplete: [
    'Another part of render.js did not load.',
    'Load render.js from the service, not a copy of it: it loads its other parts from where it came from.',
  ],
  target_removed: [
    'The element left the page before its ad was mounted.',
    'Keep it in the page, or start the turn again on the new element, with the same turnId.',
  ],
  unmeasurable: ['The browser cannot measure a view.'],
}

/** Returns in words what the reason of a `cleared` event means, and what keeps the ad; `finished_early`: nothing was mounted. */
export function describeEnding(reason: string): string {
  return findEntry(endings, reason) ?? 'The ad has left the page.'
}

const endings: Readonly<Record<string, string>> = {
  finished: 'The answer ended, and withTurn or finish() cleared its ad. To keep the ad, pass keepMounted: true.',
  finished_early: 'The answer ended before its ad had arrived. To show the ad all the same, pass keepMounted: true.',
  cancelled: 'cancel() ended the turn. To keep its ad, call finish() and pass keepMounted: true.',
  aborted: 'The signal of the turn was aborted. To keep its ad, abort only your own work.',
  replaced: 'Another turn on the same element took its place. To keep both ads, give each its own element.',
  moved: 'It was mounted elsewhere.',
  expired: 'The placement is no longer valid.',
  target_removed:
    'Its element has left the page. Start the turn again on the new element, with the same turnId, and its ad is back.',
  destroyed: 'The page called destroy().',
  pagehide: 'The page was left. Restored from the history, it needs a new turn.',
  cleared: 'The page called clearPlacement() or clear().',
  unknown: 'The turn has ended without an ad.',
}
