/** What `svc help TOPIC` prints. */
import { errorCodes } from '../../contract/errors.ts'
import type { Style } from '../output/style.ts'
import { alignTable } from '../output/text.ts'
import { settingNames, settingsTable } from '../settings/table.ts'
import { exitCodes } from './errors.ts'

export const topics: Readonly<Record<string, (style: Style) => string[]>> = {
  'exit-codes': exitCodesTopic,
  settings: settingsTopic,
}

/** One table with the contract's errors, so that the two cannot differ. */
function exitCodesTopic(style: Style): string[] {
  const rows = Object.entries(exitCodes).map(([category, { exit_code, meaning }]) => [exit_code, category, meaning])
  const errors = Object.entries(errorCodes).map(([code, { status, exit_code, summary }]) => [
    status,
    code,
    exit_code,
    summary,
  ])
  return [
    ...alignTable(['exit', 'category', 'meaning'], rows, style),
    '',
    'Errors of the API, and the exit code of each:',
    ...alignTable(['status', 'error', 'exit', 'meaning'], errors, style),
  ]
}

function settingsTopic(style: Style): string[] {
  const rows = settingNames.map((name) => {
    const { flag, env, isFileSetting, description } = settingsTable[name]
    return [flag ?? '-', env, isFileSetting ? name : '-', description]
  })
  return [
    'A setting is taken from the first of these that has it: flag, environment, svc.config.json, profile,',
    'running sandbox, default.',
    '',
    ...alignTable(['flag', 'environment', 'file', 'what'], rows, style),
    '',
    'A list longer than the terminal goes to SVC_PAGER, PAGER or less; --no-pager prints it directly.',
    '--json is short for -o json. -q prints no notes. --no-input never asks. --color auto|always|never; NO_COLOR and FORCE_COLOR count.',
  ]
}
