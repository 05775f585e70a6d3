/** `svc config`: profiles.json in the state directory, and the svc.config.json of a project. */

import { access } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Argument, Option } from 'commander'
import type { Command, CommandContext, CommandInput, Noun } from '#cli/run/command.ts'
import { readUserText } from '#cli/run/user-file.ts'
import {
  environmentValues,
  findConfig,
  profileNamed,
  profilesPath,
  readSettingFiles,
  writeConfig,
  writeJson,
} from '#cli/settings/files.ts'
import {
  AnyFields,
  AnyProfiles,
  ConfigFile,
  checkFile,
  configFileSchema,
  ProfilesFile,
  problemsIn,
  readJson,
} from '#cli/settings/schemas.ts'
import { checkSetting } from '#cli/settings/settings.ts'
import { configFileName, type FileSettingName, fileSettingNames, type SettingName } from '#cli/settings/table.ts'
import { CliError, exitCodes } from '#text/cli-error.ts'
import { type Column, paintDim, tableLines } from '#text/table.ts'
import type { Style } from '#text/terminal.ts'
import { alignPairs } from '#text/text.ts'

/** The profile that `config set` creates when there is none. */
const firstProfile = 'default'
/** The JSON schema of svc.config.json, relative to a project that has this package installed. */
const schemaInProject = './node_modules/svc-sandbox/fixtures/svc.config.schema.json'

const nameArgument = () => new Argument('<name>', 'the setting').choices(fileSettingNames)
/** Settings that `config set` writes. Only svc.config.json can name the profile of its project. */
const writtenNames = [...fileSettingNames, 'profile'] as const

const settingColumns: readonly Column[] = [
  { name: 'setting' },
  { name: 'value', least: 24 },
  { name: 'from', field: 'source', paint: paintDim },
]

const list: Command = {
  name: 'list',
  summary: 'Show every setting, its value and where it comes from',
  details: 'Shows only the beginning of a secret key; svc config get prints it in full.',
  examples: ['config list', 'config list -o json'],
  tables: [settingColumns],
  hasRows: true,
  async run(context) {
    const { config, profiles, profile = null } = await readSettingFiles(context.system, context.flags)
    const shown = {
      settings: fileSettingNames.map((setting) => ({ ...resolved(context, setting), setting })),
      config_file: config?.path ?? null,
      profiles_file: profiles.path,
      profile,
      profiles: Object.keys(profiles.values.profiles),
    }
    const settings = shown.settings.map((row) =>
      row.setting === 'secret_key' || row.setting === 'control_token' ? masked(row) : row,
    )
    const text = (style: Style) => [
      ...tableLines(
        settingColumns,
        settings.map((row) => ({ ...row, source: row.value === null ? '-' : row.source })),
        style,
      ),
      '',
      ...alignPairs(
        [
          ['config file', shown.config_file],
          ['profiles', `${shown.profiles.join(', ') || 'none'} (${shown.profiles_file})`],
          ['profile', profile],
        ],
        style,
      ),
    ]
    context.out.data({ ...shown, settings }, text, settings)
    return 0
  },
}

const get: Command = {
  name: 'get',
  summary: 'Print the value of one setting',
  details:
    'Prints the value that commands use here: from a flag, the environment, svc.config.json, the profile or the sandbox.',
  arguments: [nameArgument()],
  examples: ['config get base_url', 'config get client_id -o json'],
  async run(context, { args: [setting] }: CommandInput<Record<string, unknown>, readonly [FileSettingName]>) {
    const { value, source } = resolved(context, setting)
    if (value === null) context.out.note(`${setting} is not set.`)
    context.out.data({ setting, value, source }, () => (value === null ? [] : [value]))
    return 0
  },
}

