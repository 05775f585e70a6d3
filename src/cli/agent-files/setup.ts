/**
 * What `svc agent setup` does to a project, as a plan: the skill, an entry in each file of MCP servers, and a record of
 * both beside the skill, by which a later run updates and `--remove` takes away exactly what was written. What somebody
 * has changed since is left alone.
 */
import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '#foundation/json.ts'
import { CliError } from '#text/cli-error.ts'
import { type CodingAgent, codingAgents, serverEntry } from './coding-agents.ts'
import { addEntry, JsonFileError, readEntry, replaceEntry } from './json-entry.ts'
import { planBlocks } from './marked-block.ts'
import { checksum, keep, leave, type Plan, type PlannedFile } from './plan.ts'
import type { ProjectFiles } from './project-files.ts'
import { findRecord, type Record, type RecordedEntry, recordName, skillName, writeRecord } from './record.ts'

/** The name of the server in the files of agents. */
const serverName = 'svc'

interface Setup {
  project: ProjectFiles
  agents: readonly CodingAgent[]
  /** The text of the skill, and of the block for files of instructions. */
  skill: string
  block: string
  version: string
  /** How commands begin: `npx`, `--no`, `svc-sandbox`. */
  words: readonly string[]
}

/** Returns the agents that a project shows, other than by what svc wrote, and those that svc wrote it for. */
export function findAgents(project: Pick<ProjectFiles, 'has' | 'read'>): CodingAgent[] {
  const { agents = [], folders = [], entries = {} } = findRecord(project)?.record ?? {}
  const isOwn = (path: string) => folders.includes(path) || entries[path]?.made === 'file'
  return codingAgents.filter(
    ({ name, signs }) => agents.includes(name) || signs.some((sign) => project.has(sign) && !isOwn(sign)),
  )
}

/** Returns what to write for agents. Throws CliError when a file of theirs cannot be read, or is no JSON. */
export function planSetup(setup: Setup): Plan {
  const { project, agents, version } = setup
  const before = findRecord(project)
  const folders = [...new Set(agents.map(({ skills }) => `${skills}/${skillName}`))]
  const skills = folders.map((folder) => planSkill(setup, `${folder}/SKILL.md`, before?.record))
  const servers = new Map(agents.map((agent) => [chooseFile(project, agent), agent]))
  const entries = [...servers].map(
    ([
      file,
      {
        servers: { key, form },
      },
    ]) => {
      const place = { path: file, key, value: serverEntry(form, setup.words) }
      return planEntry(project, place, before?.record.entries[file])
    },
  )
  const blocks = planBlocks(project, setup.block, before?.record.blocks ?? {})
  const planned = [...[...skills, ...entries].map(({ file }) => file), ...blocks.files]
  const path = before?.path ?? `${folders[0]}/${recordName}`
  const created = [path, ...planned.map((file) => file.path)].flatMap((file) => project.missingFolders(file))
  const record: Record = {
    version,
    agents: [...new Set([...(before?.record.agents ?? []), ...agents.map(({ name }) => name)])].toSorted(),
    files: { ...before?.record.files, ...Object.fromEntries(skills.flatMap(({ recorded }) => recorded)) },
    entries: { ...before?.record.entries, ...Object.fromEntries(entries.flatMap(({ recorded }) => recorded)) },
    blocks: { ...before?.record.blocks, ...blocks.recorded },
    folders: [...new Set([...(before?.record.folders ?? []), ...created])],
  }
  if (Object.keys(record.files).length + Object.keys(record.entries).length === 0)
    return { files: planned, folders: [] }
  return { files: [...planned, planRecord(project, path, record)], folders: [] }
}

/** A file of the plan, and what the record has of it. */
interface Planned<Recorded> {
  file: PlannedFile
  recorded: readonly (readonly [path: string, Recorded])[]
}

function planSkill({ project, skill }: Setup, path: string, before: Record | undefined): Planned<string> {
  const what = 'the skill'
  const text = project.read(path)
  const sum = checksum(skill)
  if (text === null)
    return { file: { path, action: 'create', what, why: null, content: skill }, recorded: [[path, sum]] }
  if (text === skill) return { file: keep(path, what), recorded: [[path, sum]] }
  const isOwn = before?.files[path] === checksum(text)
  if (isOwn) return { file: { path, action: 'update', what, why: null, content: skill }, recorded: [[path, sum]] }
  const why =
    before?.files[path] === undefined ? 'svc agent setup did not write it' : 'it was changed since svc wrote it'
  return { file: leave(path, what, why), recorded: [] }
}

/** Returns the file of servers that a project has, or else the usual one. */
function chooseFile(project: ProjectFiles, { servers: { files } }: CodingAgent): string {
  return files.find((file) => project.has(file)) ?? files[0]!
}

/** Where an entry belongs. */
interface Place {
  path: string
  /** The object of servers. */
  key: string
  value: JsonObject
}

function planEntry(
  project: ProjectFiles,
  { path, key, value }: Place,
  recorded?: RecordedEntry,
): Planned<RecordedEntry> {
  const what = `the MCP server ${serverName}`
  const text = project.read(path)
  const write = (action: 'create' | 'update', content: string, entry: RecordedEntry): Planned<RecordedEntry> => {
    return { file: { path, action, what, why: null, content }, recorded: [[path, entry]] }
  }
  if (text === null) {
    const content = `${JSON.stringify({ [key]: { [serverName]: value } }, null, 2)}\n`
    return write('create', content, { key, value, made: 'file', added_comma: false })
  }
  return refuseBroken(path, () => {
    const present = readEntry(text, [key, serverName])
    if (present === undefined) {
      const made = readEntry(text, [key]) === undefined ? 'key' : 'entry'
      const added =
        made === 'key' ? addEntry(text, [], key, { [serverName]: value }) : addEntry(text, [key], serverName, value)
      return write('update', added.text, { key, value, made, added_comma: added.added_comma })
    }
    if (isDeepStrictEqual(present, value)) return { file: keep(path, what), recorded: [] }
    if (recorded !== undefined && isDeepStrictEqual(present, recorded.value)) {
      return write('update', replaceEntry(text, [key, serverName], value), { ...recorded, value })
    }
    return { file: leave(path, what, `its ${serverName} has another command`), recorded: [] }
  })
}

function planRecord(project: ProjectFiles, path: string, record: Record): PlannedFile {
  const what = 'the record for --remove'
  const text = project.read(path)
  const content = writeRecord(record)
  if (text === content) return keep(path, what)
  return { path, action: text === null ? 'create' : 'update', what, why: null, content }
}

/** Runs what reads a file of an agent. A file that is not as it should be stops the setup before anything is written. */
export function refuseBroken<Result>(path: string, read: () => Result): Result {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof JsonFileError)) throw error
    const hint = 'Correct it, then run this again. Nothing was changed.'
    throw new CliError('usage', 'file_invalid', `${path} cannot be changed: ${error.message.replace(/\.$/, '')}.`, hint)
  }
}
