import { Option } from 'commander'
import { findEntry, tableNames } from '#foundation/table-entry.ts'
import type { ColorChoice, TimeChoice } from '#text/terminal.ts'
import type { OutputOptions } from '../output/output.ts'
import { colorChoices, type Flags, outputFormats, settingNames, settingsTable, timeChoices } from '../settings/table.ts'
import type { System } from './system.ts'

/** The output that the command line and the environment request. The settings files can still change it. */
export function outputOptions(common: CommonOptions, env: System['env']): Omit<OutputOptions, 'view'> {
  const wanted = common.settings.output ?? env.SVC_OUTPUT
  const { quiet, color, isInteractive, isPaged, filter, separated } = common
  return {
    format: outputFormats.find((format) => format === wanted) ?? 'text',
    quiet,
    color,
    isPaged: isInteractive && isPaged,
    filter: filter ?? null,
    separated,
  }
}

/** Options that every command takes. */
export interface CommonOptions {
  settings: Flags
  quiet: boolean
  color: ColorChoice
  /** Whether a command may ask questions on a terminal. */
  isInteractive: boolean
  /** Whether long text may go to a pager. */
  isPaged: boolean
  /** How times are shown; null without the flag. */
  time: TimeChoice | null
  /** The transformation of the JSON: `--jq`. */
  filter: OutputOptions['filter']
  /** How csv is written; undefined without a flag for it. */
  separated: OutputOptions['separated']
}

/** Returns the options that every command takes: for settings and for output. */
export function commonOptions(): Option[] {
  const settings = settingNames.flatMap((name) => {
    const { flag, description } = settingsTable[name]
    return flag === null ? [] : [new Option(flag, description)]
  })
  return [
    ...settings,
    new Option('--json', 'short for -o json'),
    new Option('--allow-http', 'also send keys without TLS beyond this computer'),
    new Option('--jq <expression>', 'filter the JSON with jq: .items[].slot_id'),
    new Option('--time <form>', 'show times as 12:03:41, as 2m ago, or in milliseconds')
      .choices(timeChoices)
      .argParser(String),
    new Option('--delimiter <character>', 'what separates the cells of -o csv')
      .choices(tableNames(delimiters))
      .argParser(String),
    new Option('--bom', 'begin -o csv with a byte order mark, by which spreadsheets know UTF-8'),
    new Option('-q, --quiet', 'print no notes on stderr'),
    new Option('--no-input', 'never ask, not even on a terminal'),
    new Option('--no-pager', 'print long text without a pager'),
    // Not checked by commander, which would stop before it has read the -o that determines how errors are reported.
    new Option('--color <when>', 'colour the output').choices(colorChoices).argParser(String).default('auto'),
  ]
}

/** The values of `--delimiter`. */
export const delimiters = { ',': ',', ';': ';', '|': '|', tab: '\t' } as const

export function choiceError(flags: string, value: string, choices: readonly string[]): string {
  return `option '${flags}' argument '${value}' is invalid. Allowed choices are ${choices.join(', ')}.`
}

export function readCommonOptions(options: Record<string, unknown>): CommonOptions {
  const settings: CommonOptions['settings'] = {}
  for (const name of settingNames) {
    const value = options[name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())]
    if (typeof value === 'string') settings[name] = value
  }
  return {
    settings: {
      ...settings,
      ...(options.json === true ? { output: 'json' } : {}),
      ...(options.allowHttp === true ? { allow_http: true } : {}),
    },
    quiet: options.quiet === true,
    color: options.color as ColorChoice,
    isInteractive: options.input !== false,
    isPaged: options.pager !== false,
    time: timeChoices.find((choice) => choice === options.time) ?? null,
    separated:
      options.bom === true || typeof options.delimiter === 'string'
        ? { bom: options.bom === true, delimiter: findEntry(delimiters, String(options.delimiter)) ?? ',' }
        : undefined,
    filter: typeof options.jq === 'string' ? options.jq : null,
  }
}
