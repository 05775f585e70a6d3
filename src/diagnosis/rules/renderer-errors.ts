/** What the errors, blocks and lost ads that render.js reports in a page mean, and what to do about each. */
import { findEntry } from '#foundation/table-entry.ts'
import type { RendererError } from '../facts/in-page.ts'
import type { PageSeen, RefusedCall } from '../facts/page.ts'
import { isUseTooEarly } from '../facts/renderer-use.ts'
import type { Finding } from '../rule.ts'

/** Stated by docs/guides/browser.md. */
const stub =
  'Put the stub before the code that uses it, as svc docs browser shows: then the turn runs without render.js too.'

/** Returns one finding for each different error or block of render.js; a request that failed names the route that refused it. */
export function rendererErrors(page: PageSeen, command_name: string): Finding[] {
  const findings = page.renderer_errors
    .filter((error) => !isConsequence(error, page))
    .map((error) => toFinding(error, page, command_name))
  return [...new Map([...findings, ...waitingTurns(page)].map((finding) => [finding.message, finding])).values()]
}

/** Whether another finding names the cause: without an activation a turn has no endpoint, and a blocked frame or beacon fails. */
function isConsequence({ type, code, detail }: RendererError, { renderer_errors, blocked }: PageSeen): boolean {
  const has = (cause: string) => renderer_errors.some((each) => each.code === cause)
  if (code === 'endpoint_missing') return has('activation_failed') || has('origin_opaque') || has('engine_unsupported')
  const isBlocked = blocked.some(({ is_enforced }) => is_enforced)
  const isLost = type === 'beacon' && (detail === 'network_error' || detail === 'csp_blocked')
  // The policy of the page has a rule of its own; one that blocks the endpoint is known to render.js alone.
  if (isBlocked) return code === 'csp_blocked' || code === 'render_timeout' || code === 'script_incomplete' || isLost
  return has('csp_blocked') && (code === 'render_timeout' || isLost)
}

function toFinding(error: RendererError, page: PageSeen, command_name: string): Finding {
  const { type, code, detail } = error
  if (type === 'beacon') return beaconFinding(code, detail)
  if (type === 'cleared') {
    return {
      message: `The page removed the ad of ${detail}, before it was seen: ${code}.`,
      fix: 'Keep it in the page until it has been seen: finish() waits for that; clear, cancel and removing the slot do not.',
    }
  }
  if (type === 'cancelled') {
    return {
      message: 'The page cancelled its turn before an ad was shown.',
      fix: 'Cancel a turn only when its answer is not shown; when it is complete, call finish().',
    }
  }
  const isCall = code === 'request_failed' || code === 'activation_failed'
  const call = isCall ? page.refused_calls.find(({ status }) => detail === `http_${status}`) : undefined
  const what = type === 'blocked' ? `blocked the ad: ${code}` : `reported the error ${code}`
  const from = call === undefined ? '' : `, from ${call.method} ${call.url}`
  return {
    message: `render.js ${what}${detail === null ? '' : ` (${detail}${from})`}.`,
    fix: fixOfCall(error, call, page) ?? `${fixOfCode(error)}Look it up: ${command_name} docs ${code}`,
  }
}

function beaconFinding(event: string, detail: string | null): Finding {
  if (detail === 'response_not_from_service') {
    return {
      message: `Something else than the service responded to the beacon ${event}: ${detail}.`,
      fix: 'Let a service worker of the page pass requests to the service through. A proxy that asks for a login, or a blocker, does the same.',
    }
  }
  return {
    message: `render.js could not send the beacon ${event}: ${detail}.`,
    fix: 'Find out what keeps it from reaching the service: a script that wraps fetch, a blocker, a policy of the page, no network.',
  }
}

/** Matches the names of the fields of an error body (A10), as render.js lists what it got. */
const isServiceError = /^it has error, message, request_id\b/

