/** Reads TypeScript into what the rules look at: its imports, its syntax nodes and its comments. */
import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { parseSync } from 'vite'

export interface SyntaxNode {
  type: string
  start: number
  [member: string]: unknown
}

export interface Import {
  specifier: string
  /** The file of ours that it leads to, relative to the top of the project, or null: a package or a module of Node. */
  target: string | null
  /** The exports that it names; `*` stands for all values, as in `import * as`. Null when its file names them elsewhere. */
  names: readonly string[] | null
  isTypeOnly: boolean
  line: number
}

export interface Source {
  /** Relative to the top of the project, with slashes. */
  path: string
  text: string
  nodes: SyntaxNode[]
  comments: { value: string; start: number }[]
  imports: Import[]
}

const top = new URL('../../', import.meta.url)

/** Every .ts and .tsx file under these folders; a folder that does not exist has none. */
export function readSources(...folders: string[]): Source[] {
  return folders
    .flatMap((folder) => listFiles(folder))
    .map((path) => parse(path, readFileSync(new URL(path, top), 'utf8')))
}

/** One file, as the rules see it. Throws when it is not TypeScript. */
export function parse(path: string, text: string): Source {
  const { program, comments, errors } = parseSync(path, text)
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`)
  const nodes = walk(program as unknown as SyntaxNode)
  return { path, text, nodes, comments, imports: nodes.flatMap((node) => readImport(node, path, text)) }
}

export function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}

function listFiles(folder: string): string[] {
  try {
    return readdirSync(new URL(`${folder}/`, top), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name) && !/(^|\/)(node_modules|dist)\//.test(name))
      .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
      .toSorted()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function walk(value: unknown): SyntaxNode[] {
  if (Array.isArray(value)) return value.flatMap(walk)
  if (typeof value !== 'object' || value === null) return []
  const below = Object.values(value).flatMap(walk)
  return 'type' in value && 'start' in value ? [value as SyntaxNode, ...below] : below
}

/** Static and dynamic imports, re-exports, and `import('x').T` in types. */
function readImport(node: SyntaxNode, path: string, text: string): Import[] {
  const source = node.source as { value?: unknown } | null | undefined
  if (!importNodes.has(node.type) || source === null || source === undefined) return []
  const specifier = typeof source.value === 'string' ? source.value : '(computed)'
  const isTypeOnly = node.type === 'TSImportType' || node.importKind === 'type' || node.exportKind === 'type'
  return [
    {
      specifier,
      target: resolveTarget(path, specifier),
      names: namesIn(node),
      isTypeOnly,
      line: lineOf(text, node.start),
    },
  ]
}

/** Rooms by their name in `imports` of package.json: `#contract/` is src/core/contract/. */
const rooms = Object.entries(
  (JSON.parse(readFileSync(new URL('package.json', top), 'utf8')) as { imports: Record<string, string> }).imports,
).map(([name, path]) => ({ name: name.slice(0, -1), folder: path.slice('./'.length, -1) }))

function resolveTarget(path: string, specifier: string): string | null {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(path), specifier)
  const room = rooms.find(({ name }) => specifier.startsWith(name))
  return room === undefined ? null : `${room.folder}${specifier.slice(room.name.length)}`
}

function namesIn({ type, specifiers }: SyntaxNode): string[] | null {
  if (type === 'ExportAllDeclaration') return ['*']
  if (!Array.isArray(specifiers)) return null
  return (specifiers as SyntaxNode[]).map((each) => {
    const { name, value } = (each.imported ?? each.local) as SyntaxNode
    return each.type === 'ImportNamespaceSpecifier' ? '*' : String(name ?? value)
  })
}

const importNodes = new Set([
  'ImportDeclaration',
  'ExportNamedDeclaration',
  'ExportAllDeclaration',
  'ImportExpression',
  'TSImportType',
])
