/**
 * The reporter for pull requests and job summaries: Markdown with the verdict first, always under 60 kB. Text that came
 * from outside stands in code spans, code blocks or `<code>`, where it is neither markup nor a mention.
 */

import { measuredTime } from '#foundation/duration.ts'
import { findEntry } from '#foundation/table-entry.ts'
import { oneLine, printable } from '#text/terminal.ts'
import { plural, sizeText } from '#text/text.ts'
import {
  type CaseResult,
  type Changes,
  countTotals,
  hasPassed,
  type Reporter,
  type RunResult,
  runProblems,
} from '../result.ts'
import { changeKinds, changesText } from './changes.ts'
import { exchangeLine, failureLines } from './failure.ts'
import { byteLength, codeBlock, codeSpan, countFitting, cutText, htmlCode, limitList } from './markdown-text.ts'
import {
  appliedText,
  bySuite,
  caseTitle,
  countReasons,
  countsText,
  type Destination,
  failureSentence,
  findReason,
  flakyCases,
  isOwnFinding,
  placeText,
  plain,
  targetText,
} from './text.ts'

/** GitHub refuses a comment of more than 65,536 characters. */
const maxBytes = 60_000
/** Bytes of each section. The failures have the rest. */
const sectionBytes = { head: 4_000, changes: 8_000, warnings: 6_000, others: 6_000, suites: 4_000 }
/** Bytes for failures that are only named, when not all fit in full. */
const namedBytes = 6_000
/** More lines than that are never within those bytes. */
const maxNamed = 600
/** Bytes of what one failure shows of its values, and of its command. */
const failureBytes = 4_000
const commandBytes = 4_000
/** What the cases of commands are, where they are not cases of a suite. */
const caseNouns: Readonly<Record<string, string>> = {
  observe: 'rule',
  'qa hosts': 'condition',
  'beacons lint': 'rule',
}

export function createMarkdownReporter({ write }: Destination): Reporter {
  return { end: (result) => write(renderMarkdown(result)) }
}

function renderMarkdown(result: RunResult): string {
  const head = headLines(result)
  const changes = result.changes === undefined ? [] : changeLines(result.changes)
  const end = [...warningLines(result), ...otherLines(result), ...suiteLines(result)]
  const used = byteLength([...head, ...changes, ...end])
  const lines = [...head, ...changes, ...failureSection(result, maxBytes - used - 100), ...end]
  return `${lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trimEnd()}\n`
}

function headLines(result: RunResult): string[] {
  const { cases, command, target, duration_ms, looked_at, observe_file } = result
  const totals = countTotals(cases)
  const problems = runProblems(result)
  const judged = totals.passed + totals.failed
  const warnings = warned(result).length
  const noun = findEntry(caseNouns, command)
  const counted = plural(cases.length, noun ?? 'case')
  const title =
    totals.failed > 0
      ? `${totals.failed} of ${counted} failed`
      : judged === 0
        ? 'nothing was checked'
        : problems.length > 0
          ? 'failed'
          : `passed${warnings === 0 ? '' : ` with ${plural(warnings, 'warning')}`}`
  const looked = [
    ...(looked_at === undefined ? [] : [codeSpan(looked_at)]),
    `${counted}${noun === undefined ? ` with ${plural(totals.checks, 'check')}` : ''}: ${countsText(totals)}`,
  ]
  return [
    `## ${hasPassed(result) ? '✅' : '❌'} svc ${command}: ${title}`,
    '',
    `Looked at ${looked.join('; ')}, in ${measuredTime(duration_ms)}.`,
    '',
    `Against ${codeSpan(targetText(target))}.`,
    ...(observe_file === undefined ? [] : ['', `By ${codeSpan(appliedText(observe_file))}.`]),
    ...limitList(
      problems.map((problem) => `- ❌ ${codeSpan(problem)}`),
      sectionBytes.head,
      'reasons',
    ),
  ]
}

function changeLines(changes: Changes): string[] {
  const groups = changeKinds.filter(([name]) => changes[name].length > 0)
  return [
    '',
    '### Changed against the last run',
    '',
    `${changesText(changes)}, compared with ${codeSpan(changes.earlier)}.`,
    ...groups.flatMap(([name, words]) => [
      ...limitList(
        changes[name].map((id) => `- ${words}: ${codeSpan(id)}`),
        sectionBytes.changes / groups.length,
        words,
      ),
    ]),
  ]
}

/** Returns failures in full as far as they fit, then as lines, then as a count. */
function failureSection({ cases }: RunResult, room: number): string[] {
  const failed = [...Map.groupBy(failedCases(cases), ({ id }) => id).values()]
  if (failed.length === 0) return []
  const heading = ['', `### ${plural(failed.length, 'failure')}`, '']
  const blocks = fittingBlocks(failed, room - byteLength(heading))
  if (blocks.length === failed.length) return [...heading, ...blocks]
  const shown = countFitting(blocks, room - byteLength(heading) - namedBytes - 300)
  const left = failed.slice(shown)
  const named = left.slice(0, maxNamed).map(([first]) => `- ${codeSpan(`${first!.suite} › ${caseTitle(first!)}`)}`)
  return [
    ...heading,
    `The first ${shown} are in full, and the other ${left.length} are not, because a comment is limited to 60 kB. \`--reporter html=qa.html\` has all of them.`,
    '',
    ...blocks.slice(0, shown),
    ...limitList(named, namedBytes, 'failures', left.length),
  ]
}

