/** Networks that lie, lose and wait: what becomes of beacons there. */
import { empty, type Kind, type PageOfCases, shownOnce } from './case.ts'

/**
 * Lets the service worker of the page respond to beacons with `mode`, for `count` of them, and starts the turn then. Each page
 * has its own, in its own folder.
 */
const behindWorker = (mode: string, count: number) => `
const registered = await navigator.serviceWorker.register('worker.js')
await navigator.serviceWorker.ready
if (!navigator.serviceWorker.controller) {
  await new Promise((resolve) => navigator.serviceWorker.addEventListener('controllerchange', resolve))
}
await new Promise((resolve) => {
  const channel = new MessageChannel()
  channel.port1.onmessage = resolve
  navigator.serviceWorker.controller.postMessage({ mode: '${mode}', count: ${count} }, [channel.port2])
})
start()`

const notRecorded = {
  placements: 1,
  beacons: [],
  frames: 1,
  values: {
    "hostEvents('render').map(({ accepted, reason_code }) => accepted + ' ' + reason_code)": [
      'false response_not_from_service',
    ],
  },
} as const

/** Its worker sees neither the first attempt of a beacon nor every second one after it. */
const pastWorkers = {
  happens: 'The ad is counted once: requests with keepalive pass by a service worker.',
  phases: [shownOnce],
} as const

const lying = (id: string, does: string, mode: string): PageOfCases => ({
  name: id,
  cases: [
    {
      id,
      does,
      happens: 'The beacon is not taken for accepted: it is retried, and then reported as response_not_from_service.',
      script: behindWorker(mode, 1000),
      phases: [notRecorded],
      differs: { firefox: pastWorkers },
    },
  ],
})

export const network: Kind = {
  title: 'Networks',
  pages: [
    lying('offline-page', 'A service worker responds to beacons with its offline page, status 200.', 'html'),
    lying('blocker-empty', 'A blocker responds to beacons with an empty 200.', 'empty'),
    lying('blocker-json', 'A blocker responds to beacons with an empty JSON object.', 'json'),
    lying('login-proxy', 'A proxy redirects beacons to its login page.', 'redirect'),
    {
      name: 'offline-page-ends',
      cases: [
        {
          id: 'offline-page-ends',
          does: 'The service worker responds with its offline page twice, then the network is back.',
          happens: 'Nothing is lost: the ad is counted once.',
          script: behindWorker('html', 2),
          phases: [shownOnce],
          differs: { firefox: pastWorkers },
        },
      ],
    },
    {
      name: 'no-network-twice',
      cases: [
        {
          id: 'no-network-twice',
          does: 'The network fails for the first two beacons.',
          happens: 'Nothing is lost: the ad is counted once.',
          script: behindWorker('error', 2),
          phases: [shownOnce],
          differs: { firefox: pastWorkers },
        },
      ],
    },
    {
      name: 'route-redirects',
      cases: [
        {
          id: 'route-redirects',
          does: 'The route of the page redirects to a login page, status 200.',
          happens: 'response_unreadable names the route and the address at which it ended, without its query.',
          script: `start({ endpoint: '/members' })`,
          phases: [
            {
              ...empty,
              events: ['error response_unreadable'],
              values: {
                "hostEvents('response_unreadable').map(({ request }) => request.replace(location.origin, ''))": [
                  'POST /members > /blank',
                ],
              },
            },
          ],
        },
      ],
    },
    {
      name: 'keepalive-quota',
      cases: [
        {
          id: 'keepalive-quota',
          does: 'Another script of the page holds all of its keepalive quota for as long as the page lives.',
          happens: 'Nothing is lost: the ad is counted once.',
          script: `fetch('/slow', { method: 'POST', keepalive: true, body: 'x'.repeat(65400) }).catch(() => {})
start()`,
          phases: [shownOnce],
        },
      ],
    },
    {
      name: 'fetch-wrapped',
      cases: [
        {
          id: 'fetch-wrapped',
          does: 'A monitoring script wraps fetch, and keeps its promise.',
          happens: 'The ad is counted once.',
          html: `<script>const own = window.fetch; window.fetch = function (...all) { return own.apply(this, all).then((response) => response) }</script><div class="slot"></div>`,
          phases: [shownOnce],
        },
      ],
    },
  ],
}
