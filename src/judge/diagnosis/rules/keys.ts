/** Keys and projects: who sends a request, and for which project. */
import { type ReasonCode, reasonCodes } from '#contract/errors.ts'
import { reasonsAbout } from '#contract/facts/reason-subjects.ts'
import { countPhrase, formatRoute, hasWarning, isFromBrowser } from '#diagnosis/exchange.ts'
import { findingFor, findRefusals, judgeMatching, judgeRefused, ruleSet } from '../rule.ts'
import { projectsHere } from './project-config.ts'

const secretKeyInBrowser: ReasonCode = 'secret_key_in_browser'

export const keyRules = ruleSet('journal', {
  'secret-key-in-browser': {
    title: 'no secret key comes from a browser',
    severity: 'error',
    costs: 'Anyone who opens the page can read the key and use your account.',
    fix: 'Revoke the key, keep secret keys on the server, and activate pages with a publishable key.',
    needs: 'a request from a browser',
    judge({ exchanges }) {
      const accepted = exchanges.filter((exchange) => hasWarning(exchange, secretKeyInBrowser))
      return {
        sample_size: exchanges.filter(isFromBrowser).length,
        findings: [
          ...findRefusals(exchanges, [secretKeyInBrowser]),
          // A project may accept secret keys from pages, with a warning.
          ...findingFor(
            accepted,
            `A secret key came from a browser page ${countPhrase(accepted.length)}; this project allows it.`,
            reasonCodes[secretKeyInBrowser].hint,
          ),
        ],
      }
    },
  },
  'credential-refused': {
    title: 'every request has a credential that its endpoint accepts',
    severity: 'error',
    costs: 'The request has no effect: no ad is shown, no beacon counts.',
    fix: 'Send a secret key as bearer token from servers; in pages, activate and send the activation token.',
    needs: 'a request',
    judge: judgeRefused(reasonsAbout.credential),
  },
  'wrong-project': {
    title: 'client_id and key belong to the same project',
    severity: 'error',
    costs: 'The request has no effect.',
    fix: 'Use a client_id and a key of the same project.',
    needs: 'a request',
    judge: judgeMatching(
      () => true,
      (exchanges, { projects }) =>
        findRefusals(exchanges, reasonsAbout.project).map((finding) => ({
          ...finding,
          fix: `${finding.fix} ${projectsHere(projects)}`,
        })),
    ),
  },
  'test-outcome-live': {
    title: 'test_outcome is sent only with test keys',
    severity: 'error',
    costs: 'In production the request is refused, and a user sees no ad.',
    fix: 'Send test_outcome only in tests, never from production code.',
    needs: 'a request for a placement',
    judge: judgeRefused(
      reasonsAbout.test_outcome,
      ({ method, path }) => method === 'POST' && /^\/v1\/(placements|jobs)/.test(path),
    ),
  },
  'live-key': {
    title: 'tests use test keys',
    severity: 'warning',
    costs: 'With the real service these are production requests: they are billed to advertisers, and count as fraud.',
    fix: 'Read SVC_SECRET_KEY from the environment, and use a key that begins with sk_test_ in tests.',
    needs: 'a request with a secret key',
    judge: judgeMatching(
      ({ key }) => key === 'sk_test' || key === 'sk_live',
      (keyed) => {
        const live = keyed.filter(({ key }) => key === 'sk_live')
        const routes = [...new Set(live.map(formatRoute))].join(', ')
        return findingFor(live, `A production key was used ${countPhrase(live.length)}: ${routes}.`)
      },
    ),
  },
})
