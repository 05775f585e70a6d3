/**
 * Whether the work of a pattern or a scanner grows with the length of its text, and not with the square of it. Inputs are pieces,
 * repeated. One that costs more than it should at first is measured again at four times the length, in time of the processor: what else
 * the machine does takes no part.
 */
import { lineOf, type Source } from './source.ts'

/** An input whose cost grows faster than its length. */
interface SlowInput {
  piece: string
  before: string
  after: string
}

const tinyLength = 25
const endlessTime_ms = 10
const shortLength = 1_000
/** Milliseconds. A linear scan of 1,000 characters takes a hundredth of it; only what takes longer is measured with care. */
const suspiciousTime_ms = 0.1
/** 4 for work that is linear, 16 for the square. */
const maxRatio = 9
/** Below it a square cannot be distinguished from a line. */
const measurableCost_us = 1_000
/** Several steps of the count. */
const addedCost_us = 24_000
const maxLength = 64 * shortLength

/** Returns an input on which `run` does more than linear work; null for none. */
export function findSlowInput(run: (text: string) => unknown, pieces: readonly string[]): SlowInput | null {
  const befores = ['', ...pieces.filter(({ length }) => length > 2).slice(0, 1)]
  for (const piece of pieces) {
    for (const before of befores) {
      for (const after of ['', '\u0001']) {
        const make = (length: number) => before + piece.repeat(Math.ceil(length / piece.length)) + after
        // Work that doubles with each character would never end on a longer text.
        const isEndless = measureTime(() => run(make(tinyLength))) > endlessTime_ms
        // The first of the measured runs can take as long.
        const endless_us = 1_000 * endlessTime_ms
        const cost_us = isEndless ? lowest(() => measureCost(run, make(tinyLength)), endless_us) : 0
        if (cost_us > endless_us) return { piece, before, after }
        const text = make(shortLength)
        const isSuspicious = lowest(() => measureTime(() => run(text)), suspiciousTime_ms) > suspiciousTime_ms
        // Other work beside it can look so once, not three times.
        if (isSuspicious && [1, 2, 3].every(() => isSuperlinear(run, make))) return { piece, before, after }
      }
    }
  }
  return null
}

function measureTime(work: () => unknown): number {
  const started = performance.now()
  work()
  return performance.now() - started
}

/** Compares the cost with that of four times the length: by the clock first, which is cheap, and then in time of the processor. */
function isSuperlinear(run: (text: string) => unknown, make: (length: number) => string): boolean {
  const clockOf = (length: number) => {
    const text = make(length)
    return lowest(() => measureTime(() => run(text)), 0)
  }
  if (lowest(() => clockOf(4 * shortLength) / clockOf(shortLength), maxRatio) < maxRatio) return false
  let length = 2 * shortLength
  while (measureCost(run, make(length)) < measurableCost_us) {
    length *= 2
    // The square would take seconds.
    if (length > maxLength) return false
  }
  return lowest(() => measureCost(run, make(4 * length)) / measureCost(run, make(length)), maxRatio) > maxRatio
}

/** Returns microseconds of this thread's processor. They are counted in steps of some milliseconds, so many runs are added up. */
function measureCost(run: (text: string) => unknown, text: string): number {
  const started = process.threadCpuUsage()
  for (let runs = 1; ; runs++) {
    run(text)
    const { user, system } = process.threadCpuUsage(started)
    if (user + system >= addedCost_us) return (user + system) / runs
  }
}

/** Measures up to three times, until a value is at most `enough`. */
function lowest(measure: () => number, enough: number): number {
  let least = measure()
  for (let time = 1; time < 3 && least > enough; time++) least = Math.min(least, measure())
  return least
}

/** What most patterns repeat: letters, digits, blanks, and the marks of the formats that are read. */
const common = ['a', 'A', '0', ' ', '\t', '\n', 'é', '"', '\\"', 'a.', 'a,', 'a@', 'a=', '0,', '0 ', 'a ']

