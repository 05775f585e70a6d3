/** The pages of scripted integrations: a correct one, and for each rule about pages one that violates it. */
import type { PageRuleId } from '../../src/journal/rules/index.ts'

export interface Page {
  /** HTML of the body; render.js is in the head. */
  body: string
  /** Content-Security-Policy of the page. */
  policy?: (base_url: string) => string
  /** Whether that policy only reports. */
  is_report_only?: boolean
  /** JavaScript that is true once it has shown what it has to show; default: its ad is in view. */
  until?: string
  /** How long it is watched from then on, milliseconds, when that is longer than usual: an ad has to be looked at. */
  for_ms?: number
  /** A file of steps that uses it instead. */
  steps?: string
  /** Other rules about pages that the same page violates. */
  also?: readonly PageRuleId[]
}

/** Reserves space for the ad and its label, below the window. */
const slot = '<div style="height:1000px">Talk.</div><div id="slot" style="min-height:330px"></div>'
const slotInView = '<div id="slot" style="min-height:330px"></div>'
const turn = (endpoint = '/placement') =>
  `<script>SponsoredPlacement.startTurn({ target: '#slot', endpoint: '${endpoint}', turnId: 'one' })</script>`
/** Mounts the frame without render.js. */
const byHand = (html: string) => `<script>
  fetch('/placement', { method: 'POST' }).then((answer) => answer.json()).then(({ placement }) => {
    const { frame_url, width, height } = placement.render
    document.querySelector('#slot').innerHTML = \`${html}\`
  })
</script>`
const frame = (style = '') =>
  `<iframe src="\${frame_url}" width="\${width}" height="\${height}" style="border:0;${style}"></iframe>`
const label = '<p>Sponsored</p>'
const isMounted = "document.querySelector('iframe') !== null"

/** Shows an ad only after a click that consents, and a question. */
export const askingPage: Page = {
  body: `${slot}<button onclick="document.querySelector('#question').disabled = false">Accept</button>
<form onsubmit="SponsoredPlacement.startTurn({ target: '#slot', endpoint: '/placement', turnId: 'one' }); return false">
<input id="question" disabled></form>`,
}
export const askingSteps = `\
- click: text=Accept
- fill: { field: '#question', text: Which espresso machine? }
  press: Enter
- wait_for: { type: beacon, event: visible }
`

export const cleanPage: Page = { body: `${slot}${turn()}` }

/** Its turn asks a route that its server does not have. */
export const mistypedPage: Page = {
  body: `${slot}${turn('/mistyped')}`,
  until: "SponsoredPlacement.getEvents().some(({ type }) => type === 'error')",
}

/** Pages that hide their ad in ways of which a screenshot knows only that it is blank. */
export const hiddenPages: Readonly<Record<string, Page>> = {
  'At most 0 % of the ad of SLOT could be scrolled into view: it is cut off by div#folded of 400 × 0 pixels around it.':
    {
      body: `<div id="folded" style="width:400px;height:0;overflow:hidden">${slot}</div>${turn()}`,
      until: isMounted,
      for_ms: 5_000,
    },
  'of the ad of SLOT could be scrolled into view: it is cut off by div.card of 340 × 60 pixels around it.': {
    body: `<div class="card" style="width:340px;height:60px;overflow:clip">${slotInView}</div>${turn()}`,
    until: isMounted,
    for_ms: 5_000,
  },
  'At most 0 % of the ad of SLOT could be scrolled into view: it is placed outside the page': {
    body: `<div style="position:absolute;left:-9999px;top:0">${slotInView}</div>${turn()}`,
    until: isMounted,
    for_ms: 5_000,
  },
  'The ad of SLOT is hidden by opacity: 0 of div#faded.': {
    body: `<div id="faded" style="opacity:0">${slot}</div>${turn()}`,
    until: isMounted,
    for_ms: 5_000,
  },
}

/** Correct pages whose ad is not in the document itself. */
export const nestedPages: Readonly<Record<string, Page>> = {
  'in a shadow root': {
    body: `<div style="height:1000px">Talk.</div><div id="host"></div><script>
  const root = document.querySelector('#host').attachShadow({ mode: 'open' })
  root.innerHTML = '<div style="min-height:330px"></div>'
  SponsoredPlacement.startTurn({ target: root.firstChild, endpoint: '/placement', turnId: 'one' })
</script>`,
  },
  'in a frame of the page': {
    body: `<div style="height:1000px">Talk.</div><iframe width="500" height="450" src="/framed"></iframe>`,
  },
}
/** What the frame of the page above shows. */
export const framedBody = `${slotInView}${turn()}`

