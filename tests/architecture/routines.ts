/** The functions of a file that have a name, with what makes them hard to read. */
import { lineOf, type Source, type SyntaxNode } from './source.ts'

export interface Routine {
  path: string
  line: number
  name: string
  lines: number
  complexity: number
  parameters: number
}

export const maxRoutineLines = 80
export const maxComplexity = 15
export const maxParameters = 4

/** What adds a way through a function. */
const branches = new Set([
  'IfStatement',
  'ConditionalExpression',
  'LogicalExpression',
  'ForStatement',
  'ForInStatement',
  'ForOfStatement',
  'WhileStatement',
  'DoWhileStatement',
  'CatchClause',
])

/** Returns the functions of a file that have a name: declared, assigned to a constant, or in an object or class. */
export function readRoutines({ path, text, nodes }: Source): Routine[] {
  return nodes.flatMap((node) => {
    const found = readRoutine(node)
    if (found === null) return []
    const { name, routine } = found
    return [
      {
        path,
        name,
        line: lineOf(text, routine.start),
        lines: text.slice(routine.start, routine.end as number).split('\n').length,
        complexity: countBranches(routine.body, true) + 1,
        parameters: (routine.params as unknown[]).length,
      },
    ]
  })
}

function readRoutine(node: SyntaxNode): { name: string; routine: SyntaxNode } | null {
  const { type } = node
  if (type === 'FunctionDeclaration' && node.body) return withName(node.id, node)
  if (type === 'VariableDeclarator' && isRoutine(node.init)) return withName(node.id, node.init as SyntaxNode)
  if ((type === 'Property' || type === 'MethodDefinition' || type === 'PropertyDefinition') && isRoutine(node.value)) {
    return withName(node.key, node.value as SyntaxNode)
  }
  return null
}

function withName(id: unknown, routine: SyntaxNode): { name: string; routine: SyntaxNode } | null {
  const name = (id as { name?: string } | null)?.name
  return name === undefined ? null : { name, routine }
}

function isRoutine(value: unknown): boolean {
  const { type, body } = (value ?? {}) as SyntaxNode
  return /^(Arrow)?FunctionExpression$/.test(type) && body !== null
}

/** Branches of a function itself: those of functions within it are theirs. */
function countBranches(value: unknown, isTop = false): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + countBranches(each), 0)
  if (typeof value !== 'object' || value === null) return 0
  const node = value as SyntaxNode
  if (!isTop && (isRoutine(node) || node.type === 'FunctionDeclaration')) return 0
  const own = branches.has(node.type) || (node.type === 'SwitchCase' && node.test !== null) ? 1 : 0
  return own + Object.values(node).reduce<number>((sum, each) => sum + countBranches(each), 0)
}

/** Returns the functions that are too long, have too many ways through them or too many parameters. */
export function heavyRoutines(source: Source): string[] {
  return readRoutines(source).flatMap(({ path, line, name, lines, complexity, parameters }) => {
    const wrong = [
      lines > maxRoutineLines ? `${lines} lines, at most ${maxRoutineLines}` : '',
      complexity > maxComplexity ? `complexity ${complexity}, at most ${maxComplexity}` : '',
      parameters > maxParameters ? `${parameters} parameters, at most ${maxParameters}: pass an object` : '',
    ].filter((each) => each !== '')
    return wrong.length === 0 ? [] : [`${path}:${line} ${name}: ${wrong.join('; ')}`]
  })
}