/** Pieces for scanners: what the texts that they look for consist of. */
export const scannerPieces: readonly string[] = [
  ...common,
  ...[
    '\\',
    '%25',
    '%40',
    '\\u0040',
    '\\u005f',
    'at_.',
    'at_',
    'sk_live',
    'sk_test_',
    'eyJ',
    'eyJa.',
    'a-',
    '+1 ',
    '0-',
  ],
  ...['http://', 'ws', '{', '[', '{"a":', '<script ', 'token="', 'bearer ', 'api key ', 'a at a dot ', ' dot ', 'DE00'],
  ...['Bearer eyJa', 'a;', ';', '=', '==', 'a/', '/', '../', '(', '@a.', 'a%40', 'QUFB', 'c2tf', 'x: y\n', '1E+', '.0'],
]

/** Returns the regular expressions of a file with a repetition that has no limit, each with its place. */
export function listPatterns({ path, text, nodes }: Source): { place: string; path: string; pattern: RegExp }[] {
  return nodes.flatMap((node) => {
    const { pattern, flags } = (node.regex ?? {}) as { pattern?: string; flags?: string }
    if (node.type !== 'Literal' || pattern === undefined || !/(?:[*+]|\{\d+,\})/.test(pattern)) return []
    // Replacing looks at every place of a text, as a search that fails does.
    const everywhere = flags!.includes('y') || flags!.includes('g') ? flags! : `${flags}g`
    return [{ place: `${path}:${lineOf(text, node.start)}`, path, pattern: new RegExp(pattern, everywhere) }]
  })
}

/** Returns the pieces for a pattern: its own characters and words, and what it may repeat. */
export function listPieces({ source }: RegExp): string[] {
  const plain = source.replace(/\(\?(?:<?[=!:]|<\w+>)/g, '(').replace(/\\([^\w])/g, '$1')
  const words = [...new Set(plain.replace(/[()]/g, '').match(/[A-Za-z0-9_%@:/<>"'=-]{2,24}/g))].slice(0, 5)
  const marks = [...new Set(plain.match(/[^\w\s]/g))]
  return [...new Set([...common, ...marks, ...words, ...words.flatMap((word) => [`${word}a`, `${word}.`])])]
}

/** Patterns over texts of our own, or that a user of the command line wrote for it, by file, and why they may stay. */
export const ownTexts: Readonly<Record<string, string>> = {
  'src/core/foundation/redaction.ts': 'the password of a URL: a word up to its last @, in which it ends',
  'sandbox/server/tracing/tracing.ts': 'an address of a setting',
  'src/cli/run/command-client.ts': 'an address of a setting',
  'src/core/client/exchange.ts': 'an address of a setting, also in browsers that know no lookbehind',
  'src/core/client/integration.ts': 'an address of a setting, also in browsers that know no lookbehind',
  'src/cli/commands/contract/check.ts': 'an address of a setting',
  'src/cli/commands/contract/sides.ts': 'an address of a setting',
  'src/core/foundation/http.ts': 'an address of a setting, also in browsers that know no lookbehind',
  'src/judge/qa/report/sarif.ts': 'an address of a setting',
  'src/judge/qa/run/target.ts': 'an address of a setting',
  'src/judge/recordings/recorder.ts': 'an address of a flag',
  'src/judge/diagnosis/rules/machine.ts': 'a duration that we wrote',
  'sandbox/pages/renderer/host/judge/effects.ts': 'a computed filter, as the browser writes it',
  'sandbox/pages/renderer/host/judge/gradient.ts': 'a stop of a computed gradient, as the browser writes it',
  'sandbox/pages/renderer/host/judge/layers.ts': 'a computed shadow, as the browser writes it',
  'src/cli/tail/TailScreen.tsx': 'a number',
  'src/core/foundation/personal-data/phone-numbers.ts': 'at most 40 characters around a number',
  'sandbox/pages/demo/timeline.ts': 'JSON that we wrote, whose strings all end',
}
