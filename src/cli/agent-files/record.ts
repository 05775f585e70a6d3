/** The record of a setup: a file beside the skill, which is committed with it. */
import { z } from 'zod'
import type { Json } from '#foundation/json.ts'
import { parseJson } from '#foundation/json.ts'
import { CliError } from '#text/cli-error.ts'
import { codingAgents, instructionFiles } from './coding-agents.ts'
import type { ProjectFiles } from './project-files.ts'

export const skillName = 'svc-placements'
export const recordName = 'installed.json'

const RecordedEntry = z.object({
  /** The object of servers in the file. */
  key: z.string(),
  value: z.custom<Json>((value) => value !== undefined),
  /** What did not exist before: the file, the object of servers, or only the entry. */
  made: z.enum(['file', 'key', 'entry']),
  /** Whether a comma was added before it. */
  added_comma: z.boolean(),
})
export type RecordedEntry = z.infer<typeof RecordedEntry>

const Record = z.object({
  /** The version of svc that wrote it. */
  version: z.string(),
  /** The names of the agents that it was for. */
  agents: z.array(z.string()),
  /** Files that svc wrote as a whole, with their checksums. */
  files: z.record(z.string(), z.string()),
  /** Entries in files of agents. */
  entries: z.record(z.string(), RecordedEntry),
  /** Blocks in files of instructions, with their checksums. */
  blocks: z.record(z.string(), z.string()).default({}),
  /** Folders that did not exist before. */
  folders: z.array(z.string()),
})
export type Record = z.infer<typeof Record>

/** Returns the record of a project with its path, or null when there is none. Throws CliError when it is broken. */
export function findRecord(project: Pick<ProjectFiles, 'read'>): { path: string; record: Record } | null {
  for (const folder of new Set(codingAgents.map(({ skills }) => skills))) {
    const path = `${folder}/${skillName}/${recordName}`
    const text = project.read(path)
    if (text === null) continue
    const { data } = Record.safeParse(parseJson(text))
    if (data !== undefined && isWithin(data)) return { path, record: data }
    const hint = 'Restore it from your version control, or delete it: svc agent setup then leaves alone what is there.'
    throw new CliError('usage', 'file_invalid', `${path} is not a record of svc agent setup.`, hint)
  }
  return null
}

/** A record from elsewhere must not name files that no setup writes. */
function isWithin({ files, entries, blocks, folders }: Record): boolean {
  const skills = codingAgents.map((agent) => `${agent.skills}/${skillName}/SKILL.md`)
  const servers = codingAgents.flatMap((agent) => agent.servers.files)
  const parents = [...skills, ...servers].flatMap((path) =>
    path.split('/').map((_, index, steps) => steps.slice(0, index).join('/')),
  )
  return (
    Object.keys(files).every((path) => skills.includes(path)) &&
    Object.keys(entries).every((path) => servers.includes(path)) &&
    Object.keys(blocks).every((path) => instructionFiles.includes(path)) &&
    folders.every((path) => path !== '' && parents.includes(path))
  )
}

/** Returns a record as its file has it. */
export function writeRecord(record: Record): string {
  const about = 'Written by svc agent setup. To take everything away: svc agent setup --remove'
  return `${JSON.stringify({ about, ...record }, null, 2)}\n`
}
