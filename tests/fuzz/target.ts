/** What a fuzz target is, and what every parser of files from strangers must hold to. */
import { performance } from 'node:perf_hooks'
import { threadCpuUsage } from 'node:process'
import { plainLine } from '#foundation/unsafe-text.ts'

export interface FuzzTarget {
  /**
   * Parses the bytes of a file as the product does. Returns when the parser returned a value that holds to what is known of it, or
   * refused the file in words. @throws what nothing foresees: a find
   */
  run(bytes: Buffer): void | Promise<void>
  /** Words of the format, which chance alone would not find. */
  words?: readonly string[]
  /** The longest input that is tried, in bytes. */
  max_bytes: number
}

/** Nothing of a few kilobytes may take longer, in milliseconds of the processor. */
const maxCpu_ms = 2_000

/** Runs a target, and throws also when it took too long or changed what all objects inherit. */
export function runTarget({ run }: FuzzTarget, bytes: Buffer): void | Promise<void> {
  const started = cpu_ms()
  const result = run(bytes)
  return result === undefined ? checkAround(started) : result.then(() => checkAround(started))
}

/** Node 22 has no times of a thread. */
function cpu_ms(): number {
  if (threadCpuUsage === undefined) return performance.now()
  const { user, system } = threadCpuUsage()
  return (user + system) / 1_000
}

const prototypes = [Object.prototype, Array.prototype, Function.prototype, String.prototype, Map.prototype]
const inherited = prototypes.map((prototype) => Reflect.ownKeys(prototype).length)

function checkAround(started: number): void {
  const took_ms = cpu_ms() - started
  if (took_ms > maxCpu_ms) throw new Finding(`took ${Math.round(took_ms)} ms of the processor`)
  for (const [index, prototype] of prototypes.entries()) {
    if (Reflect.ownKeys(prototype).length !== inherited[index]) throw new Finding('changed what all objects inherit')
  }
}

/** Something that must not be. */
export class Finding extends Error {
  override readonly name = 'Finding'
}

/** @throws Finding unless it holds */
export function check(holds: boolean, message: string): asserts holds {
  if (!holds) throw new Finding(message)
}

/** @throws Finding unless both have the same JSON */
export function checkSame(actual: unknown, expected: unknown, what: string): void {
  const [one, other] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (one !== other) throw new Finding(`${what}: ${excerpt(one, other)} is not ${excerpt(other, one)}`)
}

/** Returns where two texts begin to differ. */
function excerpt(text = 'undefined', other = 'undefined'): string {
  let at = 0
  while (at < text.length && text[at] === other[at]) at++
  return text.slice(Math.max(0, at - 40), at + 80)
}

/** Returns what `read` returns, or null when it refuses its input with an error of these classes, in words. */
export function readOrRefuse<Value>(
  read: () => Value,
  ...refusals: readonly (abstract new (
    ...args: never
  ) => Error)[]
): Value | null {
  try {
    return read()
  } catch (error) {
    if (error instanceof Error && refusals.some((refusal) => error instanceof refusal)) {
      checkSentence(error.message)
      return null
    }
    throw error
  }
}

/** @throws Finding unless a text is in words: nothing of a program's insides. What prints it escapes control characters */
export function checkSentence(text: string): void {
  check(text.trim() !== '', 'a message is empty')
  const insides =
    /\[object |\bundefined\b|\bNaN\b|^\s+at .*:\d+:\d+|\b(?:Type|Range|Reference)Error\b|Cannot read prop|is not a function|is not iterable|call stack/m
  check(
    !insides.test(text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""')),
    `a message has a program's insides: ${text.slice(0, 300)}`,
  )
}

/** As `checkSentence`, for a message that is printed on a line of its own. */
export function checkLine(text: string): void {
  checkSentence(text)
  check(!/[\n\r]/.test(text), `a message has a line end: ${JSON.stringify(text.slice(0, 300))}`)
}

/** As `checkLine`, for a message that anything may print. */
export function checkPlainLine(text: string): void {
  checkLine(text)
  check(plainLine(text) === text, `a message has a character that changes how it is read: ${JSON.stringify(text)}`)
}
