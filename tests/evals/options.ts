/** The options of `npm run evals`. */
import { parseArgs } from 'node:util'
import { parseSpan } from '#foundation/duration.ts'
import { type Help, helps } from './help.ts'
import type { Task } from './task.ts'
import { tasks } from './tasks.ts'

export const usage = `npm run evals -- --agent 'CMD {prompt} {dir}' [options]    run an agent on copies of the tasks
npm run evals -- --tasks NAME FOLDER                       grade a folder, without an agent
npm run evals -- --tasks NAME --copy FOLDER                write the project and the prompt of a task

  --agent CMD        a command line; {prompt} and {dir} in its words are replaced, no shell reads it
  --tasks A,B        default: all. There are: NAMES
  --with A,B         none, agents-md, skill, mcp; default: none
  --repeat N         default: 1
  --env A,B          variables that the agent gets, such as the key of its model
  --time SPAN        of each run; default: 10m
  --output BYTES     of each run; default: 50000000
  --out FOLDER       write report.md and report.json there; default: print the report`

export interface EvalOptions {
  agent: string | null
  words: readonly string[]
  tasks: readonly Task[]
  helps: readonly Help[]
  repeat: number
  passed: readonly string[]
  time_ms: number
  output_bytes: number
  out: string | null
  copy: string | null
  folder: string | null
}

/** A wrong option, in a sentence. */
export class OptionError extends Error {}

/** @throws OptionError */
export function readOptions(args: readonly string[]): EvalOptions {
  const { values, positionals } = parse(args)
  const chosen = list(values.tasks).map((name) => find(name))
  const folder = positionals[0] ?? null
  if (positionals.length > 1) throw new OptionError(`One folder is graded at a time: ${positionals.join(' ')}.`)
  const ways = [values.agent, values.copy, folder ?? undefined].filter((each) => each !== undefined)
  if (ways.length !== 1) throw new OptionError('Give one of --agent, --copy, or a folder to grade.')
  if (values.agent === undefined && chosen.length !== 1) throw new OptionError('Name one task: --tasks NAME.')
  return {
    agent: values.agent ?? null,
    words: values.agent === undefined ? [] : splitWords(values.agent),
    tasks: chosen.length === 0 ? tasks : chosen,
    helps: values.with === undefined ? ['none'] : list(values.with).map(readHelp),
    repeat: readCount('--repeat', values.repeat ?? '1'),
    passed: list(values.env),
    time_ms: readSpan(values.time ?? '10m'),
    output_bytes: readCount('--output', values.output ?? '50000000'),
    out: values.out ?? null,
    copy: values.copy ?? null,
    folder,
  }
}

const text = { type: 'string' } as const

function parse(args: readonly string[]) {
  const options = { agent: text, tasks: text, with: text, repeat: text, env: text, time: text, output: text }
  try {
    return parseArgs({ args: [...args], options: { ...options, out: text, copy: text }, allowPositionals: true })
  } catch (error) {
    throw new OptionError((error as Error).message)
  }
}

function list(value: string | undefined): string[] {
  return value?.split(',').filter((each) => each !== '') ?? []
}

function find(name: string): Task {
  const task = tasks.find((each) => each.name === name)
  if (task !== undefined) return task
  throw new OptionError(`There is no task ${name}. There are: ${tasks.map((each) => each.name).join(', ')}.`)
}

function readHelp(name: string): Help {
  const help = helps.find((each) => each === name)
  if (help !== undefined) return help
  throw new OptionError(`--with takes ${helps.join(', ')}, not ${name}.`)
}

function readCount(name: string, value: string): number {
  const count = Number(value)
  if (Number.isSafeInteger(count) && count > 0) return count
  throw new OptionError(`${name} takes a whole number from 1, not ${value}.`)
}

function readSpan(value: string): number {
  const span_ms = parseSpan(value)
  if (span_ms) return span_ms
  throw new OptionError(`--time takes a span such as 90s or 10m, not ${value}.`)
}

/** Splits a command line at blanks outside of quotes. Throws OptionError for one without `{dir}` and `{prompt}`. */
export function splitWords(line: string): string[] {
  const words = [...line.matchAll(/(?:[^\s"']+|"[^"]*"|'[^']*')+/g)].map(([word]) => word.replace(/["']/g, ''))
  if (!line.includes('{prompt}')) throw new OptionError('The command line of the agent has no {prompt}.')
  return words
}
