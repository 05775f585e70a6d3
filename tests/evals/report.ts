/** The report of a run: which tasks an agent passed with which help, and what was found. */
import type { AgentRun } from './agent.ts'
import { canConfine } from './confine.ts'
import type { Help, Offered } from './help.ts'

export interface Report {
  /** As it was given. */
  agent: string
  repeat: number
  offered: readonly Offered[]
  runs: readonly AgentRun[]
  /** Tasks that this computer cannot grade, each with what it lacks. */
  left_out: readonly string[]
  is_confined: boolean
}

export function createReport(options: Omit<Report, 'is_confined'>): Report {
  return { ...options, is_confined: canConfine() }
}

export function toMarkdown({ agent, repeat, offered, runs, left_out, is_confined }: Report): string {
  const helps = [...new Set(runs.map(({ help }) => help))]
  const names = [...new Set(runs.map(({ task }) => task))]
  const cell = (of: readonly AgentRun[]) => `${of.filter(({ verdict }) => verdict.passed).length}/${of.length}`
  const row = (name: string, of: readonly AgentRun[]) =>
    tableRow([name, ...helps.map((help) => cell(of.filter((run) => run.help === help)))])
  return [
    '# Agents, measured',
    '',
    `\`${agent.replaceAll('`', "'")}\`, each task ${repeat === 1 ? 'once' : `${repeat} times`} with each help: passed/runs.`,
    '',
    tableRow(['task', ...helps]),
    tableRow(['---', ...helps.map(() => '---:')]),
    ...names.map((name) =>
      row(
        name,
        runs.filter(({ task }) => task === name),
      ),
    ),
    row('all', runs),
    tableRow(['tokens offered, about', ...helps.map((help) => `${countTokens(offered, help)}`)]),
    '',
    '## Why runs failed',
    '',
    tableRow(['reason', 'runs']),
    tableRow(['---', '---:']),
    ...countBy(runs.flatMap(({ verdict }) => verdict.reasons.map(({ code }) => code))),
    '',
    '## Warnings of svc observe',
    '',
    tableRow(['rule', 'runs']),
    tableRow(['---', '---:']),
    ...countBy(runs.flatMap(({ verdict }) => verdict.warnings)),
    '',
    '## Runs',
    '',
    ...runs.map((run) => `- ${describeRun(run)}`),
    '',
    ...left_out.map((each) => `Left out: ${each}.`),
    is_confined
      ? 'Agents could write to their own folder alone.'
      : 'This computer has no namespaces: what agents wrote to the checkout was noticed, elsewhere not.',
    '',
  ].join('\n')
}

const countTokens = (offered: readonly Offered[], help: Help) => offered.find((each) => each.help === help)?.tokens ?? 0

const tableRow = (cells: readonly string[]) => `| ${cells.join(' | ')} |`

function countBy(names: readonly string[]): string[] {
  const counts = [...Map.groupBy(names, (name) => name)].map(([name, all]) => [name, all.length] as const)
  const rows = counts.toSorted(([, one], [, other]) => other - one).map(([name, count]) => tableRow([name, `${count}`]))
  return rows.length === 0 ? [tableRow(['none', '0'])] : rows
}

function describeRun({ task, help, took_s, limit, code, verdict }: AgentRun): string {
  const end = limit === null ? `exit code ${code}` : `ended by its limit of ${limit}`
  const why = verdict.reasons.map((reason) => `${reason.code}: ${reason.message.replace(/\s+/g, ' ')}`).join(' ')
  return `${task}, ${help}: ${verdict.passed ? 'passed' : 'failed'}, ${took_s.toFixed(0)} s, ${end}. ${why}`.trim()
}
