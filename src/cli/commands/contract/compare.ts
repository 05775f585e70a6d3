/** `svc contract compare`: what a service said, field by field, against the sandbox or against what it said before. */
import { resolve } from 'node:path'
import { Argument, Option } from 'commander'
import { type Command, type CommandContext, type CommandInput, textOption } from '#cli/run/command.ts'
import type { CountedDifference, ExchangePair, ValuedDifference } from '#qa/contract-compare/findings.ts'
import type { CompareReport } from '#qa/contract-compare/report.ts'
import { CliError, exitCodes, nothingChecked } from '#text/cli-error.ts'
import { type Column, paintWord } from '#text/table.ts'
import { plural } from '#text/text.ts'
import { forceOption, writeAtomically } from '../files.ts'
import { browserPathOption } from '../qa/targets.ts'
import { runRecordedRenderer } from './renderer.ts'
import { type ComparedSides, openSides } from './sides.ts'

const columns: readonly Column[] = [
  { name: 'endpoint', kind: 'id' },
  { name: 'result', paint: paintWord },
  { name: 'compared' },
  { name: 'findings' },
]

export const compare: Command = {
  name: 'compare',
  summary: 'Compare recorded responses with the sandbox, field by field',
  details: [
    'FILE is a HAR file, of svc record, svc requests export, the network panel of a browser, or a proxy; entries that are not of this API are left out and counted. Its requests are sent in their order to the other side, by default to a sandbox that is started for it, with the identifiers and tokens that this side gives out. Two files are paired request by request. Two services are sent the requests of svc contract check.',
    'Identifiers, times, tokens, prices, addresses and creatives may differ, and so may what is decided, which is counted. Everything else is a finding: with its provenance, and for what is documented with who breaks the document. A service that breaks its document, or a sandbox that does, is exit code 5; other findings are only reported, unless --strict.',
    '--write-overrides FILE writes the findings as rules, for svc start --overrides FILE: review it like code. Compare with --overrides FILE to see only what is new. svc docs recordings has a daily job.',
  ].join('\n\n'),
  arguments: [new Argument('<file|url>', 'the service: a recording, or the base URL of a service')],
  options: [
    new Option(
      '--with <file|url>',
      'the other side, for a service also --base-url; default: a sandbox in memory, started for it',
    ),
    new Option('--overrides <file>', 'start that sandbox with these overrides'),
    new Option('--write-overrides <file>', 'write the findings as rules for svc start --overrides'),
    forceOption(),
    new Option('--strict', 'also fail on findings that are not documented'),
    new Option('--renderer', 'also run the render.js and the frames of the recording in a browser'),
    browserPathOption,
  ],
  formats: ['markdown'],
  tables: [columns],
  hasRows: true,
  examples: [
    'contract compare service.har',
    'contract compare service.har --write-overrides svc.overrides.json --force',
    'contract compare today.har --with yesterday.har -o markdown',
  ],
  run,
}

async function run(context: CommandContext, { args, options }: CommandInput): Promise<number> {
  const { out, flags } = context
  const { reportLines, reportMarkdown } = await import('#qa/contract-compare/report.ts')
  const { sides, ...compared } = await compareSides(context, args[0] ?? '', {
    with: chooseOther(textOption(options, 'with'), flags.base_url),
    overrides: textOption(options, 'overrides'),
  })
  const renderer =
    options.renderer === true ? await runRecordedRenderer(context, sides, textOption(options, 'browserPath')) : null
  const report: CompareReport = { ...compared, renderer }
  const result = summarizeComparison(report, options.strict === true)
  if (flags.output === 'markdown') out.document(`${reportMarkdown(report)}\n`, 'text/markdown')
  else out.list(result, result.findings, (style) => reportLines(report, columns, style))
  if (result.compared === 0) throw nothingCompared(report)
  out.note(describeResult(report))
  const file = textOption(options, 'writeOverrides')
  if (file !== undefined) await writeOverrides(context, file, { sides, overwrite: options.overwrite === true })
  return (result.ok ? exitCodes.ok : exitCodes.expectation).exit_code
}

/** Returns the other side: --base-url of the command line names a service, as --with does. */
function chooseOther(other: string | undefined, base_url: string | undefined): string | undefined {
  if (other === undefined || base_url === undefined) return other ?? base_url
  const hint = 'Leave out one of them.'
  throw new CliError('usage', 'option_conflict', '--with and --base-url both name the other side.', hint)
}

