/** Sessions and activations: whose request it is. */
import { type Exchange, groupBy, pathOf, some, times } from '../exchange.ts'
import type { Rule } from '../rule.ts'

const asksForAds = (exchange: Exchange) =>
  exchange.method === 'POST' && /^\/v1\/(placements|jobs)$/.test(pathOf(exchange))

export const sessionMissing: Rule = {
  title: 'every job names its session',
  severity: 'warning',
  costs: 'Stored consent and frequency caps cannot apply: the same ad comes again, and consent must be sent each time.',
  fix: 'Send session_id, stable for one person and one conversation, with every request.',
  needs: 'a request for a placement or a job',
  judge({ exchanges }) {
    const asked = exchanges.filter(
      (exchange) => asksForAds(exchange) && exchange.status >= 200 && exchange.status < 300,
    )
    const without = asked.filter(({ session_id }) => session_id === null)
    return {
      looked_at: asked.length,
      findings:
        without.length === 0
          ? []
          : [{ seen: `${without.length} of ${asked.length} requests named no session.`, requests: without }],
    }
  },
}

/** What a missing value turns into, and what stands in examples. */
const placeholders =
  /^(undefined|null|nan|none|false|true|0|default|anonymous|anon|guest|unknown|user|session|session[-_.]?id|your[-_.].*)$/i

export const sessionForAll: Rule = {
  title: 'each person has a session of their own',
  severity: 'error',
  costs: "One person's consent and frequency caps apply to all others.",
  fix: 'Make the session_id when a conversation begins, at random, and keep it with the person it belongs to.',
  needs: 'a request with a session',
  judge({ exchanges }) {
    const sessions = groupBy(exchanges.filter(asksForAds), ({ session_id }) => session_id)
    const findings = [...sessions].flatMap(([session_id, requests]) => {
      const agents = new Set(requests.flatMap(browserOf))
      if (placeholders.test(session_id)) {
        return [{ seen: `session_id was '${session_id}', ${times(requests.length)}: a placeholder.`, requests }]
      }
      return agents.size < 2
        ? []
        : [{ seen: `${agents.size} different browsers used session_id ${session_id}.`, requests }]
    })
    const [first] = sessions.values()
    const isLone = sessions.size === 1 && first!.length >= 20
    return {
      looked_at: sessions.size,
      findings,
      notes: isLone ? [`All ${first!.length} requests named one session; was it one person?`] : [],
    }
  },
}

/** The browser of a request, as far as it tells. */
function browserOf({ detail }: Exchange): string[] {
  const { origin, 'user-agent': agent } = detail?.request_headers ?? {}
  return origin === undefined || agent === undefined ? [] : [`${agent} ${origin}`]
}

const isActivation = (exchange: Exchange) => pathOf(exchange) === '/v1/browser/activate' && exchange.status === 200

/** Activations of one page closer together than this, so many in a row, are no page loads. */
const together_ms = 10_000
const inARow = 3

export const activationPerRequest: Rule = {
  title: 'an activation token is used until it expires',
  severity: 'warning',
  costs: 'Each ad waits for one more round trip, and the activation limit of the key is soon met.',
  fix: 'Keep the token in the page and activate again shortly before expires_at_ms; render.js does so.',
  needs: 'an activation',
  judge({ exchanges }) {
    const activations = exchanges.filter(isActivation)
    const pages = groupBy(activations, (exchange) => browserOf(exchange)[0] ?? null)
    const wasteful = [...pages].filter(([page, group]) => {
      const first = group[0]!
      const last = group.at(-1)!
      const asked = exchanges.filter(
        (exchange) => asksForAds(exchange) && exchange.key === 'at' && browserOf(exchange)[0] === page,
      )
      const isOneSession = new Set(asked.map(({ session_id }) => session_id)).size === 1
      const isClose = last.at_ms - first.at_ms < together_ms * (group.length - 1)
      return group.length >= inARow && asked.length <= group.length && isOneSession && isClose
    })
    return {
      looked_at: activations.length,
      findings: wasteful.map(([, group]) => ({
        seen: `One page activated ${times(group.length)}, and used each token for one request at most.`,
        requests: group,
      })),
    }
  },
}

export const tokenShared: Rule = {
  title: 'an activation token belongs to one session',
  severity: 'warning',
  costs: 'A token that many share is refused for all of them at once, and hides whose request it was.',
  fix: 'Let each page activate by itself; never hand out a token from a server or a cache.',
  needs: 'an activation, and all requests since the sandbox was started',
  judge({ exchanges, is_whole }) {
    const activations = exchanges.filter(isActivation)
    const asked = exchanges.filter((exchange) => exchange.key === 'at' && asksForAds(exchange))
    const sessions = [...new Set(asked.flatMap(({ session_id }) => session_id ?? []))]
    const isShared = is_whole && activations.length > 0 && sessions.length > activations.length
    return {
      looked_at: is_whole ? activations.length : 0,
      findings: isShared
        ? [
            {
              seen: `${sessions.length} sessions (${some(sessions)}) used ${activations.length === 1 ? 'one token' : `${activations.length} tokens`}.`,
              requests: [...activations, ...asked],
            },
          ]
        : [],
    }
  },
}
