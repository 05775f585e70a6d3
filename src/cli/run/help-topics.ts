/** The tables of `svc help TOPIC`. */

import { exitCodes } from '#text/cli-error.ts'
import { type Column, tableLines } from '#text/table.ts'
import type { Style } from '#text/terminal.ts'
import { hangingLines } from '#text/text.ts'
import { settingNames, settingsTable } from '../settings/table.ts'

/** The tables of `svc help TOPIC`, by topic. */
export const topics: Readonly<Record<string, (style: Style) => Promise<string[]>>> = {
  'exit-codes': exitCodesTopic,
  settings: settingsTopic,
}

/** Computed from the contract's errors, so that the two cannot differ. */
async function exitCodesTopic(style: Style): Promise<string[]> {
  const { errorCodes } = await import('#contract/error-codes.ts')
  const rows = Object.entries(exitCodes).map(([category, { exit_code, meaning }]) => ({ category, exit_code, meaning }))
  const errors = Object.entries(errorCodes).map(([error, { status, exit_code, summary }]) => ({
    error,
    status,
    exit_code,
    summary,
  }))
  return [
    ...tableLines(exitColumns, rows, style),
    '',
    'Errors of the API, and the exit code of each:',
    ...tableLines(errorColumns, errors, style),
  ]
}

const exitColumns: readonly Column[] = [
  { name: 'exit', field: 'exit_code' },
  { name: 'category' },
  { name: 'meaning', kind: 'prose' },
]

const errorColumns: readonly Column[] = [
  { name: 'status' },
  { name: 'error' },
  { name: 'exit', field: 'exit_code' },
  { name: 'meaning', field: 'summary', kind: 'prose' },
]

async function settingsTopic(style: Style): Promise<string[]> {
  const prose = (text: string) => hangingLines('', text, style.columns)
  const rows = settingNames.map((name) => {
    const { flag, env, isFileSetting, description } = settingsTable[name]
    return { flag: flag ?? '-', env, file: isFileSetting ? name : '-', description }
  })
  return [
    ...prose(
      'A setting is taken from the first of these that has it: flag, environment, svc.config.json, profile, running sandbox, default. In a file it has the name of the flag, with _ for -: base_url. SVC_HOME, --profile and --config cannot be set in a file.',
    ),
    '',
    ...tableLines(settingColumns, rows, style),
    '',
    ...prose('Text longer than the terminal goes to SVC_PAGER, PAGER or less; --no-pager prints it directly.'),
    ...prose('SVC_STRICT=1 starts every sandbox as svc start --strict does.'),
    ...prose('--json is short for -o json. -q prints no notes. --no-input never asks.'),
    ...prose('--color auto, always or never; NO_COLOR and FORCE_COLOR are respected too.'),
  ]
}

const settingColumns: readonly Column[] = [
  { name: 'flag' },
  { name: 'environment', field: 'env' },
  { name: 'file', rank: 2 },
  { name: 'what', field: 'description', kind: 'prose' },
]
