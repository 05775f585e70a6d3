/** One subject per file: exported groups that do not name each other are two, and a short file with one importer is none. */
import type { Source, SyntaxNode } from './source.ts'

/** A group of at least so many lines is a subject. */
const minSubjectLines = 40
/** A file of at most so many lines with one importer stands beside what imports it, unless its first comment says why. */
const maxBareLines = 60

/** Where a file is named after its noun, however short it is. */
const nounFolders = ['src/cli/commands/', 'src/core/contract/resources/']

interface Statement {
  names: readonly string[]
  used: ReadonlySet<string>
  lines: number
  isExported: boolean
}

/** Returns the files whose exported groups of 40 lines or more do not name each other. */
export function compoundFiles(sources: readonly Source[]): string[] {
  return sources.flatMap((source) => {
    const subjects = readGroups(source).filter(({ lines, names }) => lines >= minSubjectLines && names.length > 0)
    if (subjects.length < 2) return []
    const listed = subjects.map(({ names, lines }) => `${names.slice(0, 3).join(', ')} (${lines} lines)`)
    return [`${source.path}: ${listed.join(' | ')}`]
  })
}

/** Joins the statements of a file that name each other. Imports join nothing, nor do types and constants alone. */
function readGroups(source: Source): { names: string[]; lines: number }[] {
  const statements = readStatements(source)
  const group = statements.map((_, index) => index)
  const root = (index: number): number => (group[index] === index ? index : root(group[index]!))
  const owner = new Map(statements.flatMap(({ names }, index) => names.map((name) => [name, index] as const)))
  for (const [index, { used }] of statements.entries()) {
    for (const name of used) {
      const other = owner.get(name)
      if (other !== undefined) group[root(index)] = root(other)
    }
  }
  const groups = new Map<number, { names: string[]; lines: number }>()
  for (const [index, { names, lines, isExported }] of statements.entries()) {
    const found = groups.get(root(index)) ?? { names: [], lines: 0 }
    found.lines += lines
    if (isExported) found.names.push(...names)
    groups.set(root(index), found)
  }
  return [...groups.values()]
}

function readStatements({ text, nodes }: Source): Statement[] {
  const program = nodes.find(({ type }) => type === 'Program')
  return ((program?.body ?? []) as SyntaxNode[]).flatMap((statement): Statement[] => {
    if (/^Import/.test(statement.type)) return []
    const declaration = (statement.declaration ?? statement) as SyntaxNode
    const names = readNames(declaration)
    const written = text.slice(statement.start, statement.end as number)
    const used = new Set(written.match(/[\p{ID_Start}$_][\p{ID_Continue}$]*/gu) ?? [])
    return [{ names, used, lines: written.split('\n').length, isExported: statement.type.startsWith('Export') }]
  })
}

function readNames(declaration: SyntaxNode): string[] {
  const { id, declarations } = declaration as { id?: { name?: string }; declarations?: { id: { name?: string } }[] }
  return [id, ...(declarations ?? []).map((each) => each.id)].flatMap((each) => each?.name ?? [])
}

/** Returns the short files that one file alone imports, and that do not say why they are files. */
export function bareFiles(sources: readonly Source[]): string[] {
  const importers = new Map<string, Set<string>>()
  for (const { path, imports } of sources) {
    for (const { target } of imports) {
      if (target !== null) importers.set(target, (importers.get(target) ?? new Set()).add(path))
    }
  }
  return sources.flatMap(({ path, text }) => {
    const lines = text.split('\n').length - 1
    const [importer, ...others] = importers.get(path) ?? []
    if (lines > maxBareLines || importer === undefined || others.length > 0) return []
    if (/^\s*\/\*\*/.test(text) || nounFolders.some((folder) => path.startsWith(folder))) return []
    return [`${path}: ${lines} lines, only for ${importer}`]
  })
}
