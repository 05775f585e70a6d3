/** The turn of the host, when render.js is blocked, late, old, or called in a way that it cannot serve. */
import { empty, type Kind, type PageOfCases, shownOnce } from './case.ts'

/** The snippet of the documentation: the answer is the product. */
const answered = `
section.answer = SponsoredPlacement.withTurn(
  { target: slot, endpoint: '/api/placement', body, keepMounted: true },
  async () => 'the answer',
)
section.answer.then((answer) => { section.dataset.answer = answer }, (error) => { section.dataset.answer = String(error) })`

const hasAnswer = { 'section.dataset.answer': 'the answer', 'window.hostErrors': [] }

/** A page whose script element of render.js is `script`, behind the documented stub. */
function stubbed(name: string, script: string, more: Omit<PageOfCases['cases'][number], 'id' | 'script'>): PageOfCases {
  return { name, head: `{stub}${script}`, cases: [{ id: name, script: answered, ...more }] }
}

const without = { placements: 0, ...empty, values: hasAnswer } as const

export const turns: Kind = {
  title: 'The turn of the host',
  pages: [
    stubbed('script-unreachable', '<script src="/gone/render.js" async></script>', {
      does: 'render.js does not load: a blocker, an outage, or no network.',
      happens: 'The answer is shown, without an ad and without an error.',
      phases: [without],
    }),
    stubbed('script-empty', '<script src="/empty/render.js" async></script>', {
      does: 'A blocker replaces render.js with an empty script.',
      happens: 'The answer is shown, without an ad and without an error.',
      phases: [without],
    }),
    {
      ...stubbed('script-forbidden', '<script src="{origin}/v1/render.js" async></script>', {
        does: 'The policy of the page forbids render.js.',
        happens: 'The answer is shown, without an ad and without an error.',
        phases: [without],
      }),
      headers: { 'content-security-policy': `script-src 'nonce-{nonce}'` },
    },
    stubbed('script-late', '<script src="late/render.js" async></script>', {
      does: 'render.js loads after the answer is complete.',
      happens: 'The answer is shown at once. The ad follows when render.js has loaded.',
      phases: [
        without,
        { ...shownOnce, run: `fetch('late/release', { method: 'POST' })`, values: hasAnswer },
        {
          run: `SponsoredPlacement.queue.push((api) => { section.dataset.later = api.version === SponsoredPlacement.version })`,
          values: { 'section.dataset.later': 'true' },
        },
      ],
    }),
    stubbed('script-old', '<script src="/old/render.js"></script>', {
      does: 'A copy of render.js that is older than the stub replaces it.',
      happens: 'The answer is shown. The turn of the stub has no ad.',
      phases: [{ values: { ...hasAnswer, 'SponsoredPlacement.version': 'old' } }],
    }),
    {
      name: 'script-throws',
      head: '{stub}<script src="late/render.js" async></script>',
      cases: [
        {
          id: 'work-throws',
          does: 'The work of the turn fails, before render.js has loaded.',
          happens: 'The page gets the failure of its own work, unchanged; nothing else fails.',
          script: `SponsoredPlacement.withTurn({ target: slot, endpoint: '/api/placement', body }, () => { throw new Error('of the work') })
  .catch((error) => { section.dataset.answer = error.message })`,
          phases: [
            { values: { 'section.dataset.answer': 'of the work', 'window.hostErrors': [] } },
            {
              run: `fetch('late/release', { method: 'POST' })`,
              stays: true,
              values: {
                'section.dataset.answer': 'of the work',
                'window.hostErrors': [],
                'typeof SponsoredPlacement.version': 'string',
              },
            },
          ],
        },
      ],
    },
    {
      name: 'script-module',
      head: '{stub}<script type="module" src="{origin}/v1/render.js"></script>',
      cases: [
        {
          id: 'script-module',
          does: 'render.js is a module script.',
          happens: 'The ad is shown and counted once.',
          script: answered,
          phases: [{ ...shownOnce, values: hasAnswer }],
        },
      ],
    },
    {
      name: 'script-integrity',
      head: '<script src="{origin}/v1/render.js" crossorigin="anonymous" integrity="{integrity}"></script>',
      cases: [
        {
          id: 'script-integrity',
          does: 'render.js has an integrity attribute.',
          happens: 'The ad is shown and counted once.',
          phases: [shownOnce],
        },
      ],
    },
    {
      name: 'targets',
      cases: [
        {
          id: 'target-unusable',
          does: 'The page passes something as target that is no element and no selector of one.',
          happens: 'Each is target_not_found, and names what was passed.',
          html: '<div class="slot" id="b"></div><div id=":r1:"></div><div id="1a"></div>',
          script: `const tries = {
  'of useId': '#:r1:', 'begins with a digit': '#1a', 'a ref': { current: slot }, 'a jQuery list': [slot],
  'a NodeList': document.querySelectorAll('#b'), 'an id alone': 'b', 'empty': '', 'a number': 5, 'null': null,
}
section.dataset.tries = Object.keys(tries).length
for (const [turnId, target] of Object.entries(tries)) {
  SponsoredPlacement.startTurn({ target, turnId, endpoint: '/api/placement', body, keepMounted: true })
}`,
          phases: [
            {
              placements: 0,
              ...empty,
              values: {
                "hostEvents('target_not_found').length": 9,
                "hostEvents('target_not_found').filter(({ got }) => String(got ?? '') !== '').length": 9,
                "new Set(hostEvents('target_not_found').map(({ got }) => String(got))).size > 6": true,
                'window.hostErrors': [],
              },
            },
          ],
        },
        {
          id: 'target-of-another-realm',
          does: 'The target is an element of a document in a frame of the same origin.',
          happens: 'The ad is shown there and counted once.',
          html: '<iframe title="Chat" src="/blank" style="width:310px;height:285px;border:0"></iframe><div class="slot" hidden></div>',
          script: `const inner = section.querySelector('iframe')
const go = () => {
  const target = inner.contentDocument.body.appendChild(inner.contentDocument.createElement('div'))
  start({ target })
}
if (inner.contentDocument?.URL.endsWith('/blank') && inner.contentDocument.readyState === 'complete') go()
else inner.addEventListener('load', go, { once: true })`,
          phases: [{ placements: 1, beacons: shownOnce.beacons }],
        },
      ],
    },
    {
      name: 'errors-on-the-console',
      cases: [
        {
          id: 'errors-on-the-console',
          does: 'The page makes four mistakes.',
          happens: 'Each is on the console, once, with its code.',
          script: `SponsoredPlacement.startTurn({ target: '#nowhere', endpoint: '/api/placement', body })
SponsoredPlacement.startTurn({ target: slot, body })
SponsoredPlacement.renderPlacement({ target: slot, response: { data: 1 } })
SponsoredPlacement.activate({ publishableKey: 'pk_test_wrong' })`,
          phases: [
            {
              stays: true,
              events: [
                'error target_not_found',
                'error endpoint_missing',
                'error response_unreadable',
                'error activation_failed',
              ],
              values: Object.fromEntries(
                ['target_not_found', 'endpoint_missing', 'response_unreadable', 'activation_failed'].map((code) => [
                  `hostLines('${code}').length`,
                  1,
                ]),
              ),
            },
          ],
        },
      ],
    },
  ],
}