/** Returns what to do about a request that failed for a cause that the page shows, or null. */
function fixOfCall({ code, detail }: RendererError, call: RefusedCall | undefined, page: PageSeen): string | null {
  if (code === 'activation_failed' && (call !== undefined || detail?.includes('script element') === true)) {
    return 'Load render.js from the service, by a script element without type="module": it activates with the server it was loaded from.'
  }
  if (call?.status === 404) return 'Your server has no such route: correct the endpoint of the turn, or add the route.'
  if (call !== undefined && (call.status === 401 || call.status === 403)) return fixOfRefusal(call, page)
  if (detail !== null && isServiceError.test(detail)) {
    return 'That is an error of the service, passed on as a placement: respond with its status, or show no ad. Its message and hint name the cause.'
  }
  return null
}

/** Returns a sentence about a code and a space, or an empty text. */
function fixOfCode({ code, detail }: RendererError): string {
  const fix = code === 'target_not_found' ? fixOfTarget(detail ?? '') : findEntry(fixes, code)
  return fix === undefined ? '' : `${fix} `
}

const fixes: Readonly<Record<string, string>> = {
  response_unreadable:
    'Let your endpoint return the response of POST /v1/placements unchanged, with its names and levels.',
  consent_missing: 'Let your endpoint return authoritative_consent with the placement, and pass it on unchanged.',
  csp_blocked: 'Add the origin of what was blocked to that directive of the Content-Security-Policy of the page.',
  origin_opaque:
    'Serve the page from an origin that the project allows: a file, or a sandboxed frame without allow-same-origin, has none.',
  engine_unsupported: 'Nothing: this browser is older than render.js supports, and your turn continues without an ad.',
  script_incomplete:
    'Load render.js from the service, not a copy of it: it loads its second part from where it came from.',
}

/** An endpoint of another origin gets no cookies unless the turn says so. */
function fixOfRefusal({ url, has_cookies }: RefusedCall, page: PageSeen): string | null {
  if (has_cookies || URL.parse(url)?.origin === URL.parse(page.url)?.origin) return null
  return "The endpoint is on another origin, and the request had no cookies: give the turn credentials: 'include', and allow them in its CORS headers."
}

/** `passed` is what render.js got: `"#slot"`, `Object {current}`, `NodeList {0,1}`, `5`. */
function fixOfTarget(passed: string): string {
  if (/\bcurrent\b/.test(passed)) return 'Pass the element of the ref: ref.current.'
  if (/\{0\b/.test(passed) || /^passed (jQuery|NodeList|HTMLCollection|Array)/.test(passed)) {
    return 'Pass one element of the list: list[0].'
  }
  if (/^passed "[a-z][\w-]*"$/i.test(passed)) return 'Write an id as a selector, with # before it, or pass the element.'
  if (passed !== '' && !passed.startsWith('passed "')) return 'Pass an element, or a selector of one.'
  return 'Pass the element itself as target: a selector does not find elements in a shadow root, or elements that do not exist yet.'
}

/** Turns that wait for a render.js that has not loaded. What was blocked has its own rule. */
function waitingTurns({ waiting_turns, blocked }: PageSeen): Finding[] {
  if (waiting_turns === 0 || blocked.some(({ url }) => url.endsWith('/v1/render.js'))) return []
  return [
    {
      message: `render.js has not loaded: ${waiting_turns === 1 ? 'a turn waits' : `${waiting_turns} turns wait`} for it in the stub of the page.`,
      fix: 'Load it from the base URL of the service, by the script element after the stub.',
    },
  ]
}

/** Returns what to do about a message on the console. */
export function consoleFix(text: string, { has_stub }: PageSeen): string {
  const [, header] = /Request header field (\S+) is not allowed/.exec(text) ?? []
  if (header !== undefined) {
    return `A script of the page adds ${header} to every fetch, as monitoring tools do: exclude the base URL of the service.`
  }
  if (!isUseTooEarly(text)) return 'Read the message.'
  if (/is not a function/.test(text)) {
    return 'Before render.js has loaded only withTurn and queue are there: SponsoredPlacement.queue.push((api) => ...).'
  }
  return has_stub ? 'Move the stub before the code that uses it.' : stub
}
