/** Sessions and activation tokens: whose request it is. */

import { reasonsAbout } from '#contract/facts/reason-subjects.ts'
import {
  countPhrase,
  groupBy,
  isActivated,
  isAdRequest,
  isBeacon,
  isFrame,
  isFromBrowser,
  type JournaledExchange,
  joinFirst,
  takeLast,
} from '#diagnosis/exchange.ts'
import { findingFor, findingPerGroup, judgeMatching, judgeRefused, ruleSet } from '../rule.ts'

/** Activations of one page closer together than this, several in a row, are not page loads. */
const togetherMs = 10_000
const inARow = 3

export const sessionRules = ruleSet('journal', {
  'session-missing': {
    title: 'every job names its session',
    severity: 'warning',
    costs:
      'Stored consent and frequency caps cannot apply: the same ad comes again, and consent must be sent each time.',
    fix: 'Send a session_id with every request, stable for one user and one conversation.',
    needs: 'a request for a placement or a job',
    judge: judgeMatching(
      (exchange) => isAdRequest(exchange) && exchange.status >= 200 && exchange.status < 300,
      (asked) => {
        const without = asked.filter(({ session_id }) => session_id === null)
        return findingFor(without, `${without.length} of ${asked.length} requests named no session.`)
      },
    ),
  },
  'session-for-all': {
    title: 'each person has their own session',
    severity: 'error',
    costs: "One person's consent and frequency caps apply to all others.",
    fix: 'Create a random session_id when a conversation begins, and keep it for that user.',
    needs: 'a request of a browser with a session: whose a request of a server is cannot be seen',
    judge({ exchanges }) {
      const sessions = groupBy(exchanges.filter(isAdRequest), ({ session_id }) => session_id)
      const isSeen = (requests: readonly JournaledExchange[]) =>
        requests.some((request) => identifyBrowser(request) !== null)
      const findings = [...sessions].flatMap(([session_id, requests]) => {
        const browsers = groupBy(requests, identifyBrowser)
        if (placeholders.test(session_id)) {
          return findingFor(requests, `session_id was '${session_id}', ${countPhrase(requests.length)}: a placeholder.`)
        }
        if (browsers.size < 2) return []
        return findingFor(requests, `${browsers.size} different browsers used session_id ${session_id}.`)
      })
      const [first = []] = sessions.values()
      const isOnly = sessions.size === 1 && first.length >= 20
      return {
        sample_size: [...sessions.values()].filter(isSeen).length,
        findings,
        notes: isOnly ? [`All ${first.length} requests named the same session; was it one person?`] : [],
      }
    },
  },
  'activation-per-request': {
    title: 'an activation token is used until it expires',
    severity: 'warning',
    costs: 'Each ad needs one more round trip, and the activation limit of the key is soon reached.',
    fix: 'Keep the token in the page and activate again shortly before expires_at_ms; render.js does this.',
    needs: 'an activation',
    judge: judgeMatching(isActivated, (activations, { exchanges }) => {
      const pages = groupBy(activations, identifyBrowser)
      const wasteful = [...pages].filter(([page, group]) => {
        const asked = exchanges.filter(
          (exchange) => isAdRequest(exchange) && exchange.key === 'at' && identifyBrowser(exchange) === page,
        )
        const isOneSession = new Set(asked.map(({ session_id }) => session_id)).size === 1
        const isClose = takeLast(group).at_ms - group[0].at_ms < togetherMs * (group.length - 1)
        return group.length >= inARow && asked.length <= group.length && isOneSession && isClose
      })
      return findingPerGroup(
        wasteful.map(([, group]) => group),
        ({ length }) => `One page activated ${countPhrase(length)}, and used each token for one request at most.`,
      )
    }),
  },
  'token-shared': {
    title: 'an activation token belongs to one session',
    severity: 'warning',
    costs: 'A token that many share is refused for all of them at once, and hides whose request it was.',
    fix: 'Let each page activate itself; never hand out a token from a server or a cache.',
    needs: 'an activation, and all requests since the sandbox was started',
    judge({ exchanges, is_whole }) {
      const activations = exchanges.filter(isActivated)
      const asked = exchanges.filter((exchange) => exchange.key === 'at' && isAdRequest(exchange))
      const sessions = [...new Set(asked.flatMap(({ session_id }) => session_id ?? []))]
      const isShared = is_whole && activations.length > 0 && sessions.length > activations.length
      const tokens = activations.length === 1 ? 'one token' : `${activations.length} tokens`
      const message = `${sessions.length} sessions (${joinFirst(sessions)}) used ${tokens}.`
      const isOnePage = new Set([...activations, ...asked].map(identifyBrowser)).size === 1
      return {
        sample_size: is_whole ? activations.length : 0,
        findings: isShared ? findingFor([...activations, ...asked], message, isOnePage ? onePageFix : undefined) : [],
      }
    },
  },
  'token-mixed': {
    title: 'every token is used where it was issued',
    severity: 'error',
    costs: 'The request is refused: the event of this slot or page is lost.',
    fix: 'Keep each placement with its asset token, and let each origin activate separately.',
    needs: 'a beacon or a request of a page',
    judge: judgeRefused(
      reasonsAbout.token,
      (exchange) =>
        isBeacon(exchange) ||
        // A refused frame has its own rule.
        (isFromBrowser(exchange) && !isFrame(exchange)) ||
        exchange.reason_code === 'origin_mismatch',
    ),
  },
})

const onePageFix =
  'Keep one session_id for the whole conversation, instead of a new one for each request. If these are several users, let each page activate itself.'

/** Matches values that stand for a missing one, and values from examples. */
const placeholders =
  /^(undefined|null|nan|none|false|true|0|default|anonymous|anon|guest|unknown|user|session|session[-_.]?id|your[-_.].*)$/i

/** Returns the facts about the browser that sent a request; null for a program. */
function identifyBrowser({ request_headers: { origin, 'user-agent': agent } }: JournaledExchange): string | null {
  return origin === undefined || agent === undefined ? null : `${agent} ${origin}`
}