const set: Command = {
  name: 'set',
  summary: 'Write one setting into a profile, or into svc.config.json',
  details:
    'Writes to the profile of --profile, or the one in use; the first profile is called default. An empty value removes the setting; - reads the value from stdin, which keeps a key out of the shell history.',
  arguments: [
    new Argument('<name>', 'the setting; profile with --local only').choices(writtenNames),
    new Argument('<value>', "the value; '' removes it, - reads stdin"),
  ],
  options: [new Option('--local', `write ${configFileName} of this project instead of a profile`)],
  acceptsInvalidSettings: true,
  examples: ['config set client_id proj_demo', 'config set base_url http://127.0.0.1:4010 --profile local'],
  async run(
    context,
    { args, options }: CommandInput<{ local?: true }, readonly [(typeof writtenNames)[number], string]>,
  ) {
    const [setting] = args
    if (setting === 'profile' && options.local !== true) {
      const hint =
        'Choose it for yourself: svc config use NAME. Or for this project: svc config set profile NAME --local'
      throw new CliError('usage', 'setting_misplaced', 'A profile cannot name a profile.', hint)
    }
    const text = args[1] === '-' ? await readLine(context) : args[1]
    const value = text === '' ? undefined : checkSetting(setting, text, setting)
    const { path, where } = options.local
      ? await setInConfig(context, setting, value)
      : await setInProfile(context, setting, value)
    context.out.note(`${value === undefined ? 'Removed' : 'Set'} ${setting} in ${where}.`)
    context.out.data({ setting, file: path, removed: value === undefined }, () => [])
    return 0
  },
}

const use: Command = {
  name: 'use',
  summary: 'Choose the profile that commands use, or none',
  details:
    '--profile, SVC_PROFILE and the profile in svc.config.json take precedence. With --none, commands use the running sandbox again, unless a flag, variable or file says otherwise.',
  arguments: [new Argument('[profile]', 'its name; svc config list shows all')],
  options: [new Option('--none', 'use no profile')],
  acceptsInvalidSettings: true,
  examples: ['config use local', 'config use default', 'config use --none'],
  async run(context, { args: [name], options }) {
    const { system, out } = context
    if ((name === undefined) !== (options.none === true)) {
      throw new CliError('usage', 'argument_missing', 'Name one profile, or give --none.', 'Profiles: svc config list')
    }
    if (name === undefined) return leaveProfile(context)
    const path = profilesPath(system)
    const values = (await readJson(path, ProfilesFile)) ?? { profiles: {} }
    profileNamed(name, { path, values })
    await writeJson(path, { ...values, current: name })
    out.note(`Commands now use the profile ${name}.`)
    out.data({ profile: name, file: path }, () => [])
    return 0
  },
}

/** The profile stays. */
async function leaveProfile({ system, out }: CommandContext): Promise<number> {
  const path = profilesPath(system)
  const { current = null, ...others } = (await readJson(path, AnyProfiles)) ?? { profiles: {} }
  if (current !== null) await writeJson(path, others)
  out.note(current === null ? 'No profile was in use.' : `Commands no longer use the profile ${current}.`)
  out.data({ profile: current, file: path }, () => [])
  return 0
}

const remove: Command = {
  name: 'delete',
  summary: 'Delete a profile with its settings and keys',
  details: 'If it was in use, no profile is in use afterwards.',
  arguments: [new Argument('<profile>', 'its name; svc config list shows all')],
  acceptsInvalidSettings: true,
  examples: ['config delete local', 'config delete default -o json'],
  async run({ system, out }, { args: [name = ''] }) {
    const path = profilesPath(system)
    const values = (await readJson(path, AnyProfiles)) ?? { profiles: {} }
    profileNamed(name, { path, values })
    const { [name]: _, ...profiles } = values.profiles
    const { current, ...others } = values
    await writeJson(path, { ...others, ...(current === name ? {} : { current }), profiles })
    out.note(`Deleted the profile ${name}.`)
    out.data({ profile: name, file: path }, () => [])
    return 0
  },
}