/** Pages whose ad is never seen, or whose beacons do not arrive, for a cause that only the page knows. */
export const lossyPages: Readonly<Record<string, Page>> = {
  's, before it was seen: cleared.': {
    body: `${slotInView}<script>
  const started = SponsoredPlacement.startTurn({ target: '#slot', endpoint: '/placement', turnId: 'one' })
  started.on('rendered', () => setTimeout(() => SponsoredPlacement.clearPlacement({ target: '#slot' }), 300))
</script>`,
    until: "SponsoredPlacement.getEvents().some(({ type }) => type === 'cleared')",
  },
  'render.js could not send the beacon render: network_error.': {
    body: `<script>
  const real = fetch
  window.fetch = (url, init) => (String(url).includes('/v1/beacons') ? Promise.reject(new TypeError()) : real(url, init))
</script>${slotInView}${turn()}`,
    until: "SponsoredPlacement.getEvents().some(({ type }) => type === 'beacon')",
  },
  'A script of the page adds x-trace to every fetch': {
    body: `<script>
  const real = fetch
  window.fetch = (url, init) => real(url, { ...init, headers: { ...init?.headers, 'x-trace': '1' } })
</script>${slotInView}${turn()}`,
    until: "document.querySelector('iframe') !== null",
    for_ms: 3_000,
  },
  'That is an error of the service, passed on as a placement': {
    body: `${slotInView}<script>SponsoredPlacement.renderPlacement({ target: '#slot', response: {
  error: 'unauthorized', message: 'The key is unknown.', request_id: 'req_1', reason_code: 'key_unknown'
} })</script>`,
    until: "SponsoredPlacement.getEvents().some(({ type }) => type === 'error')",
  },
  'Pass the element itself as target: a selector does not find elements in a shadow root': {
    body: `<script>SponsoredPlacement.startTurn({ target: '#nowhere', endpoint: '/placement' })</script>`,
    until: "SponsoredPlacement.getEvents().some(({ type }) => type === 'error')",
  },
  'load it without async and defer': {
    body: `<script>setTimeout(() => { delete window.SponsoredPlacement; SponsoredPlacement.startTurn({}) })</script>`,
    until: 'window.SponsoredPlacement === undefined',
  },
}

/** A list of turns whose slots all have the same id: the selector of each turn finds the first. */
export const twinPage: Page = { body: `${slot}${turn()}<div id="slot"></div>` }

export const wrongPages: Readonly<Record<PageRuleId, Page>> = {
  'step-failed': { ...askingPage, steps: '- click: text=Agree' },
  'secret-key-served': { body: `${slot}<script>const key = 'sk_test_sandbox_demo'</script>${turn()}` },
  'secret-key-sent': {
    body: `${slot}<script>fetch('/other', { headers: { 'x-key': 'sk_' + 'test_sandbox_demo' } })</script>${turn()}`,
  },
  'label-hidden': { body: `${slot}${byHand(frame())}` },
  'frame-blocked': {
    body: `${slot}${turn()}`,
    policy: (base_url) => `default-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline' ${base_url}`,
    // The renderer gives the frame up after three seconds, which is no second mistake.
    for_ms: 5_000,
  },
  'mounted-twice': { body: `${slot}${byHand(`${label}${frame()}${label}${frame()}`)}` },
  'slot-hidden': { body: `${slot}${byHand(`${label}${frame('visibility:hidden')}`)}`, until: isMounted },
  'slot-blank': {
    body: `${slot}${byHand(
      `${label}<div style="position:relative">${frame()}<div style="position:absolute;inset:0;background:white"></div></div>`,
    )}`,
    // Long enough for a busy machine to look at it twice.
    for_ms: 9_000,
  },
  'page-errors': {
    body: `${slot}${turn('/reshaped')}`,
    until: "SponsoredPlacement.getEvents().some(({ type }) => type === 'error')",
  },
  'layout-shift': { body: `<div id="slot"></div><p style="font-size:60px">${'Talk. '.repeat(60)}</p>${turn('/late')}` },
}
