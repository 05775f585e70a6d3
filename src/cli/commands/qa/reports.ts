/** The reports of commands with a verdict: `--reporter` and `--compare-with`. */

import { existsSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Option } from 'commander'
import { repeatable } from '#cli/endpoint/option-values.ts'
import { type CommandContext, suggestValues } from '#cli/run/command.ts'
import type { System } from '#cli/run/system.ts'
import { parseUserJson, readUserText } from '#cli/run/user-file.ts'
import { replaceFile } from '#foundation/file-system.ts'
import type { EarlierRun } from '#qa/report/changes.ts'
import type { OwnReporters } from '#qa/report/reporters.ts'
import type { Reporter, RunResult } from '#qa/result.ts'
import type { SystemStream } from '#text/terminal.ts'
import { qaFailure } from './failure.ts'

const suggestions = [
  'list',
  'junit=qa.xml',
  'json=qa.json',
  'html=qa.html',
  'markdown=qa.md',
  'ctrf=qa.ctrf.json',
  'sarif=qa.sarif',
]

/** Returns the options of a command whose verdict is reported; `without` is what it prints without them. */
function reporterOptions(without: string): Option[] {
  const names = 'list, junit, json, html, markdown, ctrf or sarif'
  return [
    suggestValues(repeatable('--reporter <name[=file]>', `${names}; default: ${without}`), suggestions),
    new Option('--compare-with <file>', 'say what changed against an earlier run: a file of --reporter ctrf or json'),
  ]
}

export const reportOptions: readonly Option[] = reporterOptions('list')
/** For commands that have an output of their own. */
export const besideOptions: readonly Option[] = reporterOptions('output of its own')

export interface ReportFlags {
  reporter?: string[]
  compareWith?: string
}

/** Returns the reporters of `--reporter`; with -o json the whole result goes to stdout too. Throws CliError. */
export function createReporter(
  context: CommandContext,
  { reporter = [], compareWith }: ReportFlags,
  own: OwnReporters = {},
): Promise<Reporter> {
  const specs = isJson(context) ? [...reporter.filter(hasFile), 'json'] : reporter
  return openReporters(context, { reporter: specs, ...(compareWith !== undefined && { compareWith }) }, own)
}

async function openReporters(
  context: CommandContext,
  { reporter = [], compareWith }: ReportFlags,
  own: OwnReporters = {},
): Promise<Reporter> {
  const { createReporters } = await import('#qa/report/reporters.ts')
  const { system, out, settings } = context
  const silent: SystemStream = { write: () => {}, is_terminal: false, columns: undefined }
  try {
    const tools = {
      stdout: createSink(settings.output === 'none' ? silent : system.stdout, out.style),
      progress: createSink(system.stderr, out.noteStyle),
      quiet: out.quiet || isJson(context) || settings.output === 'none',
      now: () => system.now(),
      writeFile: async (path: string, content: string) => replaceFile(resolve(system.cwd, path), content),
      sourceUri: (file: string) => sourceUri(file, system.cwd),
      earlier: compareWith === undefined ? null : await readEarlier(system, compareWith),
    }
    return createReporters(reporter, tools, own)
  } catch (error) {
    throw qaFailure(error)
  }
}

function isJson({ settings }: CommandContext): boolean {
  return settings.output === 'json' || settings.output === 'jsonl'
}

function hasFile(spec: string): boolean {
  return spec.includes('=')
}

async function readEarlier(system: System, file: string): Promise<EarlierRun> {
  const { readEarlierRun } = await import('#qa/report/changes.ts')
  try {
    return readEarlierRun(await parseUserJson(await readUserText(system, file), file), file)
  } catch (error) {
    throw qaFailure(error)
  }
}

/**
 * Returns the address of a file relative to the repository that it is in, as code scanning wants it; to the working
 * directory outside a repository, and as a file URL when it is elsewhere.
 */
function sourceUri(file: string, cwd: string): string {
  const root = repositoryRoot(cwd)
  const path = resolve(cwd, file)
  const within = relative(root, path)
  if (within.startsWith('..') || isAbsolute(within)) return pathToFileURL(path).href
  return within.split(sep).map(encodeURIComponent).join('/')
}

function repositoryRoot(cwd: string): string {
  for (let folder = cwd; ; folder = dirname(folder)) {
    if (existsSync(join(folder, '.git'))) return folder
    if (folder === dirname(folder)) return cwd
  }
}

/** Passes a run that has ended to the reporters. Throws CliError. */
export async function reportRun(
  context: CommandContext,
  flags: ReportFlags,
  result: RunResult,
  own: OwnReporters = {},
): Promise<void> {
  await replay(await createReporter(context, flags, own), result)
}

/**
 * Passes a run that has ended to the reporters of a command that has an output of its own: none without `--reporter`,
 * and in another format than text only those with a file. Returns whether the command prints its own output.
 */
export async function reportBeside(context: CommandContext, flags: ReportFlags, result: RunResult): Promise<boolean> {
  const given = flags.reporter ?? []
  const isText = context.out.format === 'text'
  const specs = isText ? given : given.filter(hasFile)
  if (specs.length > 0) await replay(await openReporters(context, { ...flags, reporter: specs }), result)
  else if (flags.compareWith !== undefined) await noteChanges(context, flags.compareWith, result)
  return !isText || given.length === 0
}

async function noteChanges({ system, out }: CommandContext, file: string, { cases }: RunResult): Promise<void> {
  const { changesText, compareRuns } = await import('#qa/report/changes.ts')
  const changes = compareRuns(await readEarlier(system, file), cases)
  out.note(`compared with ${changes.earlier}: ${changesText(changes)}`)
}

async function replay(reporter: Reporter, result: RunResult): Promise<void> {
  const { target, cases, svc_version, started_at_ms } = result
  try {
    await reporter.start?.({ target, cases: cases.length, svc_version, started_at_ms })
    for (const each of cases) await reporter.case?.(each)
    await reporter.end?.(result)
  } catch (error) {
    throw qaFailure(error)
  }
}

function createSink(stream: SystemStream, paint: CommandContext['out']['style']) {
  return {
    write: (text: string) => stream.write(text),
    is_terminal: stream.is_terminal,
    get columns() {
      return stream.columns
    },
    paint,
  }
}
