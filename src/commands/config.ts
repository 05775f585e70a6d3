/** `svc config`: profiles.json in the state directory, and the svc.config.json of a project. */
import { access } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Argument, Option } from 'commander'
import { alignPairs, alignTable } from '../cli/output/text.ts'
import type { Command, Noun } from '../cli/run/command.ts'
import { CliError, exitCodes } from '../cli/run/errors.ts'
import type { Session } from '../cli/run/session.ts'
import {
  AnyFields,
  AnyProfiles,
  ConfigFile,
  checkFile,
  configFileName,
  configFileSchema,
  findConfig,
  ProfilesFile,
  problemsIn,
  profileNamed,
  profilesPath,
  readJson,
  readSettingFiles,
  writeJson,
} from '../cli/settings/files.ts'
import { checkSetting } from '../cli/settings/settings.ts'
import { environmentValues, type FileSettingName, fileSettingNames, type SettingName } from '../cli/settings/table.ts'

/** The profile that `config set` makes when there is none. */
const firstProfile = 'default'
/** Where the JSON schema of svc.config.json is in a project that has this package. */
const schemaInProject = './node_modules/svc/fixtures/svc.config.schema.json'

const nameArgument = () => new Argument('<name>', 'the setting').choices(fileSettingNames)
/** What `config set` writes: svc.config.json also says which profile its project uses. */
const writtenNames = [...fileSettingNames, 'profile'] as const

