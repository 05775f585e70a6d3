/** What the errors, blocks and lost ads that render.js reports in a page mean, and what to do about each. */
import {
  describeBlock,
  describeEnding,
  describeRendererError,
  findBlockFix,
  type ReportedError,
} from '#contract/words/renderer-errors.ts'
import type { RendererError } from '../facts/in-page.ts'
import type { PageSeen } from '../facts/page.ts'
import { isUseTooEarly } from '../facts/renderer-use.ts'
import type { RuleFinding } from '../rule.ts'

/** Stated by docs/guides/browser.md. */
const stub =
  'Put the stub before the code that uses it, as svc docs browser shows: then the turn runs without render.js too.'

/**
 * What only the page or its route can cause: where no ad came into the page, it is an error. Anything else may be a user who
 * refused, a decision that came late, or a network.
 */
const faults: ReadonlySet<string> = new Set([
  ...['target_not_found', 'endpoint_missing', 'activation_failed', 'origin_opaque', 'script_incomplete'],
  ...['request_failed', 'response_unreadable', 'asset_token_invalid', 'media_type_mismatch'],
  ...['consent_missing', 'consent_unreadable', 'consent_revision_mismatch', 'csp_blocked'],
])

/** Returns one finding for each different error or block of render.js. */
export function rendererErrors(page: PageSeen, command_name: string, isSeen = false): RuleFinding[] {
  const findings = page.renderer_errors
    .filter((error) => !isConsequence(error, page))
    .map((error) => ({ ...toFinding(error, page, command_name), ...weigh(error, page, isSeen) }))
  return [...new Map([...findings, ...waitingTurns(page)].map((finding) => [finding.message, finding])).values()]
}

/** Ways of a page to end its ad. The end of a page, of a consent or of an answer may be that of the user. */
const losses: ReadonlySet<string> = new Set(['target_removed', 'cleared', 'destroyed'])

/** Whether the page itself lost every ad: none was seen, and nobody used the page. */
export function isOwnLoss({ type, code }: RendererError, { is_driven, is_headed }: PageSeen, isSeen: boolean): boolean {
  return type === 'cleared' && losses.has(code) && !isSeen && !is_driven && !is_headed
}

function weigh(error: RendererError, page: PageSeen, isSeen: boolean): Pick<RuleFinding, 'severity'> {
  const { code } = error
  if (isOwnLoss(error, page, isSeen)) return { severity: 'error' }
  const { mounts } = page
  return mounts.length === 0 && faults.has(code) ? { severity: 'error' } : {}
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

function toFinding(error: RendererError, page: PageSeen, command_name: string): RuleFinding {
  const { type, code, detail, reported, block } = error
  if (type === 'beacon') return beaconFinding(code, detail)
  if (type === 'cleared') {
    return {
      message: `The page removed the ad of ${detail}, before it was seen: ${code}.`,
      fix: `${describeEnding(code)} ${keepUntilSeen}`,
    }
  }
  if (type === 'cancelled') {
    return {
      message: 'The page cancelled its turn before an ad was shown.',
      fix: 'Cancel a turn only when its answer is not shown; when it is complete, call finish().',
    }
  }
  if (type === 'blocked') {
    const blocked = block ?? { reason: code }
    const lookUp = `Look it up: ${command_name} docs ${code}`
    return {
      message: `render.js blocked the ad: ${code}. ${describeBlock(blocked)}`,
      fix: [findBlockFix(blocked), lookUp].filter(Boolean).join(' '),
    }
  }
  const policy = code === 'csp_blocked' ? policyFinding(page, reported?.directive) : null
  if (policy !== null) return policy
  const { message, causes, fix, topic } = describeRendererError(reported ?? { code })
  const advice = fixOfRefusal(reported, page) ?? fix
  return {
    message: `render.js reported the error ${code}: ${[message, ...causes].join(' ')}`,
    fix: `${advice === null ? '' : `${advice} `}Look it up: ${command_name} docs ${topic.replace(/^.*\//, '')}`,
  }
}

/** Returns what a policy blocked for render.js, whose error has no address; null unless the console has one alone. */
function policyFinding({ console_errors }: PageSeen, directive: string | undefined): RuleFinding | null {
  if (directive === undefined) return null
  const texts = console_errors.filter((text) => text.includes(directive))
  const [url, ...others] = new Set(texts.flatMap((text) => policyMessage.exec(text)?.[1] ?? []))
  if (url === undefined || others.length > 0) return null
  return { message: `${url} was blocked: ${directive} of the page.`, fix: fixOfPolicy(url, directive) }
}

/** How Chromium and WebKit print what a policy of the page blocked. */
const policyMessage =
  /'?(https?:\/\/[^\s']+)'? (?:because it )?violates the following Content Security Policy directive/

function fixOfPolicy(url: string, directive: string): string {
  return `Add ${new URL(url).origin} to ${directive} of the Content-Security-Policy of the page.`
}

const keepUntilSeen =
  'Keep it in the page until it has been seen: finish() waits for that; clear, cancel and removing the slot do not.'

function beaconFinding(event: string, detail: string | null): RuleFinding {
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

/** An endpoint of another origin gets no cookies unless the turn says so. */
function fixOfRefusal(error: ReportedError | undefined, page: PageSeen): string | null {
  if (error?.status !== 401 && error?.status !== 403) return null
  const call = page.refused_calls.find(({ status }) => status === error.status)
  if (call === undefined || call.has_cookies || URL.parse(call.url)?.origin === URL.parse(page.url)?.origin) return null
  return "The endpoint is on another origin, and the request had no cookies: give the turn credentials: 'include', and allow them in its CORS headers."
}

/** Turns that wait for a render.js that has not loaded. What was blocked has its own rule. */
function waitingTurns({ waiting_turns, blocked }: PageSeen): RuleFinding[] {
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
  const [, url] = policyMessage.exec(text) ?? []
  const [, directive] = /'([a-z]+-src)(?:-elem)?' was not/.exec(text) ?? /directive: "([a-z]+-src)/.exec(text) ?? []
  if (url !== undefined && directive !== undefined) return fixOfPolicy(url, directive)
  if (!isUseTooEarly(text)) return 'Read the message.'
  if (/is not a function/.test(text)) {
    return 'Before render.js has loaded only withTurn and queue are there: SponsoredPlacement.queue.push((api) => ...).'
  }
  return has_stub ? 'Move the stub before the code that uses it.' : stub
}
