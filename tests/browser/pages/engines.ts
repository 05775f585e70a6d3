/** Older engines, wrong clocks and prerendered pages. */
import { empty, type Kind, type PageOfCases, shownOnce } from './case.ts'
import { answered, hasAnswer } from './turns.ts'

const script = '<script src="{origin}/v1/render.js"></script>'

/** Removes APIs of the page, as `Object.name` or `name`. */
const without = (...names: readonly string[]) =>
  `<script>for (const path of ${JSON.stringify(names)}) {
  const keys = path.split('.')
  const last = keys.pop()
  const owner = keys.reduce((at, key) => at[key], window)
  try { delete owner[last] } catch (error) {}
  if (owner[last] !== undefined) Object.defineProperty(owner, last, { value: undefined, configurable: true, writable: true })
}</script>`

/** What came after the versions that docs/renderer.md states. */
const recent = [
  'URL.canParse',
  'URL.parse',
  'AbortSignal.any',
  'AbortSignal.timeout',
  'Object.hasOwn',
  'Object.groupBy',
  'Map.groupBy',
  'Promise.withResolvers',
  'Array.fromAsync',
  'Array.prototype.findLast',
  'Array.prototype.toSorted',
  'Element.prototype.checkVisibility',
  'structuredClone',
]

const unsupported = (id: string, api: string, does: string): PageOfCases => ({
  name: id,
  head: without(api) + script,
  cases: [
    {
      id,
      does,
      happens: 'engine_unsupported is reported before anything is requested, and the answer is shown.',
      script: answered,
      phases: [
        {
          run: `setTimeout(section.end, 500)`,
          placements: 0,
          ...empty,
          events: ['error engine_unsupported'],
          values: {
            ...hasAnswer,
            "hostLines('engine_unsupported').length": 1,
          },
        },
      ],
    },
  ],
})

/** A device whose clock differs by `skew_ms`. All entry points are on one page. */
const skewed = (id: string, skew_ms: number, does: string): PageOfCases => ({
  name: id,
  head: `<script>{ const Real = Date
window.Date = class extends Real {
  constructor(...all) { if (all.length) super(...all); else super(Real.now() + ${skew_ms}) }
  static now() { return Real.now() + ${skew_ms} }
} }</script>${script}`,
  cases: [
    { id: `${id}-turn`, does: `${does} startTurn with the backend.`, happens: counted, phases: [shownOnce] },
    {
      id: `${id}-render`,
      does: `${does} renderPlacement.`,
      happens: counted,
      script: `fetch('/api/placement', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  .then((response) => response.json())
  .then((response) => SponsoredPlacement.renderPlacement({ target: slot, response }))`,
      phases: [shownOnce],
    },
    {
      id: `${id}-activated`,
      does: `${does} A turn without a backend.`,
      happens: counted,
      script: `SponsoredPlacement.activate({ publishableKey: 'pk_test_sandbox_demo' })
  .then(() => SponsoredPlacement.startTurn({ target: slot, body, keepMounted: true }))`,
      phases: [{ ...shownOnce, placements: 0 }],
    },
  ],
})

const counted = 'The ad is shown and counted once: the time of the service decides.'

export const engines: Kind = {
  title: 'Older engines, wrong clocks, prerendering',
  pages: [
    {
      name: 'older-engine',
      head: without(...recent) + script,
      cases: [
        {
          id: 'older-engine',
          does: `The engine has nothing of what came in the last years: ${recent.join(', ')}.`,
          happens: 'The ad is shown and counted once.',
          script: 'start({ signal: new AbortController().signal })',
          phases: [{ ...shownOnce, values: { 'window.hostErrors': [] } }],
        },
      ],
    },
    unsupported('no-shadow-root', 'Element.prototype.attachShadow', 'The engine has no shadow roots.'),
    unsupported('no-message-channel', 'MessageChannel', 'The engine has no MessageChannel.'),
    skewed('clock-behind', -600_000, 'The clock of the device is ten minutes behind.'),
    skewed('clock-slow', -20_000, 'The clock of the device is 20 seconds behind.'),
    skewed('clock-ahead', 63_072_000_000, 'The clock of the device is two years ahead.'),
    {
      name: 'prerendered',
      head: `<script>
let prerendering = true
Object.defineProperty(document, 'prerendering', { get: () => prerendering, configurable: true })
window.activatePage = () => { prerendering = false; document.dispatchEvent(new Event('prerenderingchange')) }
</script>${script}`,
      cases: [
        {
          id: 'prerendered',
          does: 'The browser prerenders the page, and shows it later.',
          happens: 'Nothing is requested before the page is shown. Then the ad is shown and counted once.',
          phases: [
            { placements: 0, frames: 0, no_events: ['error render_timeout'], stays: true },
            { ...shownOnce, run: 'window.activatePage()' },
          ],
        },
      ],
    },
  ],
}
