/** Keys, projects and origins. */
import { type Exchange, routeOf, times } from '../exchange.ts'
import { isFromBrowser, type Rule, refusalRule } from '../rule.ts'

export const secretKeyInBrowser: Rule = {
  title: 'no secret key comes from a browser',
  severity: 'error',
  costs: 'Everybody who opens the page can read the key, and spend and read in your name.',
  fix: 'Revoke it, keep secret keys on the server, and let pages activate with a publishable key.',
  needs: 'a request from a browser',
  judge({ exchanges }) {
    const sent = exchanges.filter(isFromBrowser)
    const wrong = sent.filter(
      ({ reason_code, detail }) =>
        reason_code === 'secret_key_in_browser' ||
        detail?.response_headers['x-sandbox-warning']?.includes('secret_key_in_browser') === true,
    )
    const origins = new Set(wrong.map(({ detail }) => detail?.request_headers.origin ?? 'a page'))
    return {
      looked_at: sent.length,
      findings:
        wrong.length === 0
          ? []
          : [{ seen: `A secret key came from ${[...origins].join(', ')}, ${times(wrong.length)}.`, requests: wrong }],
    }
  },
}

export const credentialRefused = refusalRule(
  {
    title: 'every request has a credential that its endpoint takes',
    severity: 'error',
    costs: 'The request has no effect: no ad is shown, no beacon counts.',
    fix: 'Servers send a secret key as bearer; pages activate and send the activation token.',
    needs: 'a request',
  },
  [
    'credential_missing',
    'key_unknown',
    'key_revoked',
    'key_class',
    'token_in_wrong_place',
    'activation_token_invalid',
    'activation_token_expired',
    'publishable_key_malformed',
  ],
)

export const originRefused = refusalRule(
  {
    title: 'every page is on an allowed origin',
    severity: 'error',
    costs: 'The page gets no activation token and shows no ads.',
    fix: "Add the page's origin, scheme and port included, to the project's allowed origins.",
    needs: 'a request from a browser, or an activation',
  },
  ['origin_not_allowed', 'origin_missing'],
  (exchange) => isFromBrowser(exchange) || exchange.path === '/v1/browser/activate',
)

export const wrongProject = refusalRule(
  {
    title: 'client_id is the project of the key',
    severity: 'error',
    costs: 'The request has no effect.',
    fix: 'Take client_id and key from the same project.',
    needs: 'a request',
  },
  ['project_mismatch'],
)

export const testOutcomeLive = refusalRule(
  {
    title: 'test_outcome is sent with test keys only',
    severity: 'error',
    costs: 'In production the request is refused, and a user sees no ad for a test.',
    fix: 'Send test_outcome in tests only, never from code that production runs.',
    needs: 'a request that asks for a placement',
  },
  ['test_outcome_requires_test_key'],
  ({ method, path }) => method === 'POST' && /^\/v1\/(placements|jobs)/.test(path),
)

export const liveKey: Rule = {
  title: 'tests use test keys',
  severity: 'warning',
  costs: 'With the real service this traffic would be production traffic: billed to advertisers, and counted as fraud.',
  fix: 'Take SVC_SECRET_KEY from the environment, and give tests a key that begins with sk_test_.',
  needs: 'a request with a secret key',
  judge({ exchanges }) {
    const keyed = exchanges.filter(({ key }) => key === 'sk_test' || key === 'sk_live')
    const live = keyed.filter(({ key }) => key === 'sk_live')
    return { looked_at: keyed.length, findings: live.length === 0 ? [] : [liveFinding(live)] }
  },
}

function liveFinding(live: readonly Exchange[]) {
  const routes = [...new Set(live.map(routeOf))].join(', ')
  return { seen: `A production key was used ${times(live.length)}: ${routes}.`, requests: live }
}
