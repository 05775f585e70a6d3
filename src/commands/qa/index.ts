import { resolve } from 'node:path'
import { Argument } from 'commander'
import { alignTable } from '../../cli/output/text.ts'
import type { Command, CommandGroup } from '../../cli/run/command.ts'
import { CliError } from '../../cli/run/errors.ts'
import type { Session } from '../../cli/run/session.ts'
import type { PlannedCase } from '../../qa/run/plan.ts'
import type { LoadedSuite } from '../../qa/suite/schema.ts'
import { observe } from './observe.ts'
import { run } from './run.ts'

const suites = new Argument('[suites...]', 'suite files, or names of built-in suites; default: every built-in suite')

const list: Command = {
  name: 'list',
  summary: 'List suites with their cases and tags',
  details: 'Without names the built-in suites; with names or files their cases.',
  arguments: [suites],
  examples: ['qa list', 'qa list formats -o json'],
  async run(session, { args }) {
    const names = args.flat().filter((name) => name !== undefined)
    const { expand, needsBrowser } = await import('../../qa/run/plan.ts')
    const loaded = await load(session, names)
    const items = loaded.map((suite) => ({
      suite: suite.name,
      title: suite.title,
      file: suite.file,
      tags: [...new Set(suite.cases.flatMap(({ tags }) => tags))],
      cases: expand([suite]).map((planned) => describeCase(planned, needsBrowser(planned))),
    }))
    session.out.list({ items }, items, (style) =>
      names.length === 0
        ? alignTable(
            ['suite', 'cases', 'title', 'tags'],
            items.map(({ suite, cases, title, tags }) => [suite, cases.length, title, tags]),
            style,
          )
        : items.flatMap(({ cases }) => [
            ...alignTable(
              ['case', 'line', 'needs', 'tags'],
              cases.map(({ id, line, needs, tags }) => [id, line, needs, tags]),
              style,
            ),
          ]),
    )
    return 0
  },
}

const show: Command = {
  name: 'show',
  summary: 'Print a suite, or one case of it, as it is written',
  details: 'A place to start from: svc qa show formats > mine.yaml',
  arguments: [new Argument('<suite-or-case>', 'name or file of a suite, or the id of a case: formats/NAME')],
  examples: ['qa show formats', "qa show 'consent/another session is not bound by it'"],
  async run(session, { args }) {
    const { showText } = await import('../../qa/suite/builtin.ts')
    try {
      const text = showText(String(args[0]), (file) => resolve(session.host.cwd, file))
      session.out.data({ text }, () => text.trimEnd().split('\n'))
    } catch (error) {
      throw await suiteFailure(error)
    }
    return 0
  },
}

const validate: Command = {
  name: 'validate',
  summary: 'Check suite files without running them',
  details: 'Every problem is told with its line and column; exit code 2 when there is one.',
  arguments: [new Argument('<suites...>', 'suite files, or names of built-in suites')],
  examples: ['qa validate formats', 'qa validate formats errors -o json'],
  async run(session, { args }) {
    const { expand } = await import('../../qa/run/plan.ts')
    const loaded = await load(
      session,
      args.flat().filter((name) => name !== undefined),
    )
    const items = loaded.map((suite) => ({ file: suite.file, suite: suite.name, cases: expand([suite]).length }))
    session.out.list({ items }, items, () => items.map(({ file, cases }) => `${file}: good, ${cases} cases`))
    return 0
  },
}

export const qa: CommandGroup = {
  name: 'qa',
  summary: 'Scripted QA of the emulator, of an integration, of a service',
  commands: [run, observe, list, show, validate],
}

/** Suites by name or file; every built-in one when none is named. Throws CliError with everything that is wrong. */
export async function load(session: Session, names: readonly string[]): Promise<LoadedSuite[]> {
  const { builtinNames, loadSuites } = await import('../../qa/suite/builtin.ts')
  try {
    return loadSuites(names.length === 0 ? builtinNames() : names, (file) => resolve(session.host.cwd, file))
  } catch (error) {
    throw await suiteFailure(error)
  }
}

async function suiteFailure(error: unknown): Promise<unknown> {
  const { SuiteError } = await import('../../qa/suite/problems.ts')
  if (!(error instanceof SuiteError)) return error
  const count = error.problems.length
  const head = count === 1 ? '' : `${count} problems in suites:\n`
  return new CliError('usage', 'suite_invalid', head + error.message, 'What a suite may hold: svc qa show formats')
}

function describeCase({ id, loaded, matrix, needs }: PlannedCase, browser: boolean) {
  const wanted = [...new Set(needs.map(({ need }) => need))]
  return { id, line: loaded.place.line, tags: loaded.tags, matrix, needs: wanted, browser }
}
