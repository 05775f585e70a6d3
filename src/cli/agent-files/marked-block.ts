/**
 * The block that `svc agent setup` puts into the files of instructions that a project has, between two marks. What is around it
 * belongs to others. Marks that are not one pair, in order, are damaged: the file then stays as it is.
 */
import { instructionFiles } from './coding-agents.ts'
import { checksum, keep, leave, type Plan, type PlannedFile } from './plan.ts'
import type { ProjectFiles } from './project-files.ts'

const begin = '<!-- svc: begin, written by svc agent setup -->'
const end = '<!-- svc: end -->'
const what = 'the block between the marks of svc'

type Found =
  | { state: 'none' }
  | { state: 'damaged' }
  | { state: 'present'; before: string; block: string; after: string }

function findBlock(text: string): Found {
  const [before = '', rest, ...others] = text.split(begin)
  if (rest === undefined) return { state: text.includes(end) ? 'damaged' : 'none' }
  const [block = '', after, ...more] = rest.split(end)
  if (others.length > 0 || after === undefined || more.length > 0 || before.includes(end)) return { state: 'damaged' }
  return { state: 'present', before, block, after }
}

interface PlannedBlocks {
  files: PlannedFile[]
  /** The checksums for the record, by path. */
  recorded: Record<string, string>
}

/** Returns what to write into the files of instructions. `recorded`: the checksums of the blocks that svc wrote before. */
export function planBlocks(
  project: ProjectFiles,
  text: string,
  recorded: Readonly<Record<string, string>>,
): PlannedBlocks {
  const planned: PlannedBlocks = { files: [], recorded: {} }
  const real = new Set<string>()
  for (const path of instructionFiles) {
    // One is often a link to the other.
    if (!project.has(path) || real.has(project.locate(path))) continue
    real.add(project.locate(path))
    const file = planBlock(path, project.read(path) ?? '', text, recorded[path])
    planned.files.push(file)
    if (file.action !== 'leave') planned.recorded[path] = checksum(wrap(text))
  }
  return planned
}

function planBlock(path: string, text: string, block: string, recorded: string | undefined): PlannedFile {
  const found = findBlock(text)
  const update = (content: string): PlannedFile => ({ path, action: 'update', what, why: null, content })
  if (found.state === 'damaged') return leave(path, what, 'its marks are damaged')
  if (found.state === 'none')
    return update(`${text === '' ? '' : `${text.trimEnd()}\n\n`}${begin}${wrap(block)}${end}\n`)
  if (found.block === wrap(block)) return keep(path, what)
  if (checksum(found.block) !== recorded) return leave(path, what, 'it was changed since svc wrote it')
  return update(`${found.before}${begin}${wrap(block)}${end}${found.after}`)
}

function wrap(block: string): string {
  return `\n${block.trim()}\n`
}

/** Returns how to take the recorded blocks away. */
export function planBlockRemoval(project: ProjectFiles, recorded: Readonly<Record<string, string>>): Plan['files'] {
  return Object.entries(recorded).map(([path, sum]) => {
    const found = findBlock(project.read(path) ?? '')
    if (found.state === 'damaged') return leave(path, what, 'its marks are damaged')
    if (found.state === 'none') return keep(path, `${what}, which is gone`)
    if (checksum(found.block) !== sum) return leave(path, what, 'it was changed since svc wrote it')
    const before = `${found.before.trimEnd()}\n`
    const content =
      before.trim() === '' ? found.after.replace(/^\n+/, '') : `${before}${found.after.replace(/^\n/, '')}`
    return { path, action: 'update', what, why: null, content }
  })
}