const validate: Command = {
  name: 'validate',
  summary: 'Check svc.config.json and the profiles',
  details: 'Reports every problem, with exit code 2. --schema prints the JSON schema of svc.config.json.',
  options: [new Option('--schema', 'print the JSON schema instead')],
  acceptsInvalidSettings: true,
  examples: ['config validate', 'config validate --schema'],
  async run(context, { options }) {
    const { out } = context
    if (options.schema) {
      const schema = configFileSchema()
      out.data(schema, () => JSON.stringify(schema, null, 2).split('\n'))
      return 0
    }
    const rows = await checkedFiles(context)
    if (rows.length === 0) out.note(`There is no ${configFileName} here or in a parent directory, and no profile.`)
    out.data(rows, (style) =>
      rows.flatMap(({ file, valid, problems }) => [
        `${valid ? style.green('valid') : style.red('wrong')}  ${file}`,
        ...problems.map((problem) => `  ${problem}`),
      ]),
    )
    return rows.every(({ valid }) => valid) ? 0 : exitCodes.usage.exit_code
  },
}

export const config: Noun = {
  summary: 'Read and write settings: profiles and svc.config.json',
  commands: [list, get, set, use, remove, validate],
}

function resolved({ settings }: CommandContext, name: FileSettingName) {
  return { value: settings[name], source: settings.source[name] }
}

/** Returns a key as `sk_test_...`. */
function masked<Row extends { value: string | null }>(row: Row): Row {
  return row.value === null ? row : { ...row, value: `${/^[a-z]+_[a-z]+_/.exec(row.value)?.[0] ?? ''}...` }
}

/** Writes into a profile. The file is checked with the new value, so that an invalid value in it can be replaced. */
async function setInProfile(context: CommandContext, setting: SettingName, value: string | undefined) {
  const { system, flags } = context
  const path = profilesPath(system)
  const file = (await readJson(path, AnyProfiles)) ?? { profiles: {} }
  const named = flags.profile ?? environmentValues(system.env).profile
  const name = checkSetting('profile', named ?? file.current ?? firstProfile, 'profile')
  const profile = { ...(Object.hasOwn(file.profiles, name) ? file.profiles[name] : {}), [setting]: value }
  const current = file.current ?? (named === undefined ? name : undefined)
  const written = { ...file, current, profiles: { ...file.profiles, [name]: profile } }
  await writeJson(path, checkFile(path, written, ProfilesFile))
  return { path, where: `profile ${name} of ${path}` }
}

/** Writes into the nearest svc.config.json, or creates one in this directory. */
async function setInConfig({ system, flags }: CommandContext, setting: SettingName, value: string | undefined) {
  const path = (await findConfig(system, flags)) ?? join(system.cwd, configFileName)
  const before = await readJson(path, AnyFields)
  const written = { ...(before ?? (await schemaReference(path))), [setting]: value }
  writeConfig(path, checkFile(path, written, ConfigFile))
  return { path, where: path }
}

/** Returns the `$schema` of a new file when this package is installed in its project. */
async function schemaReference(path: string): Promise<{ $schema?: string }> {
  return access(join(dirname(path), schemaInProject)).then(
    () => ({ $schema: schemaInProject }),
    () => ({}),
  )
}

/** Returns the problems of svc.config.json and of the profiles, if these files exist. */
async function checkedFiles({
  system,
  flags,
}: CommandContext): Promise<{ file: string; problems: string[]; valid: boolean }[]> {
  const config = await findConfig(system, flags)
  const profiles = profilesPath(system)
  const found = new Map<string, string[]>()
  if (config !== null) found.set(config, (await problemsIn(config, ConfigFile)) ?? ['No such file.'])
  const problems = await problemsIn(profiles, ProfilesFile)
  if (problems !== null) found.set(profiles, problems)
  if ([...found.values()].every((problems) => problems.length === 0)) {
    const { profile, profiles: file } = await readSettingFiles(system, flags)
    const isKnown = profile === undefined || Object.hasOwn(file.values.profiles, profile)
    if (!isKnown) found.set(file.path, [`There is no profile ${profile}.`])
  }
  return [...found].map(([file, problems]) => ({ file, problems, valid: problems.length === 0 }))
}

/** Reads the first line of stdin. */
async function readLine({ system }: CommandContext): Promise<string> {
  return (await readUserText(system, '-')).split(/\r?\n/)[0] ?? ''
}
