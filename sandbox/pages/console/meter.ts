/** How far an ad is on its way to a view: pixels and dwell as gauges, and what holds it up. */
import type { AdMeter } from '#renderer/host/console-page.ts'
import { drawChip, drawSection } from './sections.ts'
import type { Slot } from './slots.ts'
import { type Branch, draw } from './tree.ts'
import { describeMeter, percent, seconds, type Tone } from './words.ts'

/** `isUnderConsole`: the console itself lies over the ad. */
export function drawMeter({ ad }: Slot, isUnderConsole: boolean): Branch | null {
  const meter = ad?.measure() ?? null
  if (ad === null || meter === null) return null
  const { hold, text } = describeMeter(meter, ad.isViewed, isUnderConsole)
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
