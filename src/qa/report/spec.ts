/** `--reporter` as it is written: a name, or `name=file`. */
import { nearestName } from '../../contract/nearest-name.ts'

export const reporterNames = ['list', 'dot', 'junit', 'json', 'tap', 'html'] as const
export type ReporterName = (typeof reporterNames)[number]

export interface ReporterSpec {
  name: ReporterName
  /** Null: to stdout. */
  file: string | null
}

/** `--reporter` was given something it does not understand: a mistake in usage. */
export class ReporterSpecError extends Error {
  override readonly name = 'ReporterSpecError'
  /** Stable name of the cause. */
  readonly code: 'reporter_unknown' | 'reporter_file_missing' | 'reporter_stdout_taken' | 'reporter_file_taken'
  /** What to do. */
  readonly hint: string

  constructor(code: ReporterSpecError['code'], message: string, hint: string) {
    super(message)
    this.code = code
    this.hint = hint
  }
}

/** Reads what was given, in its order; `list` when nothing was. Throws ReporterSpecError. */
export function parseReporterSpecs(given: readonly string[]): ReporterSpec[] {
  const specs = (given.length === 0 ? ['list'] : given).map(parseSpec)
  const toStdout = specs.filter(({ file }) => file === null)
  if (toStdout.length > 1) {
    const [first, second] = toStdout as [ReporterSpec, ReporterSpec]
    throw new ReporterSpecError(
      'reporter_stdout_taken',
      `Only one reporter can write to stdout, and ${toStdout.map(({ name }) => name).join(' and ')} would.`,
      `Give all but one a file: --reporter ${first.name} --reporter ${second.name}=${fileOf(second.name)}`,
    )
  }
  const files = specs.flatMap(({ file }) => (file === null ? [] : [file]))
  const twice = files.find((file, index) => files.indexOf(file) !== index)
  if (twice !== undefined) {
    throw new ReporterSpecError(
      'reporter_file_taken',
      `Two reporters would write to ${twice}.`,
      'Give each a file of its own.',
    )
  }
  return specs
}

function parseSpec(text: string): ReporterSpec {
  const [written = '', ...rest] = text.split('=')
  const name = reporterNames.find((known) => known === written)
  if (name === undefined) {
    const near = nearestName(written, reporterNames)
    throw new ReporterSpecError(
      'reporter_unknown',
      `There is no reporter '${written}'.`,
      `${near === null ? '' : `Did you mean ${near}? `}There are ${reporterNames.join(', ')}.`,
    )
  }
  if (rest.length === 0) return { name, file: null }
  const file = rest.join('=')
  if (file !== '') return { name, file }
  throw new ReporterSpecError(
    'reporter_file_missing',
    `--reporter ${text} names no file.`,
    `Name one, as in --reporter ${name}=${fileOf(name)}, or leave the = out for stdout.`,
  )
}

const examples: Record<ReporterName, string> = {
  list: 'qa.txt',
  dot: 'qa-dots.txt',
  junit: 'report.xml',
  json: 'qa.json',
  tap: 'qa.tap',
  html: 'qa.html',
}

function fileOf(name: ReporterName): string {
  return examples[name]
}