const list: Command = {
  name: 'list',
  summary: 'Show every setting, its value and where it comes from',
  details: 'Of a secret key only the beginning is shown; svc config get prints it in full.',
  examples: ['config list', 'config list -o json'],
  async run(session) {
    const { config, profiles, profile = null } = await readSettingFiles(session.host, session.flags)
    const shown = {
      settings: fileSettingNames.map((setting) => ({ ...settled(session, setting), setting })),
      config_file: config?.path ?? null,
      profiles_file: profiles.path,
      profile,
      profiles: Object.keys(profiles.values.profiles),
    }
    const settings = shown.settings.map((row) => (row.setting === 'secret_key' ? masked(row) : row))
    session.out.data({ ...shown, settings }, (style) => [
      ...alignTable(
        ['setting', 'value', 'from'],
        settings.map(({ setting, value, source }) => [setting, value, value === null ? '-' : source]),
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
    ])
    return 0
  },
}

const get: Command = {
  name: 'get',
  summary: 'Print the value of one setting',
  details: 'The value that commands use here: of a flag, the environment, svc.config.json, the profile or the sandbox.',
  arguments: [nameArgument()],
  examples: ['config get base_url', 'config get client_id -o json'],
  async run(session, { args }) {
    const setting = args[0] as FileSettingName
    const { value, source } = settled(session, setting)
    if (value === null) session.out.note(`${setting} is not set.`)
    session.out.data({ setting, value, source }, () => (value === null ? [] : [value]))
    return 0
  },
}

const set: Command = {
  name: 'set',
  summary: 'Write one setting into a profile, or into svc.config.json',
  details:
    'Into the profile that --profile names or that is in use; the first one is called default. An empty value removes the setting; - reads the value from stdin, which keeps a key out of the history of the shell.',
  arguments: [
    new Argument('<name>', 'the setting; profile with --local only').choices(writtenNames),
    new Argument('<value>', "the value; '' removes it, - reads stdin"),
  ],
  options: [new Option('--local', `write ${configFileName} of this project instead of a profile`)],
  acceptsInvalidSettings: true,
  examples: ['config set client_id proj_demo', 'config set base_url http://127.0.0.1:4010 --profile local'],
  async run(session, { args, options }) {
    const setting = args[0] as (typeof writtenNames)[number]
    if (setting === 'profile' && options.local !== true) {
      const hint =
        'Choose it for this machine: svc config use NAME. Or for this project: svc config set profile NAME --local'
      throw new CliError('usage', 'setting_misplaced', 'A profile does not hold the name of a profile.', hint)
    }
    const given = args[1] === '-' ? await readLine(session) : (args[1] ?? '')
    const value = given === '' ? undefined : checkSetting(setting, given, setting)
    const { path, where } = options.local
      ? await setInConfig(session, setting, value)
      : await setInProfile(session, setting, value)
    session.out.note(`${value === undefined ? 'Removed' : 'Set'} ${setting} in ${where}.`)
    session.out.data({ setting, file: path, removed: value === undefined }, () => [])
    return 0
  },
}

const use: Command = {
  name: 'use',
  summary: 'Choose the profile that commands use',
  details: 'A profile that --profile, SVC_PROFILE or svc.config.json names still wins over it.',
  arguments: [new Argument('<profile>', 'its name; svc config list shows all')],
  acceptsInvalidSettings: true,
  examples: ['config use local', 'config use default'],
  async run({ host, out }, { args }) {
    const name = args[0] ?? ''
    const path = profilesPath(host)
    const values = (await readJson(path, ProfilesFile)) ?? { profiles: {} }
    profileNamed(name, { path, values })
    await writeJson(path, { ...values, current: name })
    out.note(`Commands use the profile ${name} now.`)
    out.data({ profile: name, file: path }, () => [])
    return 0
  },
}

const validate: Command = {
  name: 'validate',
  summary: 'Check svc.config.json and the profiles',
  details: 'Names everything that is wrong, with exit code 2. --schema prints the JSON schema of svc.config.json.',
  options: [new Option('--schema', 'print the JSON schema instead')],
  acceptsInvalidSettings: true,
  examples: ['config validate', 'config validate --schema'],
  async run(session, { options }) {
    const { host, out, flags } = session
    if (options.schema) {
      const schema = configFileSchema()
      out.data(schema, () => JSON.stringify(schema, null, 2).split('\n'))
      return 0
    }
    const config = await findConfig(host, flags)
    const profiles = profilesPath(host)
    const checked = [
      ...(config === null ? [] : [{ file: config, problems: await problemsIn(config, ConfigFile) }]),
      { file: profiles, problems: await problemsIn(profiles, ProfilesFile) },
    ].flatMap(({ file, problems }) => {
      if (problems === null && file !== config) return []
      return { file, problems: problems ?? ['There is no such file.'] }
    })
    const isValid = checked.every(({ problems }) => problems.length === 0)
    const unknown = isValid ? await unknownProfile(session) : []
    const rows = [...checked.filter(({ file }) => !unknown.some((row) => row.file === file)), ...unknown].map(
      (row) => ({
        ...row,
        valid: row.problems.length === 0,
      }),
    )
    if (rows.length === 0) out.note(`There is no ${configFileName} here or above, and no profile.`)
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
  summary: 'Settings: profiles, svc.config.json, and what counts here',
  commands: [list, get, set, use, validate],
}

function settled({ settings }: Session, name: FileSettingName) {
  return { value: settings[name], source: settings.source[name] }
}

/** The kind of a key, `sk_test_...`, without the key. */
function masked<Row extends { value: string | null }>(row: Row): Row {
  return row.value === null ? row : { ...row, value: `${/^[a-z]+_[a-z]+_/.exec(row.value)?.[0] ?? ''}...` }
}

/** Writes into a profile. What the file holds is checked as it will be, so that a wrong value in it can be mended. */
async function setInProfile(session: Session, setting: SettingName, value: string | undefined) {
  const { host, flags } = session
  const path = profilesPath(host)
  const file = (await readJson(path, AnyProfiles)) ?? { profiles: {} }
  const named = flags.profile ?? environmentValues(host.env).profile
  const name = checkSetting('profile', named ?? file.current ?? firstProfile, 'profile')
  const profile = { ...(Object.hasOwn(file.profiles, name) ? file.profiles[name] : {}), [setting]: value }
  const current = file.current ?? (named === undefined ? name : undefined)
  const written = { ...file, current, profiles: { ...file.profiles, [name]: profile } }
  await writeJson(path, checkFile(path, written, ProfilesFile))
  return { path, where: `profile ${name} of ${path}` }
}

/** Writes into the nearest svc.config.json, or into a new one here. */
async function setInConfig({ host, flags }: Session, setting: SettingName, value: string | undefined) {
  const path = (await findConfig(host, flags)) ?? join(host.cwd, configFileName)
  const before = await readJson(path, AnyFields)
  const written = { ...(before ?? (await schemaReference(path))), [setting]: value }
  await writeJson(path, checkFile(path, written, ConfigFile), 0o644)
  return { path, where: path }
}

/** The `$schema` of a new file, where this package is installed beside it. */
async function schemaReference(path: string): Promise<{ $schema?: string }> {
  return access(join(dirname(path), schemaInProject)).then(
    () => ({ $schema: schemaInProject }),
    () => ({}),
  )
}

/** A profile that is named somewhere and is not there. */
async function unknownProfile({ host, flags }: Session): Promise<{ file: string; problems: string[] }[]> {
  const { profile, profiles } = await readSettingFiles(host, flags)
  if (profile === undefined || Object.hasOwn(profiles.values.profiles, profile)) return []
  return [{ file: profiles.path, problems: [`There is no profile ${profile}.`] }]
}

/** The first line of stdin. */
async function readLine({ host }: Session): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of host.stdin) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8').split(/\r?\n/)[0] ?? ''
}
