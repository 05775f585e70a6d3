/** Policies of the page: what they forbid is named at once, by its own code. */
import { empty, type Kind, type PageOfCases, shownOnce } from './case.ts'
import { answered, hasAnswer } from './turns.ts'

const allowed = `script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self' {origin}; frame-src {origin}`
const withNonce = '<script nonce="{nonce}" src="{origin}/v1/render.js"></script>'

/** A policy without the service in one directive. */
const forbidding = (directive: string, policy: string, more: Partial<PageOfCases['cases'][number]>): PageOfCases => ({
  name: more.id ?? `policy-${directive}`,
  headers: { 'content-security-policy': policy },
  head: withNonce,
  cases: [
    {
      id: `policy-${directive}`,
      does: `The policy of the page does not name the service in ${directive}.`,
      happens: `csp_blocked names ${directive} at once; there is no render_timeout.`,
      phases: [
        {
          events: ['error csp_blocked'],
          no_events: ['error render_timeout'],
          values: {
            "[...new Set(hostEvents('csp_blocked').map(({ directive }) => directive))]": [directive],
            "hostLines('csp_blocked').length": 1,
          },
        },
      ],
      ...more,
    },
  ],
})

export const policies: Kind = {
  title: 'Policies',
  pages: [
    {
      name: 'policy-strict',
      headers: {
        'content-security-policy': `default-src 'none'; img-src data:; ${allowed}; require-trusted-types-for 'script'; trusted-types 'none'`,
      },
      head: `{stub}<script nonce="{nonce}" src="{origin}/v1/render.js" async></script>`,
      cases: [
        {
          id: 'policy-strict',
          does: 'The policy of the page allows nothing but nonces and the service, and requires Trusted Types.',
          happens: 'The ad is shown and counted once; nothing is blocked.',
          script: answered,
          phases: [
            shownOnce,
            { ...shownOnce, run: 'section.end()', values: { ...hasAnswer, 'window.hostBlocked': [] } },
          ],
        },
      ],
    },
    forbidding('frame-src', `${allowed}; frame-src 'self'`.replace('; frame-src {origin}', ''), {}),
    forbidding('connect-src', allowed.replace(`'self' {origin}`, `'self'`), {
      does: 'The policy of the page allows its backend in connect-src, and not the service.',
      happens: 'The ad is shown, and each beacon is reported at once as not accepted: csp_blocked.',
      phases: [
        {
          placements: 1,
          beacons: [],
          frames: 1,
          values: {
            "hostEvents('render').map(({ accepted, reason_code }) => accepted + ' ' + reason_code)": [
              'false csp_blocked',
            ],
          },
        },
      ],
    }),
    forbidding('connect-src', allowed.replace(`'self' {origin}`, '{origin}'), {
      id: 'policy-endpoint',
      does: 'The policy of the page does not allow its own backend in connect-src.',
    }),
    {
      name: 'policy-report-only',
      headers: { 'content-security-policy-report-only': `frame-src 'none'; connect-src 'self'` },
      cases: [
        {
          id: 'policy-report-only',
          does: 'A policy that only reports does not name the service.',
          happens: 'The ad is shown and counted once, without an error.',
          phases: [{ ...shownOnce, no_events: ['error csp_blocked'] }],
        },
      ],
    },
    {
      name: 'policy-of-others',
      headers: { 'content-security-policy': `img-src 'self'` },
      cases: [
        {
          id: 'policy-of-others',
          does: 'The policy of the page blocks a picture of the page itself.',
          happens: 'The ad is shown and counted once, without an error.',
          html: '<img alt="" src="http://127.0.0.1:9/picture.png" width="1" height="1" style="position:absolute"><div class="slot"></div>',
          phases: [{ ...shownOnce, no_events: ['error csp_blocked'] }],
        },
      ],
    },
    {
      name: 'opaque-origin',
      headers: { 'content-security-policy': 'sandbox allow-scripts' },
      cases: [
        {
          id: 'opaque-origin',
          does: 'The page runs in a sandbox without allow-same-origin: its origin is opaque.',
          happens: 'origin_opaque is reported, and no other error.',
          script: `SponsoredPlacement.activate({ publishableKey: 'pk_test_sandbox_demo' })
start()`,
          phases: [
            {
              ...empty,
              stays: true,
              events: ['error origin_opaque'],
              values: {
                "[...new Set(hostEvents('error').map(({ code }) => code))]": ['origin_opaque'],
              },
            },
          ],
        },
      ],
    },
    {
      name: 'credentials-of-the-endpoint',
      cases: [
        {
          id: 'credentials-of-the-endpoint',
          does: 'The backend is on another origin and knows its users by a cookie.',
          happens: 'With credentials: "include" the request carries it.',
          script: `await fetch('{other}/sign-in', { credentials: 'include' })
start({ endpoint: '{other}/api/members/placement', credentials: 'include' })`,
          phases: [{ ...shownOnce }],
        },
      ],
    },
  ],
}
