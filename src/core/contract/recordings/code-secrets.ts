/** Secrets in code and in markup: the literals and attributes beside the name of one. */
import { replaceEncoded } from '#foundation/readings/readings.ts'
import { redactMarkup } from './markup-secrets.ts'
import { isSecretBeside, isSecretLiteral, isSecretNumber, isSecretText, isUnknownSecret } from './secret-names.ts'
import { decode, pairNames, redacted, withoutShapes } from './secret-shapes.ts'

/** A name, and what stands between it and a literal: `a.b = `, `["a"] = `, `"a": `, `"a" => `, `f("a", `. */
const beforeLiteral =
  /(?<![\w.$-])([\w.$-]{1,128})(?:["'`]?\]?\s{0,8}(?:[=!]={0,2}|:=?|(?<=["'`]\s{0,8})=>|\|\|=?|\?\?=?|\+=)\s{0,8}\(?|["'`]\s{0,8}(,)\s{0,8})(?=["'`]|\d{4})/g
const literal = /(["'`])((?:(?!\1)[^\\]|\\[\s\S]){1,4096})\1|\d{4,32}(?:\.\d{1,16})?(?![\w.])/y
/** What a template has in place of a value: code, which is no secret. */
const expression = /\$\{[^{}]*(?:\}|$)/g
/** Between the two parts of a pair: `{name: "a", value: "b"}`. */
const pairValue =
  /\s{0,8},\s{0,8}["']?(?:value|val|v|content|data|payload|raw|plain|plaintext)["']?\s{0,8}[:=]\s{0,8}/iy
/** A method that sets the value of a name. */
const setter = /(?:append|set\w{0,32}|header|put|add\w{0,32}|cookie)\(\s{0,8}["'`]$/i

/** Returns the text of a literal, a comment or an attribute without secrets. */
type RedactInner = (text: string) => string

/** Returns code, or a document, without the secrets of a known shape and those beside the name of one: nothing else of it changes. @param isReading whether it is one: nothing in it is decoded then */
export function redactCode(text: string, redactInner: RedactInner, isReading = false): string {
  const redact = (inner: string, isHandler: boolean) =>
    isHandler ? redactCode(inner, redactInner, isReading) : redactInner(inner)
  const plain = withoutShapes(text).replace(jsonLiteral, (json) => (json.includes(':') ? redactInner(json) : json))
  const marked = redactLiterals(withoutQueries(redactMarkup(plain, redact)))
  if (isReading) return marked
  return replaceEncoded(marked, (reading, piece) => (holdsSecret(reading, piece, redactInner) ? redacted : null))
}

/** JSON in a literal of a script. */
const jsonLiteral = /(?<=['`])\s{0,8}[{[]\s{0,8}["{[][^'`\\\n]*(?=['`])/g
/** What the code around literals has. */
const codeMark = /[(){}]|(?<!&(?:[#\w]{2,10};){0,3}[#\w]{2,10});/
const jsonMark = /"\s*:/
/** JSON or markup. Code begins with a bracket too, as after `=>`, and so does a directive in it: `{"use strict"`. */
const beginsText = /^\s*(?:<|\[\s*["[{]|\{\s*"[^"]*"\s*:)/

/** Whether a piece of code has a secret in a reading. It can be a regular expression, or the code around literals, which is no text. */
function holdsSecret(reading: string, piece: string, redactInner: RedactInner): boolean {
  const isLiteral =
    !codeMark.test(piece) || beginsText.test(reading) || (jsonMark.test(reading) && !jsonMark.test(piece))
  if (!isLiteral) return withoutShapes(reading) !== reading
  return redactInner(reading) !== reading || (jsonMark.test(reading) && redactLiterals(reading) !== reading)
}

/** A parameter of an address in code: what stands behind it is no part of an expression. */
const queryParameter = /([?#]|(?<!&)&(?:amp;)?)([\w.%][\w.%[\]-]{0,63})=([\w%~+/.:@!*-]{1,4096})(?=["'`&#<\\])/g

function withoutQueries(text: string): string {
  return text.replace(queryParameter, (whole, before: string, name: string, value: string) =>
    isSecretText(value, decode(name)) && !value.endsWith('redacted') ? `${before}${name}=${redacted}` : whole,
  )
}

/** Returns a text without the secrets in literals beside the name of one, wherever its quotes begin and end. */
export function redactLiterals(text: string): string {
  const parts: string[] = []
  let copied = 0
  for (const { 0: before, 1: name = '', 2: comma, index } of text.matchAll(beforeLiteral)) {
    const from = index + before.length
    if (index < copied || !(isUnknownSecret(name) || isPairName(name) || isSecretBeside(anySecret, name))) continue
    const found = readLiteral(text, from)
    if (found === null) continue
    // A property of CSS.
    if (name.startsWith('--') && before.trimEnd().endsWith(':')) continue
    const isSet = comma === undefined || setter.test(text.slice(Math.max(0, index - 48), index))
    const secret = isSecret(found, name, isSet, /[=!]==?\s*$/.test(before)) ? found : findPairSecret(text, name, found)
    if (secret === null) continue
    parts.push(text.slice(copied, secret.from), secret.isNumber ? '0' : redacted)
    copied = secret.to
  }
  return copied === 0 ? text : parts.join('') + text.slice(copied)
}

/** Looks like a secret under any name of one. */
const anySecret = 'aA1aA1aA1aA1aA1aA1aA1'

function isPairName(name: string): boolean {
  return pairNames.has(name.toLowerCase())
}

interface Literal {
  /** Without the expressions of a template. */
  text: string
  isNumber: boolean
  /** The offsets of its text. */
  from: number
  to: number
}

function readLiteral(text: string, at: number): Literal | null {
  literal.lastIndex = at
  const [whole = '', quote, inner = ''] = literal.exec(text) ?? []
  if (whole === '') return null
  if (quote === undefined) return { text: whole, isNumber: true, from: at, to: at + whole.length }
  const own = quote === '`' ? inner.replace(expression, ' ') : inner
  return { text: own, isNumber: false, from: at + 1, to: at + 1 + inner.length }
}

/** What `typeof` says of a value. */
const typeNames: ReadonlySet<string> = new Set(
  'bigint boolean function number object string symbol undefined'.split(' '),
)

function isSecret({ text, isNumber }: Literal, name: string, isSet: boolean, isCompared = false): boolean {
  if (isNumber) return isSecretNumber(text, name)
  if (text.endsWith('redacted') || text.endsWith(redacted)) return false
  if (isCompared && typeNames.has(text)) return false
  return isSet ? isSecretLiteral(text, name) : isSecretBeside(text, name)
}

function findPairSecret(text: string, name: string, { text: inner, isNumber, to }: Literal): Literal | null {
  if (isNumber || !isPairName(name) || !isUnknownSecret(inner)) return null
  pairValue.lastIndex = to + 1
  const [between] = pairValue.exec(text) ?? []
  const value = between === undefined ? null : readLiteral(text, to + 1 + between.length)
  return value !== null && isSecret(value, inner, true) ? value : null
}
