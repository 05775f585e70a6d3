/**
 * A fault put into the emulator on purpose, as an edit of its source. An edit whose text is not found exactly once is an
 * error, so that none of them is ever without effect unseen.
 */
export interface Edit {
  name: string
  /** The fault of the emulator in one sentence, as an integrator would describe it. */
  wrong: string
  /** Relative to the repository. */
  file: string
  from: string
  to: string
}

/** A fault that the suites of `svc qa`, which are run against the broken emulator, must notice. */
export interface Mutation extends Edit {
  /** The class of check that should notice. */
  about:
    | 'shape'
    | 'consent'
    | 'credentials'
    | 'decision'
    | 'beacons'
    | 'billing'
    | 'limits'
    | 'privacy'
    | 'cors'
    | 'frame'
    | 'config'
    | 'faults'
    | 'renderer'
  /** Prefix of the ids of the cases that run first: all of a suite take a second, those in a browser many. */
  noticed_by?: string
}

/** The source with the edit made. @throws Error when the text is not there exactly once */
export function edited({ name, file, from, to }: Edit, source: string): string {
  const count = source.split(from).length - 1
  if (count === 1) return source.replace(from, () => to)
  throw new Error(`mutation ${name}: ${file} holds its text ${count} times, not once. Update the mutation.`)
}
