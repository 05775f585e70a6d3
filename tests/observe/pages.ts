/** The pages of scripted integrations: a correct one, and for each rule about pages one that violates it. */

import type { BrowserContextOptions } from 'playwright-core'
import type { WatchOptions } from '#diagnosis/facts/page.ts'
import type { PageRuleId } from '#diagnosis/rules/index.ts'
import { stubLines } from '#foundation/page-snippet.ts'

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
  /** The browser that shows it, and what is done to it before. */
  context?: BrowserContextOptions
  prepare?: WatchOptions['prepare']
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
/** A page that render.js has not reached: it has the stub alone. */
const withoutScript = (code: string) =>
  `<script>delete window.SponsoredPlacement\n${stubLines.join('\n')}\n${code}</script>`
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
const hasError = "SponsoredPlacement.getEvents().some(({ type }) => type === 'error')"
const isMounted = "document.querySelector('iframe, [data-sp-placement]') !== null"

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

/** Loads the frame from its own server, which has none. */
export const changedPage: Page = {
  body: `${slotInView}<script>
  const real = fetch
  window.fetch = async (url, init) => {
    const answer = await real(url, init)
    if (url !== '/placement') return answer
    const { placement, ...rest } = await answer.json()
    placement.render.frame_url = placement.render.frame_url.replace(/^.*\\/v1/, location.origin + '/ads')
    return Response.json({ placement, ...rest })
  }
</script>${turn()}`,
  until: hasError,
}

/** Pages whose ad is never seen, or whose beacons do not arrive, for a cause that only the page knows. */
export const lossyPages: Readonly<Record<string, Page>> = {
  's, before it was seen: cleared.': {
    body: `${slotInView}<script>
  const started = SponsoredPlacement.startTurn({ target: '#slot', endpoint: '/placement', turnId: 'one' })
  started.on('rendered', () => setTimeout(() => SponsoredPlacement.clearPlacement({ target: '#slot' }), 300))
</script>`,
    until: "SponsoredPlacement.getEvents().some(({ type }) => type === 'cleared')",
  },
  ', before it was seen: target_removed.': {
    body: `${slotInView}<script>
  const slot = document.querySelector('#slot')
  new MutationObserver(() => setTimeout(() => slot.remove(), 50)).observe(slot, { childList: true })
  SponsoredPlacement.startTurn({ target: slot, endpoint: '/placement', turnId: 'one' })
</script>`,
    until: "SponsoredPlacement.getEvents().some(({ type }) => type === 'cleared')",
  },
  'render.js could not send the beacon render: network_error.': {
    body: `<script>
  const real = fetch
  window.fetch = (url, init) => (String(url).includes('/v1/beacons') ? Promise.reject(new TypeError()) : real(url, init))
</script>${slotInView}${turn()}`,
    // It tries for minutes: a beacon without a response for seconds is a finding.
    until: "SponsoredPlacement.getEvents().some(({ type }) => type === 'rendered')",
    for_ms: 5_000,
  },
  'A script of the page adds x-trace to every fetch': {
    body: `<script>
  const real = fetch
  window.fetch = (url, init) => real(url, { ...init, headers: { ...init?.headers, 'x-trace': '1' } })
</script>${slotInView}${turn()}`,
    until: isMounted,
    for_ms: 3_000,
  },
  'That is an error of the service, passed on as a placement': {
    body: `${slotInView}<script>SponsoredPlacement.renderPlacement({ target: '#slot', response: {
  error: 'unauthorized', message: 'The key is unknown.', request_id: 'req_1', reason_code: 'key_unknown'
} })</script>`,
    until: "SponsoredPlacement.getEvents().some(({ type }) => type === 'error')",
  },
  'Correct the selector, or pass the element itself as target: a selector does not find elements in a shadow root': {
    body: `<script>SponsoredPlacement.startTurn({ target: '#nowhere', endpoint: '/placement' })</script>`,
    until: "SponsoredPlacement.getEvents().some(({ type }) => type === 'error')",
  },
  'Put the stub before the code that uses it': {
    body: `<script>setTimeout(() => { delete window.SponsoredPlacement; SponsoredPlacement.startTurn({}) })</script>`,
    until: 'window.SponsoredPlacement === undefined',
  },
  'Before render.js has loaded only withTurn and queue are there': {
    body: `${withoutScript('setTimeout(() => SponsoredPlacement.startTurn({}))')}`,
    until: 'true',
  },
  'render.js has not loaded: a turn waits for it in the stub of the page.': {
    body: `${slotInView}${withoutScript("SponsoredPlacement.withTurn({ target: '#slot', endpoint: '/placement' }, () => 1)")}`,
    until: 'true',
  },
  'Pass the element of the ref: ref.current.': {
    body: `${slotInView}<script>SponsoredPlacement.startTurn({ target: { current: slot }, endpoint: '/placement' })</script>`,
    until: hasError,
  },
  '/placement was blocked: connect-src of the page.': {
    body: `${slotInView}${turn()}`,
    policy: (base_url) => `connect-src ${base_url}`,
    until: hasError,
  },
  'render.js reported the error origin_opaque: The page has no origin of its own.': {
    body: `${slotInView}${turn()}`,
    policy: () => 'sandbox allow-scripts',
    until: hasError,
  },
}

/** A message in a list that draws it, and throws it away, as it is scrolled past: the first time once its ad was seen. */
const list = (draw: string, visits = 2) => `<div id="list"></div><script>
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
  const isSeen = () => SponsoredPlacement.getEvents().some(({ type, event }) => type === 'beacon' && event === 'visible')
  const draw = (target) => { ${draw} }
  const visit = async (count) => {
    for (let at = 0; at < count; at++) {
      list.innerHTML = '<article><p>How do I make better espresso at home?</p><div class="slot" style="min-height:330px"></div></article>'
      draw(list.querySelector('.slot'))
      while (!isSeen()) await pause(100)
      await pause(1_500)
      if (at < count - 1) list.replaceChildren()
      await pause(500)
    }
    window.isOver = true
  }
  visit(${visits})
</script>`
const isOver = 'window.isOver === true'

