/**
 * Random sequences of what users and pages do to an ad: scroll, resize, hide, flick past, wait.
 *
 * Times are just above and just below what a view needs, where a wrong rule and a right one differ.
 */

export interface Sequence {
  seed: number
  kind: Kind
  steps: Step[]
}

export interface Kind {
  format: 'banner' | 'clip' | 'native'
  width: number
  height: number
}

/** Times in milliseconds. */
export type Step =
  /** Scrolls until `share` of the frame's height is in view at that edge of its box, at once or over a time. */
  | { do: 'scroll'; share: number; edge: 'top' | 'bottom'; over_ms: number }
  /** Scrolls out of view and back. */
  | { do: 'flick'; away_ms: number }
  /** Narrows the slot, and with it the frame, to a share of its width. */
  | { do: 'narrow'; share: number }
  /** Cuts the scroll box to a share of its height or width. */
  | { do: 'cut'; side: 'height' | 'width'; share: number }
  /** Hides an ancestor and shows it again, late enough for a renderer that reads the style every 100 ms, as the MRC allows. */
  | { do: 'hide'; by: 'visibility' | 'display' | 'opacity'; for_ms: number }
  | { do: 'wait'; ms: number }

/** When the page as a whole is hidden and shown again, from the beginning of its sequences, milliseconds. */
export interface PageHide {
  at_ms: number
  for_ms: number
}

const kinds: readonly Kind[] = [
  { format: 'banner', width: 970, height: 250 },
  { format: 'banner', width: 300, height: 250 },
  { format: 'banner', width: 728, height: 90 },
  { format: 'banner', width: 336, height: 280 },
  { format: 'native', width: 600, height: 400 },
  { format: 'native', width: 320, height: 400 },
  { format: 'clip', width: 320, height: 180 },
  { format: 'banner', width: 970, height: 250 },
  { format: 'clip', width: 640, height: 360 },
  { format: 'banner', width: 320, height: 100 },
]

const shares = [0, 0.1, 0.25, 0.29, 0.3, 0.31, 0.4, 0.45, 0.49, 0.5, 0.51, 0.6, 0.75, 0.9, 1, 1, 1] as const
const longest_ms = { banner: 5_000, native: 5_000, clip: 7_000 } as const

/** The sequences of one page; every kind of ad has its turn. */
export function listSequences(seed: number, count: number): Sequence[] {
  return Array.from({ length: count }, (_, index) => {
    const own = seed * 1_000 + index
    const kind = kinds[index % kinds.length]!
    return { seed: own, kind, steps: listSteps(dice(own), kind) }
  })
}

export function listPageHides(seed: number): PageHide[] {
  const roll = dice(seed)
  if (roll() < 0.5) return []
  return Array.from({ length: 1 + Math.floor(2 * roll()) }, (_, index) => ({
    at_ms: Math.round(index * 2_500 + 2_000 * roll()),
    for_ms: Math.round(30 + 400 * roll()),
  }))
}

function listSteps(roll: () => number, { format }: Kind): Step[] {
  const pick = <T>(choices: readonly T[]): T => choices[Math.floor(roll() * choices.length)]!
  const between = (least: number, most: number): number => Math.round(least + roll() * (most - least))
  const needed_ms = format === 'clip' ? 2_000 : 1_000
  const hold = (): Step => {
    const around = pick([
      [0.05, 0.3],
      [0.3, 0.7],
      [0.7, 0.97],
      [0.8, 0.97],
      [0.97, 1.3],
      [1.3, 1.6],
      [1.3, 1.6],
    ] as const)
    return { do: 'wait', ms: between(around[0] * needed_ms, around[1] * needed_ms) }
  }
  const scroll = (share: number): Step => ({
    do: 'scroll',
    share,
    edge: pick(['top', 'bottom']),
    over_ms: roll() < 0.25 ? between(80, 400) : 0,
  })
  const acts: (() => Step[])[] = [
    () => [scroll(pick(shares)), hold()],
    () => [scroll(pick(shares)), hold()],
    () => [scroll(0), { do: 'wait', ms: between(30, 300) }, scroll(pick(shares)), hold()],
    () => [{ do: 'flick', away_ms: between(0, 150) }, hold()],
    () => [{ do: 'narrow', share: pick([0.5, 0.9, 0.97, 1]) }, hold()],
    () => [{ do: 'cut', side: pick(['height', 'width']), share: pick([0.2, 0.28, 0.4, 0.6, 1]) }, hold()],
    () => [{ do: 'hide', by: pick(['visibility', 'display', 'opacity']), for_ms: between(160, 600) }, hold()],
  ]
  const steps: Step[] = [scroll(pick(shares)), hold()]
  while (sumLength(steps) < longest_ms[format] - 2 * needed_ms || roll() < 0.3) {
    const act = pick(acts)()
    if (sumLength([...steps, ...act]) > longest_ms[format]) break
    steps.push(...act)
  }
  return steps
}

export function sumLength(steps: readonly Step[]): number {
  return steps.reduce((sum, step) => sum + measureTime(step), 0)
}

function measureTime(step: Step): number {
  if (step.do === 'scroll') return step.over_ms
  if (step.do === 'flick') return step.away_ms
  if (step.do === 'hide') return step.for_ms
  return step.do === 'wait' ? step.ms : 0
}

/** Numbers in [0, 1), the same for the same seed (mulberry32). */
function dice(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
