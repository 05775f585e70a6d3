/** What `svc agent setup --remove` does to a project: it takes away what the record has, and nothing else. */
import { isDeepStrictEqual } from 'node:util'
import { readEntry, removeEntry } from './json-entry.ts'
import { planBlockRemoval } from './marked-block.ts'
import { checksum, keep, leave, type Plan, type PlannedFile } from './plan.ts'
import type { ProjectFiles } from './project-files.ts'
import { findRecord, type RecordedEntry } from './record.ts'
import { refuseBroken } from './setup.ts'

/** Returns what to take away; null when a project has no record of a setup. Throws CliError. */
export function planRemoval(project: ProjectFiles): Plan | null {
  const found = findRecord(project)
  if (found === null) return null
  const { path, record } = found
  return {
    files: [
      ...Object.entries(record.files).map(([file, sum]) => planFile(project, file, sum)),
      ...Object.entries(record.entries).map(([file, entry]) => planEntry(project, file, entry)),
      ...planBlockRemoval(project, record.blocks),
      { path, action: 'delete', what: 'the record', why: null, content: null },
    ],
    folders: record.folders.toSorted((one, other) => other.length - one.length),
  }
}

function planFile(project: ProjectFiles, path: string, sum: string): PlannedFile {
  const what = 'the skill'
  const text = project.read(path)
  if (text === null) return keep(path, `${what}, which is gone`)
  if (checksum(text) !== sum) return leave(path, what, 'it was changed since svc wrote it')
  return { path, action: 'delete', what, why: null, content: null }
}

function planEntry(project: ProjectFiles, path: string, entry: RecordedEntry): PlannedFile {
  const what = 'the MCP server svc'
  const { key, value, made, added_comma } = entry
  const text = project.read(path)
  const gone = keep(path, `${what}, which is gone`)
  if (text === null) return gone
  return refuseBroken(path, () => {
    const servers = readEntry(text, [key])
    const present = readEntry(text, [key, 'svc'])
    if (present === undefined) return gone
    if (!isDeepStrictEqual(present, value)) return leave(path, what, 'its svc was changed since')
    if (made === 'file' && isDeepStrictEqual(readEntry(text, []), { [key]: { svc: value } })) {
      return { path, action: 'delete', what, why: null, content: null }
    }
    const isAlone = made !== 'entry' && isDeepStrictEqual(servers, { svc: value })
    const content = removeEntry(text, isAlone ? [key] : [key, 'svc'], made === 'file' ? true : added_comma)
    return { path, action: 'update', what, why: null, content }
  })
}
