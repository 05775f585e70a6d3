/** Secrets in the tags and comments of HTML. Scripts in it are code: what looks like a tag there is read as one, and keeps its bytes. */
import { escapeHtml } from '#foundation/html.ts'
import { namedEntities } from '#foundation/readings/escapes.ts'
import { isSecretBeside, isSecretLiteral, isUnknownSecret } from './secret-names.ts'
import { pairNames, redacted } from './secret-shapes.ts'

interface Attribute {
  name: string
  /** Without entities. */
  value: string
  /** As it is written, without quotes. */
  raw: string
  from: number
}

interface Edit {
  from: number
  to: number
  text: string
}

/** Returns the text of an attribute without secrets. */
type RedactAttribute = (text: string, isHandler: boolean) => string

/** In a script the name is followed by more of an expression: `i<n&&(p.token=q.raw)`. */
const tagStart = /<(?:!--|([a-zA-Z_][\w:-]{0,64})(?=[\s/>]))/g
const attribute = /[\s/]*([^\s<>/=]{1,256})[^\S]{0,64}(?:=\s{0,64}(?:(["'])|([^\s<>"'][^\s<>]{0,8191})))?/y
const valueAttributes: ReadonlySet<string> = new Set(['value', 'content', 'data-value', 'data-content', 'defaultvalue'])
const nameAttributes: ReadonlySet<string> = new Set([
  'http-equiv',
  'itemprop',
  'data-name',
  'data-key',
  'formcontrolname',
])
/** The elements of a pair of name and value: `<key>password</key><string>...`. */
const nameElements: ReadonlySet<string> = new Set(['key', 'name'])
const valueElements: ReadonlySet<string> = new Set(['string', 'value', 'val', 'v', 'data', 'integer'])
/** What an attribute says about a field, and no secret. */
const harmlessValue = /^(?:|true|false|on|off|yes|no|none|required|\d{1,3}|#[\w-]{1,64})$/i

/** Returns HTML without the secrets in its attributes and comments, and in the texts of its fields. @param redactText for the texts of attributes */
export function redactMarkup(text: string, redactText: RedactAttribute): string {
  const edits: Edit[] = []
  const quotes = createQuotes(text)
  /** The text of the element before, if it is the name of a pair; the name of the element around it. */
  let pair_name: string | null = null
  tagStart.lastIndex = 0
  for (let start = tagStart.exec(text); start !== null; start = tagStart.exec(text)) {
    const from = tagStart.lastIndex
    if (start[1] === undefined) {
      const end = text.indexOf('-->', from)
      const to = end === -1 ? text.length : end
      const comment = text.slice(from, to)
      const kept = redactText(comment, false)
      if (kept !== comment) edits.push({ from, to, text: kept })
      tagStart.lastIndex = to
      continue
    }
    const { attributes, end } = readAttributes(text, from, quotes)
    edits.push(...redactTag(attributes, redactText))
    tagStart.lastIndex = end
    if (text[end] !== '>') continue
    const content = readContent(text, start[1], end + 1)
    if (isSecretContent(content, findSecretName(attributes), pair_name)) {
      edits.push({ ...content, text: redacted })
      tagStart.lastIndex = content.to
    }
    const name = nameElements.has(content.element) ? content.text : content.text === '' ? content.element : ''
    pair_name = isUnknownSecret(name) ? name : null
  }
  return applyEdits(text, edits)
}

/** Returns a function that finds the quote which ends a value, and looks no second time for one that does not come. */
function createQuotes(text: string): (quote: string, from: number) => number {
  const missing = new Set<string>()
  return (quote, from) => {
    const at = missing.has(quote) ? -1 : text.indexOf(quote, from)
    if (at === -1) missing.add(quote)
    return at
  }
}

function readAttributes(
  text: string,
  from: number,
  findQuote: (quote: string, from: number) => number,
): { attributes: Attribute[]; end: number } {
  const attributes: Attribute[] = []
  for (let at = from; ; ) {
    attribute.lastIndex = at
    const [whole = '', name = '', quote, unquoted] = attribute.exec(text) ?? []
    if (whole === '') {
      while (at < text.length && /[\s/=]/.test(text[at]!)) at++
      return { attributes, end: at }
    }
    at += whole.length
    if (quote === undefined) {
      if (unquoted !== undefined) attributes.push(toAttribute(name, unquoted, at - unquoted.length))
      continue
    }
    const end = findQuote(quote, at)
    if (end === -1) return { attributes, end: at }
    attributes.push(toAttribute(name, text.slice(at, end), at))
    at = end + 1
  }
}

function toAttribute(name: string, raw: string, from: number): Attribute {
  return { name: name.toLowerCase(), value: decodeEntities(raw), raw, from }
}

function redactTag(attributes: readonly Attribute[], redactText: RedactAttribute): Edit[] {
  const named = findSecretName(attributes)
  return attributes.flatMap(({ name, value, raw, from }) => {
    if (value.endsWith('redacted') || harmlessValue.test(value)) return []
    const own = name.replace(/^data-/, '')
    const isSecret =
      isSecretLiteral(value, own) || (named !== null && valueAttributes.has(name) && isSecretLiteral(value, named))
    const kept = isSecret ? redacted : redactText(value, name.startsWith('on'))
    return kept === value ? [] : [{ from, to: from + raw.length, text: escapeHtml(kept) }]
  })
}

/** Returns the name of a field, if it is that of a secret. */
function findSecretName(attributes: readonly Attribute[]): string | null {
  for (const { name, value } of attributes) {
    if ((pairNames.has(name) || nameAttributes.has(name)) && isUnknownSecret(value)) return value
    if (name === 'type' && value.toLowerCase() === 'password') return 'password'
  }
  return null
}

/** The text of an element, up to the next one. */
interface Content {
  /** In lower case, without a namespace. */
  element: string
  /** Without entities. */
  text: string
  from: number
  to: number
  /** Whether the element ends behind it. */
  isWhole: boolean
}

const textStart = '<![CDATA['

function readContent(text: string, tag: string, start: number): Content {
  const isData = text.startsWith(textStart, start)
  const from = isData ? start + textStart.length : start
  const end = text.indexOf(isData ? ']]>' : '<', from)
  const to = end === -1 ? text.length : end
  return {
    element: tag.slice(tag.lastIndexOf(':') + 1).toLowerCase(),
    text: decodeEntities(text.slice(from, to)).trim(),
    ...{ from, to, isWhole: text.startsWith(`</${tag}`, isData ? to + ']]>'.length : to) },
  }
}

/** Whether a name gives the text of an element away. @param named by an attribute @param pair_name the name before it, if it is a value */
function isSecretContent({ element, text, isWhole }: Content, named: string | null, pair_name: string | null): boolean {
  if (text === '' || text.endsWith('redacted') || text.endsWith(redacted)) return false
  if (named !== null) return element === 'textarea' ? isSecretLiteral(text, named) : isSecretBeside(text, named)
  // In a script it is a comparison.
  if (!isWhole) return false
  return isSecretLiteral(text, pair_name !== null && valueElements.has(element) ? pair_name : element)
}

const entity = /&(?:#0{0,64}(\d{1,7})|#x0{0,64}([\da-f]{1,6})|([a-z]{2,10}));?/gi

function decodeEntities(text: string): string {
  if (!text.includes('&')) return text
  return text.replace(entity, (whole, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return namedEntities.get(name.toLowerCase()) ?? whole
    const code = decimal === undefined ? Number.parseInt(hex!, 16) : Number(decimal)
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })
}

function applyEdits(text: string, edits: readonly Edit[]): string {
  if (edits.length === 0) return text
  const parts: string[] = []
  let copied = 0
  for (const edit of edits) {
    parts.push(text.slice(copied, edit.from), edit.text)
    copied = edit.to
  }
  return parts.join('') + text.slice(copied)
}
