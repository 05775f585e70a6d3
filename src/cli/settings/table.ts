/**
 * The settings as plain data: their environment variables, flags and descriptions. Nothing is imported here, so that a
 * command line can be parsed, and its help printed, without loading schemas.
 */

import { tableNames } from '#foundation/table-entry.ts'
import type { ColorChoice, TimeChoice } from '#text/terminal.ts'

export const configFileName = 'svc.config.json'

export const outputFormats = ['text', 'json', 'jsonl', 'csv', 'tsv', 'none'] as const
export type OutputFormat = (typeof outputFormats)[number]

export const colorChoices = ['auto', 'always', 'never'] as const satisfies readonly ColorChoice[]

export const timeChoices = ['absolute', 'relative', 'ms'] as const satisfies readonly TimeChoice[]

interface SettingRow {
  env: string
  flag: string | null
  /** Whether svc.config.json and profiles may contain it. */
  isFileSetting: boolean
  description: string
}

export const settingsTable = {
  base_url: {
    env: 'SVC_BASE_URL',
    flag: '--base-url <url>',
    isFileSetting: true,
    description: 'service to call; default: the sandbox of this folder, else the only one that runs',
  },
  client_id: {
    env: 'SVC_CLIENT_ID',
    flag: '--client-id <id>',
    isFileSetting: true,
    description: 'project; default: the first project of the sandbox',
  },
  secret_key: {
    env: 'SVC_SECRET_KEY',
    flag: '--secret-key <key>',
    isFileSetting: true,
    description: "secret key or activation token; default: the sandbox project's test key",
  },
  publishable_key: {
    env: 'SVC_PUBLISHABLE_KEY',
    flag: '--publishable-key <key>',
    isFileSetting: true,
    description: "publishable key; default: the sandbox project's",
  },
  control_token: {
    env: 'SVC_CONTROL_TOKEN',
    flag: '--control-token <token>',
    isFileSetting: true,
    description:
      'token of the control plane, from svc team tokens create; default: the token of the sandbox on this computer',
  },
  origin: {
    env: 'SVC_ORIGIN',
    flag: '--origin <origin>',
    isFileSetting: true,
    description: "Origin header of browser requests; default: the project's first allowed origin",
  },
  output: {
    env: 'SVC_OUTPUT',
    flag: '-o, --output <format>',
    isFileSetting: true,
    description: 'text, json, jsonl, csv, tsv or none; default: text',
  },
  profile: {
    env: 'SVC_PROFILE',
    flag: '--profile <name>',
    isFileSetting: false,
    description: 'profile of profiles.json in the state directory',
  },
  config: {
    env: 'SVC_CONFIG',
    flag: '--config <file>',
    isFileSetting: false,
    description: 'config file; default: svc.config.json here or in a directory above',
  },
  home: {
    env: 'SVC_HOME',
    flag: null,
    isFileSetting: false,
    description: "state directory; default: the platform's, such as $XDG_STATE_HOME/svc",
  },
} as const satisfies Record<string, SettingRow>

export type SettingName = keyof typeof settingsTable
export const settingNames = tableNames(settingsTable)

/** The name of a setting that svc.config.json and profiles may hold. */
export type FileSettingName = {
  [Name in SettingName]: (typeof settingsTable)[Name]['isFileSetting'] extends true ? Name : never
}[SettingName]
export const fileSettingNames = settingNames.filter((name) => settingsTable[name].isFileSetting) as FileSettingName[]

/** Unchecked values by setting: a flag or a variable can contain anything. */
export type SettingValues = Partial<Record<SettingName, string | undefined>>

/** The settings that the command line gives. */
export type Flags = SettingValues & { allow_http?: boolean }
