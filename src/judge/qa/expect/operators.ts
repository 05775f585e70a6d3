import { isObject, type Json } from '#foundation/json.ts'
import { readMessage } from '#foundation/system-error.ts'
import { findEntry, isListed } from '#foundation/table-entry.ts'
import { matchPattern } from './pattern.ts'

type Actual = Json | undefined

interface Operator {
  holds(operand: Json, actual: Actual): boolean
  words(operand: Json): string
  /** Returns the problem of an operand, or null; without it any operand is right. */
  problem?(operand: Json): string | null
}

const types = ['string', 'number', 'integer', 'boolean', 'null', 'object', 'array'] as const

export const operators: Readonly<Record<string, Operator>> = {
  $gt: comparison('greater than', (actual, operand) => actual > operand),
  $gte: comparison('at least', (actual, operand) => actual >= operand),
  $lt: comparison('less than', (actual, operand) => actual < operand),
  $lte: comparison('at most', (actual, operand) => actual <= operand),
  $near: {
    holds: (operand, actual) => {
      const [value = Number.NaN, within = Number.NaN] = asList(operand).map(Number)
      return typeof actual === 'number' && Math.abs(actual - value) <= within
    },
    words: (operand) => {
      const [value, within] = asList(operand)
      return `within ${within} of ${value}`
    },
    problem: (operand) =>
      isVariable(operand) || (Array.isArray(operand) && operand.length === 2) ? null : 'takes [value, within]',
  },
  $matches: {
    holds: (operand, actual) => typeof actual === 'string' && matchPattern(String(operand), [actual])[0] === true,
    words: (operand) => `matching /${String(operand)}/`,
    problem: patternProblem,
  },
  $one_of: {
    holds: (operand, actual) => asList(operand).some((each) => matches(each, actual)),
    words: (operand) => `one of ${asList(operand).map(expectedWords).join(', ')}`,
    problem: listProblem,
  },
  $type: {
    holds: (operand, actual) => asList(operand).some((each) => isOfType(String(each), actual)),
    words: (operand) => `of type ${asList(operand).join(' or ')}`,
    problem: (operand) =>
      asList(operand).every((each) => isVariable(each) || isListed(types, each))
        ? null
        : `takes ${types.join(', ')}, or a list of them`,
  },
  $length: {
    holds: (operand, actual) => {
      const length = measureLength(actual)
      return length !== undefined && matches(operand, length)
    },
    words: (operand) => `of length ${expectedWords(operand)}`,
  },
  $contains: {
    holds: (operand, actual) => contains(operand, actual),
    words: (operand) => `containing ${expectedWords(operand)}`,
  },
  $not: {
    holds: (operand, actual) => !matches(operand, actual),
    words: (operand) => `not ${expectedWords(operand)}`,
  },
  $exists: {
    holds: (operand, actual) => (actual !== undefined) === operand,
    words: (operand) => (operand === true ? 'there' : 'absent'),
    problem: (operand) => (typeof operand === 'boolean' || isVariable(operand) ? null : 'takes true or false'),
  },
  $text: {
    holds: (operand, actual) =>
      actual !== undefined && matches(operand, typeof actual === 'string' ? actual : JSON.stringify(actual)),
    words: (operand) => `as JSON text ${expectedWords(operand)}`,
  },
  $each: {
    holds: (operand, actual) => Array.isArray(actual) && actual.every((item) => matches(operand, item)),
    words: (operand) => `a list in which each is ${expectedWords(operand)}`,
  },
}

/** Whether a value matches what is expected. */
export function matches(expected: Json, actual: Actual): boolean {
  if (isOperators(expected)) {
    return Object.entries(expected).every(
      ([name, operand]) => findEntry(operators, name)?.holds(operand, actual) === true,
    )
  }
  if (Array.isArray(expected)) {
    return (
      Array.isArray(actual) &&
      actual.length === expected.length &&
      expected.every((item, index) => matches(item, actual[index]))
    )
  }
  if (isObject(expected)) {
    if (!isObject(actual)) return false
    const names = new Set([...Object.keys(expected), ...Object.keys(actual)])
    return [...names].every((name) => {
      const wanted = expected[name]
      return wanted !== undefined && matches(wanted, actual[name])
    })
  }
  return expected === actual
}

/** Returns what is expected for reports: a literal unchanged, operators in words. */
export function describeExpected(expected: Json): Json {
  return isOperators(expected) ? expectedWords(expected) : expected
}

/** Whether a value consists of operators. */
function isOperators(value: Json): value is { [name: string]: Json } {
  if (!isObject(value)) return false
  const names = Object.keys(value)
  return names.length > 0 && names.every((name) => name.startsWith('$'))
}

function expectedWords(expected: Json): string {
  if (!isOperators(expected)) return typeof expected === 'string' ? expected : JSON.stringify(expected)
  return Object.entries(expected)
    .map(([name, operand]) => findEntry(operators, name)?.words(operand) ?? name)
    .join(' and ')
}

function comparison(words: string, holds: (actual: number, operand: number) => boolean): Operator {
  return {
    holds: (operand, actual) => typeof actual === 'number' && typeof operand === 'number' && holds(actual, operand),
    words: (operand) => `${words} ${String(operand)}`,
    problem: (operand) => (typeof operand === 'number' || isVariable(operand) ? null : 'takes a number'),
  }
}

function contains(operand: Json, actual: Actual): boolean {
  if (typeof actual === 'string') return actual.includes(String(operand))
  if (Array.isArray(actual)) return actual.some((item) => matches(operand, item))
  if (!isObject(actual) || !isObject(operand)) return false
  return Object.entries(operand).every(([name, wanted]) => matches(wanted, actual[name]))
}

function isOfType(type: string, actual: Actual): boolean {
  if (type === 'null') return actual === null
  if (type === 'array') return Array.isArray(actual)
  if (type === 'object') return isObject(actual)
  if (type === 'integer') return Number.isInteger(actual)
  return typeof actual === type
}

function measureLength(actual: Actual): number | undefined {
  if (typeof actual === 'string' || Array.isArray(actual)) return actual.length
  return isObject(actual) ? Object.keys(actual).length : undefined
}

function patternProblem(operand: Json): string | null {
  if (typeof operand !== 'string') return 'takes a regular expression'
  if (operand.includes('{{')) return null
  try {
    new RegExp(operand, 'u')
    return null
  } catch (error) {
    return `takes a regular expression: ${readMessage(error)}`
  }
}

function listProblem(operand: Json): string | null {
  return Array.isArray(operand) || isVariable(operand) ? null : 'takes a list'
}

function isVariable(value: Json): boolean {
  return typeof value === 'string' && value.includes('{{')
}

function asList(operand: Json): Json[] {
  return Array.isArray(operand) ? operand : [operand]
}

/* Expectations */
