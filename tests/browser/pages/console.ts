/** Pages with an open console: it shows each slot where it is, and neither page nor ad notices. */
import { type Kind, shownOnce } from './case.ts'

const root = `document.querySelector('svc-console').shadowRoot`
/** The chips at the slots of the page, the rows of the panel, and what the console says of its source. */
const chips = `[...${root}.querySelectorAll('.mark-chip')].map((chip) => [...chip.children].map((part) => part.textContent).join(' ')).sort()`
const rows = `[...${root}.querySelectorAll('[role=option]')].map((row) => row.lastElementChild.textContent).sort()`
const source = `${root}.querySelector('.live').textContent`
/** Whether a chip stands within 30 pixels of an element. */
const isChipAt = (element: string) => `(() => {
  const [chip, at] = [${root}.querySelector('.mark-chip'), ${element}].map((each) => each.getBoundingClientRect())
  return Math.abs(chip.bottom - at.top) < 30 && chip.right > at.left && chip.left < at.right
})()`
const frame = `section.querySelector('[data-sp-placement]').shadowRoot.querySelector('iframe')`

const withNonce = '<script nonce="{nonce}" src="{origin}/v1/render.js"></script>'
const allowed = `default-src 'none'; img-src data:; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; frame-src {origin}`
const trusted = `require-trusted-types-for 'script'; trusted-types 'none'`

export const consoles: Kind = {
  title: 'The console on the page',
  pages: [
    {
      name: 'console-strict-policy',
      headers: { 'content-security-policy': `${allowed}; connect-src 'self' {origin}; ${trusted}` },
      head: withNonce,
      cases: [
        {
          id: 'console-strict-policy',
          does: 'The policy of the page allows nothing but nonces and the service, and requires Trusted Types. The console is open.',
          happens: 'The console is shown, nothing is blocked, and the ad is counted once.',
          script: `SponsoredPlacement.openConsole()
start()`,
          phases: [
            {
              ...shownOnce,
              stays: true,
              values: { [chips]: ['viewed'], [source]: 'live', [isChipAt(frame)]: true, 'window.hostBlocked': [] },
            },
          ],
        },
      ],
    },
    {
      name: 'console-connect-src',
      headers: { 'content-security-policy': `${allowed}; connect-src 'self'` },
      head: withNonce,
      cases: [
        {
          id: 'console-connect-src',
          does: 'The policy of the page does not name the service in connect-src. The console is open.',
          happens: 'The console shows what the page knows, and names connect-src in one line.',
          script: `SponsoredPlacement.openConsole()
start()`,
          phases: [
            {
              placements: 1,
              beacons: [],
              frames: 1,
              values: {
                [source]: 'page only',
                "hostLines('console: csp_blocked').length": 1,
                [chips]: ['viewed csp_blocked'],
              },
            },
          ],
        },
      ],
    },
    {
      name: 'console-unasked',
      cases: [
        {
          id: 'console-unasked',
          does: 'Nobody asks for the console.',
          happens: 'No byte of it is loaded, and nothing is asked.',
          phases: [
            {
              ...shownOnce,
              values: {
                "performance.getEntriesByType('resource').filter(({ name }) => name.includes('/_sandbox/')).length": 0,
                "document.querySelector('svc-console')": null,
              },
            },
          ],
        },
      ],
    },
    {
      name: 'console-shadow-root',
      cases: [
        {
          id: 'console-shadow-root',
          does: 'The slot is in a shadow root, in a container that scrolls. The console is open.',
          happens: 'Outline and chip are around the ad. It is counted once.',
          html: '<div class="slot" style="overflow:auto;width:320px;height:290px"></div>',
          script: `SponsoredPlacement.openConsole()
const target = document.createElement('div')
slot.attachShadow({ mode: 'open' }).append(target)
start({ target })`,
          phases: [
            {
              ...shownOnce,
              values: {
                [chips]: ['viewed'],
                [isChipAt(`slot.shadowRoot.querySelector('[data-sp-placement]').shadowRoot.querySelector('iframe')`)]:
                  true,
              },
            },
          ],
        },
      ],
    },
    {
      name: 'console-virtual-list',
      cases: [
        {
          id: 'console-virtual-list',
          does: 'A list reuses one row for two messages, each with its turn. The console is open.',
          happens: 'The row has the chip of the message that it shows; the panel has both turns.',
          script: `SponsoredPlacement.openConsole()
section.show = (message) => start({ turnId: message })
section.show('one')`,
          phases: [
            { ...shownOnce, values: { [rows]: ['viewed'] } },
            {
              run: `section.show('two')`,
              placements: 2,
              frames: 1,
              values: { [rows]: ['ended', 'viewed'], [chips]: ['viewed'] },
            },
          ],
        },
      ],
    },
    {
      name: 'console-frame',
      cases: [
        {
          id: 'console-frame',
          does: 'The slot is in a frame of the same origin. The console is open in the page around it.',
          happens: 'Outline and chip are where the frame shows the ad.',
          html: '<iframe title="Chat" src="/blank" style="width:310px;height:285px;border:0"></iframe><div class="slot" hidden></div>',
          script: `SponsoredPlacement.openConsole()
const inner = section.querySelector('iframe')
const go = () => start({ target: inner.contentDocument.body.appendChild(inner.contentDocument.createElement('div')) })
if (inner.contentDocument?.URL.endsWith('/blank') && inner.contentDocument.readyState === 'complete') go()
else inner.addEventListener('load', go, { once: true })`,
          phases: [
            {
              placements: 1,
              beacons: shownOnce.beacons,
              values: { [chips]: ['viewed'], [isChipAt(`section.querySelector('iframe')`)]: true },
            },
          ],
        },
      ],
    },
  ],
}
