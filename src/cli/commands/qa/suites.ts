/** Suites by name or file, loading them, and `svc qa list`, `show` and `validate`. */
import { resolve } from 'node:path'
import { Argument, Option } from 'commander'
import type { Command, CommandContext, CommandInput } from '#cli/run/command.ts'
import type { PlannedCase } from '#qa/run/plan.ts'
import type { LoadedSuite } from '#qa/suite/schema.ts'
import { CliError } from '#text/cli-error.ts'
import { type Column, paintDim, tableLines } from '#text/table.ts'
import { plural } from '#text/text.ts'

export const suitesArgument = new Argument(
  '[suites...]',
  'suite files, or names of built-in suites; default: every built-in suite',
)

/** The suites that the command line names. */
export function suiteNames({ args }: CommandInput): string[] {
  return args.flat().filter((name) => name !== undefined)
}

/** Returns suites by name or file, every built-in one when none is named. Throws CliError with every problem found. */
export async function loadSuites({ system }: CommandContext, names: readonly string[]): Promise<LoadedSuite[]> {
  const { builtinNames, loadSuites } = await import('#qa/suite/builtin.ts')
  try {
    return loadSuites(names.length === 0 ? builtinNames() : names, (file) => resolve(system.cwd, file))
  } catch (error) {
    throw await suiteFailure(error)
  }
}

const suiteColumns: readonly Column[] = [
  { name: 'suite', kind: 'id' },
  { name: 'cases' },
  { name: 'title', least: 30 },
  { name: 'tags', rank: 2, paint: paintDim },
]
const caseColumns: readonly Column[] = [
  { name: 'case', field: 'id', least: 40 },
  { name: 'line', rank: 2 },
  { name: 'needs', least: 8 },
  { name: 'tags', rank: 3, paint: paintDim },
]

export const list: Command = {
  name: 'list',
  summary: 'List suites with their cases and tags',
  details: 'Lists the built-in suites; with names or files, their cases.',
  arguments: [suitesArgument],
  examples: ['qa list', 'qa list formats -o json'],
  tables: [suiteColumns, caseColumns],
  hasRows: true,
  async run(context, input) {
    const names = suiteNames(input)
    const { expand, needsBrowser } = await import('#qa/run/plan.ts')
    const items = (await loadSuites(context, names)).map((suite) => ({
      suite: suite.name,
      title: suite.title,
      file: suite.file,
      tags: [...new Set(suite.cases.flatMap(({ tags }) => tags))],
      cases: expand([suite]).map((planned) => describeCase(planned, needsBrowser(planned))),
    }))
    context.out.list({ items }, items, (style) => {
      if (names.length === 0) {
        const rows = items.map((item) => ({ ...item, cases: item.cases.length }))
        return tableLines(suiteColumns, rows, style)
      }
      return items.flatMap(({ cases }) => tableLines(caseColumns, cases, style))
    })
    return 0
  },
}

export const show: Command = {
  name: 'show',
  summary: 'Print the source of a suite, or of one case',
  details: 'To start your own suite: svc qa show formats > mine.yaml',
  arguments: [new Argument('<suite-or-case>', 'name or file of a suite, or the id of a case: formats/NAME')],
  examples: ['qa show formats', "qa show 'consent/consent does not apply to another session'"],
  argumentHint: async () => {
    const { builtinNames } = await import('#qa/suite/builtin.ts')
    return `Built-in suites: ${builtinNames().join(', ')}. To list the cases of one: svc qa list NAME`
  },
  async run({ system, out }, { args }) {
    const { showText } = await import('#qa/suite/builtin.ts')
    try {
      const text = showText(String(args[0]), (file) => resolve(system.cwd, file))
      out.data({ text }, () => text.trimEnd().split('\n'))
    } catch (error) {
      throw await suiteFailure(error)
    }
    return 0
  },
}

export const validate: Command = {
  name: 'validate',
  summary: 'Check suite files without running them',
  details:
    'Reports every problem with its line and column; exit code 2 if there is one. With --schema: prints the JSON schema of suites, for an editor or another validator.',
  arguments: [new Argument('[suites...]', 'suite files, or names of built-in suites')],
  options: [new Option('--schema', 'print the JSON schema of suites instead')],
  examples: ['qa validate formats', 'qa validate formats errors -o json', 'qa validate --schema'],
  async run(context, input) {
    const names = suiteNames(input)
    if (names.length > 0 === (input.options.schema === true)) {
      const message = names.length > 0 ? '--schema takes no suites.' : 'Name the suites to check.'
      throw new CliError(
        'usage',
        'suites_missing',
        message,
        'Try: svc qa validate shop.yaml, or svc qa validate --schema',
      )
    }
    if (input.options.schema === true) {
      const { qaSuiteSchema } = await import('#qa/suite/schema.ts')
      const schema = qaSuiteSchema()
      context.out.data(schema, () => JSON.stringify(schema, null, 2).split('\n'))
      return 0
    }
    const { expand } = await import('#qa/run/plan.ts')
    const loaded = await loadSuites(context, names)
    const items = loaded.map((suite) => ({ file: suite.file, suite: suite.name, cases: expand([suite]).length }))
    context.out.list({ items }, items, () => items.map(({ file, cases }) => `${file}: valid, ${plural(cases, 'case')}`))
    return 0
  },
}

/** Returns the problems of a file as a usage error, any other error unchanged. */
export async function suiteFailure(
  error: unknown,
  hint = 'For an example of a suite: svc qa show formats',
): Promise<unknown> {
  const { SuiteError } = await import('#yaml/problems.ts')
  if (!(error instanceof SuiteError)) return error
  const count = error.problems.length
  const head = count === 1 ? '' : `${count} problems:\n`
  return new CliError('usage', 'suite_invalid', head + error.message, hint)
}

function describeCase({ id, loaded, matrix, needs }: PlannedCase, browser: boolean) {
  const names = [...new Set(needs.map(({ need }) => need))]
  return { id, line: loaded.place.line, tags: loaded.tags, matrix, needs: names, browser }
}
