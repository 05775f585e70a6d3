/** How far an ad is on its way to a view: pixels and dwell as gauges, and what holds it up. */
import { findEntry } from '#foundation/table-entry.ts'
import type { AdMeter } from '#renderer/host/console-page.ts'
import { findCutter, readBox } from './geometry.ts'
import { drawChip, drawSection } from './sections.ts'
import type { Slot } from './slots.ts'
import { type Branch, draw } from './tree.ts'
import { seconds, type Tone } from './words.ts'

/** `isUnderConsole`: the console itself lies over the ad. */
export function drawMeter({ ad }: Slot, isUnderConsole: boolean): Branch | null {
  const meter = ad?.measure() ?? null
  if (ad === null || meter === null) return null
  const { hold, text } = describeMeter(meter, ad.isViewed, isUnderConsole, ad.element)
  const tone: Tone = hold === null || hold === 'viewed' ? 'good' : hold === 'waiting' ? 'plain' : 'warn'
  return drawSection(
    'View',
    drawChip(tone, hold ?? 'counting'),
    ...drawGauges(meter, ad.isViewed),
    draw('p', { class: 'hold', 'data-tone': tone }, text),
  )
}

function drawGauges({ ratio, uncovered, visible_ms, needed }: AdMeter, isViewed: boolean): Branch[] {
  const isBigEnough = Number.isFinite(needed.ratio)
  const dwell_ms = isViewed && isBigEnough ? needed.ms : visible_ms
  return [
    drawGauge({
      name: 'Pixels',
      value: ratio * uncovered,
      behind: ratio,
      tick: isBigEnough ? needed.ratio : null,
      text: `${percent(ratio * uncovered)} of ${isBigEnough ? percent(needed.ratio) : '–'}`,
    }),
    drawGauge({
      name: 'Dwell',
      value: isBigEnough ? Math.min(1, dwell_ms / needed.ms) : 0,
      behind: 0,
      tick: null,
      text: `${seconds(dwell_ms)} of ${isBigEnough ? seconds(needed.ms) : '–'}`,
    }),
  ]
}

interface Gauge {
  name: string
  /** Shares, 0 to 1: the value, a fainter one behind it, and the threshold. */
  value: number
  behind: number
  tick: number | null
  text: string
}

function drawGauge({ name, value, behind, tick, text }: Gauge): Branch {
  return draw(
    'div',
    {
      class: 'gauge',
      role: 'meter',
      'aria-label': name,
      'aria-valuemin': '0',
      'aria-valuemax': '100',
      'aria-valuenow': `${Math.round(value * 100)}`,
      'aria-valuetext': text,
    },
    draw('span', {}, name),
    draw(
      'span',
      { class: 'track' },
      draw('i', { class: 'behind', '--size': `${behind * 100}%` }),
      draw('i', { '--size': `${value * 100}%` }),
      tick !== null && draw('b', { '--from': `${tick * 100}%` }),
    ),
    draw('span', { class: 'figure' }, text),
  )
}

/** What a view of the ad is waiting for. `hold` is null while time counts. */
interface MeterWording {
  hold:
    | 'viewed'
    | 'waiting'
    | 'hidden page'
    | 'no room'
    | 'too small'
    | 'out of view'
    | 'cut off'
    | 'covered'
    | 'hidden'
    | 'faded'
    | 'label'
    | null
  text: string
}

/** Why an ad in view is not seen, where that is neither its place nor its size. */
const unseen: Readonly<Record<string, MeterWording>> = {
  hidden: { hold: 'hidden', text: 'Stopped: hidden, by the styles of it or of an element around it.' },
  faded: { hold: 'faded', text: 'Stopped: faded. Opacity or effects around it leave too little of its contrast.' },
  label_unreadable: { hold: 'label', text: 'Stopped: its label cannot be read.' },
  label_covered: { hold: 'label', text: 'Stopped: something lies over its label.' },
}

/** Returns the meter of a mounted ad in words. `isUnderConsole`: the console itself lies over the ad. `frame`: what shows it. */
export function describeMeter(
  meter: AdMeter,
  isViewed: boolean,
  isUnderConsole: boolean,
  frame: Element | null = null,
): MeterWording {
  const { ratio, uncovered, needed, width_px, height_px } = meter
  if (isViewed) return { hold: 'viewed', text: 'Viewed: the dwell is met.' }
  if (!meter.page_visible) return { hold: 'hidden page', text: 'Stopped: the page is hidden.' }
  if (width_px === 0) return { hold: 'no room', text: 'Stopped: its slot has no room.' }
  if (!Number.isFinite(needed.ratio)) {
    return { hold: 'too small', text: `Stopped: too small. It is shown at ${width_px} × ${height_px} pixels.` }
  }
  if (!meter.isCounting) return { hold: 'waiting', text: 'Not started: the creative is not painted, or not playing.' }
  if (ratio < needed.ratio) {
    const share = `${percent(ratio)} of it can be seen, ${percent(needed.ratio)} needed.`
    const cutter = frame && findCutter(frame, needed.ratio)
    return cutter === null
      ? { hold: 'out of view', text: `Stopped: out of view. ${share}` }
      : { hold: 'cut off', text: `Stopped: cut off by ${describeBox(cutter)} around it. ${share}` }
  }
  const known = meter.outcome === 'not_seen' ? findEntry(unseen, meter.reason ?? '') : undefined
  if (known !== undefined) return known
  if (ratio * uncovered < needed.ratio) {
    const what = isUnderConsole ? 'This console lies over it: move it' : 'Something lies over it, or hides it'
    return { hold: 'covered', text: `Stopped: covered. ${what}.` }
  }
  return { hold: null, text: `Counting: ${seconds(meter.visible_ms)} of ${seconds(needed.ms)}.` }
}

/** `div.card of 340 × 60 pixels`, as `svc observe` names it. */
function describeBox(element: Element): string {
  const { id, localName, classList } = element
  const { left, top, right, bottom } = readBox(element)
  const name = id === '' ? [localName, ...classList].join('.') : `${localName}#${id}`
  return `${name} of ${Math.round(right - left)} × ${Math.round(bottom - top)} pixels`
}

/**
 * Returns what is missing for a bill, or null. The sandbox knows the beacons alone: of an ad that waits for its view the page knows
 * what stops it.
 */
export function describeMissing({ ad, sandbox, events }: Slot, isUnderConsole: boolean): string | null {
  const { missing = null, metric, gross_cpm } = sandbox?.billing ?? {}
  const meter = ad?.measure()
  const isKnown = meter !== null && meter !== undefined && (meter.isCounting || meter.width_px === 0)
  const isSent = events.some((event) => event.type === 'beacon' && event.event === 'visible')
  if (missing === null || !isKnown || isSent || metric !== 'viewable_impression' || gross_cpm === 0) return missing
  return describeMeter(meter, false, isUnderConsole, ad?.element).text
}

/** `48 %`. */
export function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}
