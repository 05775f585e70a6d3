/** Reads YAML with the place of every part, and refuses what would expand or nest without end. */
import { type Document, isNode, LineCounter, parseDocument, visit } from 'yaml'
import { readMessage } from '#foundation/system-error.ts'
import { Places, SuiteError, type SuiteProblem } from './problems.ts'

/** One slip makes the rest of a file wrong too. */
const maxSyntaxErrors = 10

/** Returns the value of a YAML file, and where its parts are. Throws SuiteError. */
export function parseYaml(text: string, file: string): { value: unknown; places: Places } {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, merge: true })
  const places = new Places(document, lines, file)
  const syntax = document.errors.slice(0, maxSyntaxErrors).map(({ code, message, pos }) => {
    if (code === 'MULTIPLE_DOCS') return { place: places.offset(pos[0]), message: severalDocuments, hint: oneEach }
    const [first = ''] = message.replace('Maximum call stack size exceeded', tooDeep).split('\n')
    return {
      place: places.offset(pos[0]),
      message: `This is not YAML: ${first}${/[.!?]$/.test(first) ? '' : '.'}`,
      hint: '',
    }
  })
  if (syntax.length > 0) throw new SuiteError(syntax)
  const problem = referenceProblem(document, places)
  if (problem !== null) throw new SuiteError([problem])
  try {
    return { value: document.toJS(), places }
  } catch (error) {
    const message = readMessage(error)
    const [text, hint] = /alias count/i.test(message)
      ? ['The aliases of this file expand to too large a value.', 'Write the values out.']
      : [`This is not YAML: ${message.split('\n')[0]}`, '']
    throw new SuiteError([{ place: places.offset(lastAlias(document)), message: text, hint }])
  }
}

const severalDocuments = 'This file has several YAML documents, and only one is read.'
const oneEach = 'Write a file for each, and leave out the lines with ---.'
const tooDeep = 'it is nested too deeply'
/** A suite has a few levels; what reads values follows them by recursion. */
const maxLevels = 100

/** Returns an alias that has no value, or a value that is nested too deeply; null when there is neither. */
function referenceProblem(document: Document, places: Places): SuiteProblem | null {
  let problem: SuiteProblem | null = null
  const report = (node: { range?: readonly number[] | null | undefined }, message: string, hint: string) => {
    problem = { place: places.offset(node.range?.[0] ?? 0), message, hint }
    return visit.BREAK
  }
  visit(document, {
    Collection(_, node, path) {
      // The pairs of maps are on the path too.
      if (path.length <= 2 * maxLevels) return undefined
      return report(node, `This ${tooDeep.replace('it ', '')}.`, `A value may have at most ${maxLevels} levels.`)
    },
    Alias(_, alias, path) {
      const name = alias.source
      if (path.some((node) => isNode(node) && 'anchor' in node && node.anchor === name))
        return report(alias, `The alias *${name} is within its own anchor.`, 'Write the value out.')
      if (alias.resolve(document) !== undefined) return undefined
      return report(
        alias,
        `There is no anchor for the alias *${name}.`,
        `An anchor must come before its aliases: &${name}`,
      )
    },
  })
  return problem
}

function lastAlias(document: Document): number {
  let offset = 0
  visit(document, {
    Alias(_, { range }) {
      offset = range?.[0] ?? 0
    },
  })
  return offset
}
