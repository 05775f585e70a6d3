/** A parser with a fault that was put in on purpose, which the fuzzer must find: it trusts a length of its input. */
import { check, type FuzzTarget } from './target.ts'

export const target: FuzzTarget = {
  max_bytes: 40,
  run(bytes) {
    const text = bytes.toString('latin1')
    // Chance alone would take 2^32 inputs for the first four characters.
    for (const [at, character] of [...'SVC:'].entries()) if (text[at] !== character) return
    const length = Number.parseInt(text.slice(4, 6), 10)
    if (Number.isNaN(length) || length < 12) return
    const rest = [...text.slice(6)]
    const last = rest[length - 1]
    check(last !== undefined, `there is no character ${length}`)
  },
}
