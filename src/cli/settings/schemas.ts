/** The schemas of svc.config.json and profiles.json. Loaded only if there is such a file, or one is written. */

import { stat } from 'node:fs/promises'
import { z } from 'zod'
import { describeRequirement } from '#contract/errors.ts'
import { readErrorCode } from '#foundation/system-error.ts'
import { buildTable } from '#foundation/table-entry.ts'
import { readTextFile } from '#foundation/text-file.ts'
import { CliError } from '#text/cli-error.ts'
import { parseUserJson, readFailure } from '../run/user-file.ts'
import { settingRules } from './settings.ts'
import { StartSection } from './start-options.ts'
import { type FileSettingName, fileSettingNames, outputFormats, settingsTable } from './table.ts'

const fileShape = buildTable(fileSettingNames, (name) =>
  settingSchema(name).optional().describe(settingsTable[name].description),
)

/** One profile of profiles.json. */
const Profile = z.strictObject(fileShape)

export const ConfigFile = z.strictObject({
  $schema: z.string().optional(),
  profile: z.string().optional(),
  ...fileShape,
  sandbox: StartSection.optional().describe('options of svc start; its flags override them'),
})
export type ConfigFile = z.infer<typeof ConfigFile>

export const ProfilesFile = z.strictObject({ current: z.string().optional(), profiles: z.record(z.string(), Profile) })
export type ProfilesFile = z.infer<typeof ProfilesFile>

/** A config file that is about to be changed: its fields can contain anything. */
export const AnyFields = z.record(z.string(), z.unknown())
/** A profiles.json that is about to be changed: its profiles can contain anything. */
export const AnyProfiles = z.looseObject({
  current: z.string().optional(),
  profiles: z.record(z.string(), AnyFields),
})

/** Returns the JSON schema of svc.config.json. */
export function configFileSchema() {
  return z.toJSONSchema(ConfigFile, { io: 'input' })
}

/** Returns everything that is wrong with a file, as `field: problem`; null when there is no such file. */
export async function problemsIn(path: string, schema: z.ZodType): Promise<string[] | null> {
  try {
    const value = await readJson(path, z.unknown())
    return value === null ? null : (schema.safeParse(value).error?.issues ?? []).map(describeIssue)
  } catch (error) {
    if (error instanceof CliError) return [error.message]
    throw error
  }
}

/** Returns a JSON file parsed with its schema, or null when there is none. Throws CliError if the schema rejects it. */
export async function readJson<S extends z.ZodType>(path: string, schema: S): Promise<z.output<S> | null> {
  const text = await readText(path)
  return text === null
    ? null
    : checkFile(path, await parseUserJson(text, path, { hint: 'Correct it there. See svc help settings.' }), schema)
}

/** Parses the content of a file. Throws CliError with the first problem. */
export function checkFile<S extends z.ZodType>(path: string, value: unknown, schema: S): z.output<S> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const where = [path, ...(issue?.path.length ? [issue.path.join('.')] : [])].join(', ')
  throw new CliError('usage', 'file_invalid', `${where}: ${describeRequirement(issue)}.`, 'See svc help settings.')
}

/** Returns the schema of a setting: its rule, in a form that editors understand. */
function settingSchema(name: FileSettingName): z.ZodType<string> {
  const { pattern, problem } = settingRules[name]
  if (name === 'base_url') return z.url({ protocol: /^https?$/, error: problem })
  return name === 'output' ? z.enum(outputFormats) : z.string().regex(pattern, problem)
}

function describeIssue(issue: z.core.$ZodIssue): string {
  return [issue.path.join('.'), describeRequirement(issue)].filter((part) => part !== '').join(': ')
}

async function readText(path: string): Promise<string | null> {
  try {
    const info = await stat(path)
    // A named pipe has no end until something writes to it. A shell's pipe, `--config <(...)`, is in /dev/fd or /proc.
    if (!(info.isFile() || info.isDirectory() || /^\/(dev\/(fd\/|std)|proc\/)/.test(path)))
      throw new CliError('usage', 'file_unreadable', `${path} is not a regular file.`)
    return await readTextFile(path)
  } catch (error) {
    const code = readErrorCode(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    throw readFailure(error, path)
  }
}