/** Lists as they are written at first, with the rules that name each mistake. */
export const naiveLists: Readonly<Record<string, { page: Page; rules: readonly string[] }>> = {
  'asks each time a row is drawn': {
    page: {
      body: list("SponsoredPlacement.startTurn({ target, endpoint: '/placement' })"),
      until: isOver,
    },
    rules: ['lost-on-remount'],
  },
  'keeps the response, and mounts it each time, which counts once': {
    page: {
      body: list(`window.response ??= fetch('/placement', { method: 'POST' }).then((answer) => answer.json())
        response.then((response) => SponsoredPlacement.renderPlacement({ target, response }))`),
      until: isOver,
    },
    rules: [],
  },
  'asks again when its page is loaded again': {
    page: {
      body: `${list("SponsoredPlacement.startTurn({ target, endpoint: '/one-session', turnId: 'message-1' })", 1)}<script>
        const again = setInterval(() => {
          if (!window.isOver || sessionStorage.again) return
          sessionStorage.again = 'yes'
          location.reload()
        }, 50)
      </script>`,
      until: `${isOver} && sessionStorage.again === 'yes'`,
    },
    rules: ['counted-twice', 'turn-asked-again'],
  },
  'mounts a second ad beside the first': {
    page: {
      body: list(
        `SponsoredPlacement.startTurn({ target, endpoint: '/placement', turnId: 'message-1' })
        fetch('/placement', { method: 'POST' }).then((answer) => answer.json()).then(({ placement: { render } }) => {
          target.insertAdjacentHTML('beforeend', '<iframe width="300" height="250" style="border:0" src="' + render.frame_url + '"></iframe>')
        })`,
        1,
      ),
      until: isOver,
      for_ms: 3_000,
    },
    rules: ['two-in-one-slot'],
  },
}

/** A list of turns whose slots all have the same id: the selector of each turn finds the first. */
export const twinPage: Page = { body: `${slot}${turn()}<div id="slot"></div>` }

/** The stub is missing in files, not in a page that got render.js; a script from elsewhere needs two sandboxes. */
export const wrongPages: Readonly<Record<Exclude<PageRuleId, 'stub-missing' | 'renderer-elsewhere'>, Page>> = {
  'step-failed': { ...askingPage, steps: '- click: text=Agree' },
  'secret-key-served': { body: `${slot}<script>const key = 'sk_test_sandbox_demo'</script>${turn()}` },
  'secret-key-sent': {
    body: `${slot}<script>fetch('/other', { headers: { 'x-key': 'sk_' + 'test_sandbox_demo' } })</script>${turn()}`,
  },
  // A frame that nothing initialises shows nothing.
  'label-hidden': { body: `${slot}${byHand(frame())}`, for_ms: 5_000, also: ['slot-blank'] },
  'frame-blocked': {
    body: `${slot}${turn()}`,
    policy: (base_url) => `default-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline' ${base_url}`,
    // render.js names the policy too, which is no second mistake.
    until: hasError,
  },
  'mounted-twice': {
    body: `${slot}${byHand(`${label}${frame()}${label}${frame()}`)}`,
    for_ms: 5_000,
    also: ['slot-blank'],
  },
  'slot-hidden': { body: `${slot}${byHand(`${label}${frame('visibility:hidden')}`)}`, until: isMounted },
  'slot-blank': {
    body: `<div style="position:relative">${slotInView}<div style="position:absolute;inset:0;background:white"></div></div>${label}${turn()}`,
    // Long enough for a busy machine to look at it twice.
    for_ms: 9_000,
  },
  'page-errors': {
    body: `${slot}${turn('/reshaped')}`,
    until: "SponsoredPlacement.getEvents().some(({ type }) => type === 'error')",
  },
  'layout-shift': {
    body: `<div id="slot"></div><p style="font-size:60px">${'Talk. '.repeat(60)}</p>${turn('/late')}`,
    also: ['message-pushed-away'],
    until: 'svcAroundAds.beside.length > 0 && svcRecords.shifts.length > 0',
  },
  'slot-emptied': {
    body: `${slotInView}<script>
      let times = 0
      const off = SponsoredPlacement.on('rendered', () => ++times === 1 && document.querySelector('#slot').replaceChildren())
    </script>${turn()}`,
    until: 'times === 2',
  },
  'ad-density': {
    body: `${slotInView}<div id="other" style="min-height:330px"></div>${turn()}
      <script>SponsoredPlacement.startTurn({ target: '#other', endpoint: '/placement' })</script>`,
    context: { viewport: { width: 390, height: 844 } },
    until: "document.querySelectorAll('[data-sp-placement]').length === 2",
  },
  'heavy-ad': {
    body: `${slot}${turn()}`,
    prepare: async (page) => {
      await page.route('**/v1/test-assets/**', async (route) => {
        const response = await route.fetch()
        await route.fulfill({ response, body: Buffer.concat([await response.body(), Buffer.alloc(5_000_000)]) })
      })
    },
    until: "SponsoredPlacement.getEvents().some(({ type }) => type === 'rendered')",
  },
  'message-pushed-away': {
    body: `<div style="height:560px">Talk.</div><div id="slot"></div><p>The answer.</p>${turn()}`,
  },
  'ad-late': {
    body: `${slotInView}<script>
      SponsoredPlacement.withTurn({ target: '#slot', endpoint: '/late', turnId: 'one', keepMounted: true }, () => 1)
    </script>`,
  },
}
