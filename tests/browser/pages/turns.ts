/** The turn of the host, when render.js is blocked, late, old, or called in a way that it cannot serve. */
import { empty, type Kind, type PageOfCases, shownOnce } from './case.ts'

/** The snippet of the documentation. Its work, the answer, begins at once and ends when the case calls `section.end()`. */
export const answered = `
const work = () => {
  section.dataset.answer = 'begun'
  return new Promise((resolve) => { section.end = () => resolve('the answer') })
}
SponsoredPlacement.withTurn({ target: slot, endpoint: '/api/placement', body, keepMounted: true }, work)
  .then((answer) => { section.dataset.answer = answer }, (error) => { section.dataset.answer = String(error) })`

const isBegun = { 'section.dataset.answer': 'begun', 'window.hostErrors': [] }
export const hasAnswer = { 'section.dataset.answer': 'the answer', 'window.hostErrors': [] }
const end = 'section.end()'
/** What a slow network does in the end. */
const arrive = `document.head.append(Object.assign(document.createElement('script'), { src: origin + '/v1/render.js', async: true }))`

/** A page whose script element of render.js is `script`, behind the documented stub. */
function stubbed(name: string, script: string, more: Omit<PageOfCases['cases'][number], 'id' | 'script'>): PageOfCases {
  return { name, head: `{stub}${script}`, cases: [{ id: name, script: answered, ...more }] }
}

const without = [
  { placements: 0, ...empty, values: isBegun },
  { run: end, placements: 0, ...empty, values: hasAnswer },
] as const

export const turns: Kind = {
  title: 'The turn of the host',
  pages: [
    stubbed('script-unreachable', '<script src="/gone/render.js" async></script>', {
      does: 'render.js does not load: a blocker, an outage, or no network.',
      happens: 'The answer is shown, without an ad and without an error.',
      phases: without,
    }),
    stubbed('script-empty', '<script src="/empty/render.js" async></script>', {
      does: 'A blocker replaces render.js with an empty script.',
      happens: 'The answer is shown, without an ad and without an error.',
      phases: without,
    }),
    {
      ...stubbed('script-forbidden', '<script src="{origin}/v1/render.js" async></script>', {
        does: 'The policy of the page forbids render.js.',
        happens: 'The answer is shown, without an ad and without an error.',
        phases: without,
      }),
      headers: { 'content-security-policy': `script-src 'nonce-{nonce}'` },
    },
    stubbed('script-late', '', {
      does: 'render.js loads late, while the answer is written.',
      happens: 'The answer is not delayed. The ad follows when render.js has loaded.',
      phases: [
        without[0],
        { ...shownOnce, run: arrive, values: isBegun },
        { ...shownOnce, run: end, values: hasAnswer },
        {
          run: `SponsoredPlacement.queue.push((api) => { section.dataset.later = api.version === SponsoredPlacement.version })`,
          values: { 'section.dataset.later': 'true' },
        },
      ],
    }),
    stubbed('script-later', '', {
      does: 'render.js loads after the answer is complete, and the page keeps its ads: keepMounted.',
      happens: 'The answer is not delayed. The ad follows, and is counted once.',
      phases: [...without, { ...shownOnce, run: arrive, values: hasAnswer }],
    }),
    {
      name: 'stub-kept',
      head: '{stub}',
      cases: [
        {
          id: 'stub-kept',
          does: 'The page keeps what the stub has, and uses it after render.js has loaded.',
          happens: 'A turn and a queued function run as those of render.js do.',
          script: `const { queue, withTurn: kept } = SponsoredPlacement
section.turn = () => { ${answered.replace('SponsoredPlacement.withTurn', 'kept')} }
section.later = () => queue.push((api) => { section.dataset.later = api.version === SponsoredPlacement.version })`,
          phases: [
            {
              run: arrive,
              placements: 0,
              ...empty,
              stays: true,
              values: { 'typeof SponsoredPlacement.version': 'string' },
            },
            {
              ...shownOnce,
              run: 'section.turn(); section.later()',
              values: { ...isBegun, 'section.dataset.later': 'true' },
            },
            { ...shownOnce, run: end, values: hasAnswer },
          ],
        },
      ],
    },
    {
      name: 'script-after-the-turn',
      head: '{stub}',
      cases: [
        {
          id: 'script-after-the-turn',
          does: 'render.js loads after the answer is complete, and the page does not keep its ads.',
          happens: 'The turn is over: nothing is requested for it, and nothing fails.',
          script: answered.replace(', keepMounted: true', ''),
          phases: [
            ...without,
            {
              run: arrive,
              placements: 0,
              ...empty,
              stays: true,
              values: { ...hasAnswer, 'typeof SponsoredPlacement.version': 'string' },
            },
          ],
        },
      ],
    },
    stubbed('script-old', '<script src="/old/render.js"></script>', {
      does: 'A copy of render.js that is older than the stub replaces it.',
      happens: 'The answer is shown. The turn of the stub has no ad.',
      phases: [{ run: end, values: { ...hasAnswer, 'SponsoredPlacement.version': 'old' } }],
    }),
    {
      name: 'script-throws',
      head: '{stub}',
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
              run: arrive,
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
          phases: [shownOnce, { ...shownOnce, run: end, values: hasAnswer }],
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
          html: '<div class="slot" id="b"></div>',
          script: `const tries = {
  'a ref': { current: slot }, 'a jQuery list': [slot],
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
                "hostEvents('target_not_found').length": 7,
                "hostEvents('target_not_found').filter(({ got }) => String(got ?? '') !== '').length": 7,
                "new Set(hostEvents('target_not_found').map(({ got }) => String(got))).size": 7,
                'window.hostErrors': [],
              },
            },
          ],
        },
        {
          id: 'target-of-use-id',
          does: 'The target is an id that is not a valid selector, such as those of useId.',
          happens: 'The element with that id gets the ad.',
          html: '<div class="slot" id=":r1:"></div>',
          script: `start({ target: '#:r1:' })`,
          phases: [shownOnce],
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