/** Returns the first blocks. Those that cannot fit are not built: a run may have thousands, each with a long difference. */
function fittingBlocks(failed: readonly (readonly CaseResult[])[], room: number): string[] {
  const blocks: string[] = []
  let left = room
  for (const attempts of failed) {
    const block = failureBlock(attempts)
    left -= byteLength([block])
    if (left < 0) break
    blocks.push(block)
  }
  return blocks
}

/** A block ends with a blank line: what follows is Markdown again. */
function failureBlock(attempts: readonly CaseResult[]): string {
  const first = attempts[0]!
  const others = attempts.slice(1).map(({ attempt }) => attempt)
  const commands = first.steps
    .filter(({ outcome }) => outcome === 'failed')
    .flatMap(({ exchanges }) => exchanges.slice(-1).map(({ curl }) => printable(curl)))
    .filter((curl) => curl !== '')
  const again = `Failed again in ${others.length === 1 ? 'attempt' : 'attempts'} ${others.slice(0, 20).join(', ')}.`
  return [
    `<details><summary>${htmlCode(`${first.suite} › ${caseTitle(first)}`)}: ${htmlCode(failureSentence(first))}</summary>`,
    '',
    ...codeBlock('text', cutText(detailLines(first).join('\n'), failureBytes)),
    ...(others.length === 0 ? [] : ['', again]),
    ...commands.slice(0, 1).flatMap((curl) => commandLines(curl, commands.length)),
    '',
    '</details>',
    '',
  ].join('\n')
}

/** Returns findings in their own words, and checks with what was expected and what was seen. */
function detailLines(item: CaseResult): string[] {
  const failed = item.steps.filter(({ outcome }) => outcome === 'failed')
  const isFinding = failed.every(
    (step) => step.checks.length > 0 && step.checks.every((check) => isOwnFinding(step, check)),
  )
  if (item.reason !== null || failed.length === 0 || !isFinding) return failureLines(item, plain, false).slice(1)
  return failed.flatMap(({ place, checks, exchanges }, index) => [
    ...(index === 0 ? [] : ['']),
    ...(place.line === 0 ? [] : [placeText(place)]),
    ...checks.flatMap(({ actual, hint }) => [
      printable(String(actual)),
      ...(hint === undefined ? [] : [printable(hint)]),
    ]),
    ...exchanges.map((exchange) => oneLine(exchangeLine(exchange))),
  ])
}

/** A command that is cut would do something else. */
function commandLines(curl: string, commands: number): string[] {
  const size = Buffer.byteLength(curl)
  const others = commands > 1 ? ['', `The commands of ${plural(commands - 1, 'other failed step')} are left out.`] : []
  if (size > commandBytes) {
    return [
      '',
      `The command that repeats it has ${sizeText(size)}, too long for here: \`--reporter html=qa.html\` has it.`,
      ...others,
    ]
  }
  return ['', 'Repeat it with:', '', ...codeBlock('sh', curl), ...others]
}

function warningLines(result: RunResult): string[] {
  const found = warned(result)
  if (found.length === 0) return []
  const lines = found.map(
    (item) =>
      `- ${codeSpan(`${item.suite} › ${caseTitle(item)}`)}: ${codeSpan((findReason(item) ?? '').replace(/^warning: /, ''))}`,
  )
  return ['', `### ${plural(found.length, 'warning')}`, ...limitList(lines, sectionBytes.warnings, 'warnings')]
}

/** Cases that were not judged, by reason, and those that passed only sometimes. */
function otherLines(result: RunResult): string[] {
  const counts = countTotals(result.cases)
  const unjudged = (['not_applicable', 'not_run'] as const).flatMap((outcome) =>
    countReasons(result.cases, outcome).map(
      ({ reason, count }) => `- ${count} ${outcome === 'not_run' ? 'not run' : 'not applicable'}: ${codeSpan(reason)}`,
    ),
  )
  const flaky = flakyCases(result).map(
    ({ id, failed, attempts }) => `- ${codeSpan(id)} failed in ${failed} of ${attempts} attempts`,
  )
  return [
    ...(flaky.length === 0 ? [] : ['', '### Not the same in every attempt', ...limitList(flaky, 2_000, 'cases')]),
    ...(unjudged.length === 0
      ? []
      : [
          '',
          `<details><summary>${counts.not_applicable + counts.not_run} not judged, and why</summary>`,
          ...limitList(unjudged, sectionBytes.others, 'reasons'),
          '',
          '</details>',
        ]),
  ]
}

function suiteLines({ cases }: RunResult): string[] {
  const suites = [...bySuite(cases)]
  if (suites.length < 2) return []
  const lines = suites.map(([name, own]) => {
    const totals = countTotals(own)
    return `- ${totals.failed > 0 ? '❌' : totals.passed > 0 ? '✅' : '➖'} ${codeSpan(name)}: ${countsText(totals)}`
  })
  return ['', '### Suites', ...limitList(lines, sectionBytes.suites, 'suites')]
}

function failedCases(cases: readonly CaseResult[]): CaseResult[] {
  return cases.filter(({ outcome }) => outcome === 'failed')
}

/** What passed with a reason passed with a warning. */
function warned({ cases }: RunResult): CaseResult[] {
  return cases.filter(({ outcome, reason }) => outcome === 'passed' && reason !== null)
}