/** Resolves to what differs between two sides, but for the renderer. Throws CliError. */
async function compareSides(
  context: CommandContext,
  first: string,
  options: Parameters<typeof openSides>[2],
): Promise<Omit<CompareReport, 'renderer'> & { sides: ComparedSides }> {
  const { compareExchanges } = await import('#qa/contract-compare/findings.ts')
  const sides = await openSides(context, first, options)
  const { service, other, left_out } = sides
  const comparison = compareExchanges(sides.pairs)
  const { without_body } = comparison
  const lacking = without_body === 0 ? [] : [{ why: bodyMissing, count: without_body }]
  return { sides, service, other, not_compared: [...sides.not_compared, ...lacking], left_out, comparison }
}

const bodyMissing = 'a side has no body of the response: only status and headers were compared'

/** Returns a comparison as JSON has it. @param isStrict whether it also fails for what is not documented */
function summarizeComparison(report: CompareReport, isStrict: boolean) {
  const { service, other, comparison, not_compared, left_out, renderer } = report
  const { compared, endpoints, outcomes } = comparison
  const findings = comparison.findings.map(withoutValues)
  const isFailed = isStrict ? differs(report) : findings.some(breaksDocument)
  return { ok: !isFailed, service, other, compared, endpoints, findings, outcomes, not_compared, left_out, renderer }
}

/** Resolves to the result of a comparison of recordings, as JSON has it. Throws CliError, also when nothing was compared. */
export async function compareRecordings(
  context: CommandContext,
  file: string,
  { strict, ...others }: Parameters<typeof openSides>[2] & { strict: boolean },
): Promise<Omit<ReturnType<typeof summarizeComparison>, 'renderer'>> {
  const { sides: _, ...compared } = await compareSides(context, file, others)
  const report = { ...compared, renderer: null }
  const { renderer: __, ...result } = summarizeComparison(report, strict)
  if (result.compared === 0) throw nothingCompared(report)
  return result
}

function differs({ comparison, renderer }: CompareReport): boolean {
  return comparison.findings.length > 0 || renderer?.some((each) => each.differs.length > 0) === true
}

function breaksDocument({ weight, breaks }: CountedDifference): boolean {
  return weight === 'documented' && breaks !== 'neither'
}

function withoutValues({
  path: _,
  other_value: __,
  seen: ___,
  statuses: ____,
  ...finding
}: ValuedDifference): CountedDifference {
  return finding
}

function nothingCompared({ service, comparison, not_compared, left_out }: CompareReport): CliError {
  const { without_body } = comparison
  if (without_body > 0) {
    const message = `No response of ${service} was compared: ${plural(without_body, 'exchange')} without a body, of which only status and headers are known.`
    return nothingChecked(message, 'Record it with the contents of responses and without a cache: a 304 has no body.')
  }
  const hint =
    not_compared.length + left_out.length === 0
      ? 'The recording is empty.'
      : 'The list above says why, request by request.'
  return nothingChecked(`Nothing of ${service} was compared.`, hint)
}

function describeResult({ service, other, comparison: { compared, findings } }: CompareReport): string {
  const found = findings.length === 0 ? 'no difference' : plural(findings.length, 'difference')
  return `${service} with ${other}: ${plural(compared, 'exchange')} compared, ${found}.`
}

async function writeOverrides(
  context: CommandContext,
  file: string,
  { sides, overwrite }: { sides: { service: string; pairs: readonly ExchangePair[] }; overwrite: boolean },
): Promise<void> {
  const { createOverrides } = await import('#qa/contract-compare/overrides.ts')
  const { overrides, left } = createOverrides(sides.pairs)
  const path = resolve(context.system.cwd, file)
  const content = { $schema: schemaInProject, source: sides.service, overrides }
  await writeAtomically(context, path, lines(JSON.stringify(content, null, 2)), { overwrite })
  const { out, command_name } = context
  out.note(
    `Wrote ${path}, ${plural(overrides.length, 'rule')}. Review it, then: ${command_name} start --overrides ${file}`,
  )
  for (const { finding, why } of left) out.note(`No rule for ${finding.endpoint}: ${finding.what}: ${why}.`)
}

/** Where an editor finds the schema of the file in a project that has the package. */
const schemaInProject = './node_modules/svc-sandbox/fixtures/svc.overrides.schema.json'

async function* lines(text: string): AsyncGenerator<string> {
  yield `${text}\n`
}
