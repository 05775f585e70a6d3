/** A tool for agents: what it takes, what it does to the sandbox, and what it returns. */
import type { z } from 'zod'
import type { SandboxAccess } from './access.ts'

/** The effect of a tool on the sandbox: it reads, adds or changes, or deletes. */
export type Effect = 'reads' | 'changes' | 'destroys'

export interface Tool {
  name: string
  /** The command that does the same: `sandbox faults list`. */
  command: string
  title: string
  description: string
  effect: Effect
  /** Whether a second call with the same input changes nothing further. */
  isIdempotent: boolean
  input: z.ZodObject
  /** What to do about an invalid input, where agents guess the same names wrong. */
  inputHint?: string
  /** The schema of what `call` returns. A result holds it as `result`. */
  output: z.ZodType
  /** Whether this package has written every text of the output, so that none is from outside. */
  hasOnlyOwnText?: true
  /** The advice for a result that is too large. */
  narrower: string
  /** Returns a value for JSON. Keys and tokens in it are redacted afterwards. */
  call(access: SandboxAccess, input: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<unknown>
}

/** The advice for a tool whose result is one thing. */
export const ofOne = 'Get a part of it with another tool.'
