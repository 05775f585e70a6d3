/**
 * Look-ups by names that may come from outside: `constructor`, `toString` and the like are properties of every object, so a
 * table is read by `findEntry`, or is a Map. The compiler refuses any text as the key of a table whose keys it knows; what
 * is left are tables of any key, casts to a key, and the operator `in`.
 */
import { lineOf, type Source, type SyntaxNode } from './source.ts'

interface Table {
  path: string
  name: string
  /** Whether its type permits any text as a key. */
  isOpen: boolean
}

const anyKey = /\bRecord<\s*string\b|\[\w+: string\]\s*:/

/** The tables of all modules: constants at their top level that are written as an object. */
function listTables({ path, text, nodes }: Source): Table[] {
  const program = nodes.find(({ type }) => type === 'Program')
  const statements = (program?.body ?? []) as SyntaxNode[]
  return statements.flatMap((statement) => {
    const declaration = (statement.declaration ?? statement) as SyntaxNode
    if (declaration.type !== 'VariableDeclaration') return []
    return (declaration.declarations as SyntaxNode[]).flatMap((declarator): Table[] => {
      const { name, typeAnnotation } = declarator.id as SyntaxNode
      if (typeof name !== 'string' || !isObjectLiteral(declarator.init as SyntaxNode | null)) return []
      const type = typeAnnotation as SyntaxNode | null | undefined
      return [{ path, name, isOpen: type != null && anyKey.test(text.slice(type.start, type.end as number)) }]
    })
  })
}

function isObjectLiteral(value: SyntaxNode | null): boolean {
  if (value === null) return false
  if (value.type === 'TSAsExpression' || value.type === 'TSSatisfiesExpression') {
    return isObjectLiteral(value.expression as SyntaxNode)
  }
  return value.type === 'ObjectExpression'
}

/** Look-ups in tables by a name that is not known to be one of theirs. */
export function unguardedLookups(sources: readonly Source[]): string[] {
  const tables = sources.flatMap(listTables)
  return sources.flatMap((source) => {
    const { path, text, nodes, imports } = source
    const visible = tables.filter(
      (table) =>
        table.path === path ||
        imports.some(({ target, names }) => names?.includes(table.name) && target === table.path),
    )
    if (visible.length === 0) return []
    return nodes
      .filter((node) => isUnguarded(node, text, new Map(visible.map((table) => [table.name, table]))))
      .map(({ start }) => `${path}:${lineOf(text, start)} any object has a constructor: use findEntry or Object.hasOwn`)
  })
}

function isUnguarded(node: SyntaxNode, text: string, tables: ReadonlyMap<string, Table>): boolean {
  const [place, key] = node.type === 'BinaryExpression' ? [node.right, node.left] : [node.object, node.property]
  const { type, name } = (place ?? {}) as Partial<SyntaxNode>
  const table = type === 'Identifier' ? tables.get(String(name)) : undefined
  if (table === undefined) return false
  if (node.type === 'BinaryExpression') return node.operator === 'in' && (key as SyntaxNode).type !== 'Literal'
  if (node.type !== 'MemberExpression' || node.computed !== true) return false
  const { type: kind, start, end } = key as SyntaxNode
  if (kind === 'Literal') return false
  return table.isOpen || (kind === 'TSAsExpression' && text.slice(start, end as number).includes('keyof'))
}
