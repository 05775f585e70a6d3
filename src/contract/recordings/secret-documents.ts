/** Secrets in what is no JSON: the error pages of proxies, XML, YAML, properties and forms. Code in a frame keeps its bytes. */
import { isSecretValue, isUnknownSecret, redacted, withoutSecretWords } from './secret-names.ts'

/** `<password>text</password>`, with a prefix and attributes too. */
const element = /<([\p{L}_][\p{L}\w:.-]{0,63})((?:\s[^<>]{0,1024})?)>([^<>]{1,4096})(?=<\/)/gu
/** A tag with attributes: `<input name="csrf" value="text">`, `<item password="text">`. */
const tag = /<[A-Za-z][^<>]{1,2048}>/g
const attribute =
  /([\p{L}_][\p{L}\w:.-]{0,63})\s{0,8}=\s{0,8}(?:"([^"<>]{0,4096})"|'([^'<>]{0,4096})'|([^\s"'<>]{1,4096}))/gu
/** `name: text` or `name = text`, alone on its line. */
const line =
  /^([^\S\n]{0,64}(?:-[^\S\n]{1,8})?["']?)([\p{L}_][\p{L}\w.-]{0,63})(["']?[^\S\n]{0,8}[:=][^\S\n]{0,8}["']?)([^\s"'{}()[\],;]{1,4096})(?=["']?[^\S\n]{0,64}$)/gmu
/** A literal, or a path of names, as code has them. */
const noText =
  /^(?:true|false|null|undefined|\d{1,3}|[A-Za-z_$][\w$]{0,63}(?:\.[A-Za-z_$][\w$]{0,63}){1,8}|[|>&*!~-]{1,2})$/
const form = /^[\w.%+[\]-]{1,128}=[^\s<>{}]{0,4096}(?:&[\w.%+[\]-]{1,128}=[^\s<>{}&]{0,4096})*\s*$/

/** The attributes that hold the value of an element with a name. */
const valueAttributes: ReadonlySet<string> = new Set(['value', 'content'])
const nameAttributes: ReadonlySet<string> = new Set(['name', 'id', 'key', 'property', 'http-equiv'])

/** Returns a text that is no JSON without the secrets that the names beside them give away. */
export function redactDocument(text: string): string {
  if (form.test(text)) return withoutSecretWords(text)
  const marked = text
    .replace(element, (whole, name: string, attributes: string, value: string) =>
      isSecret(value.trim(), localName(name)) ? `<${name}${attributes}>${redacted}` : whole,
    )
    .replace(tag, redactTag)
  return marked.replace(line, (whole, before: string, name: string, between: string, value: string) =>
    !noText.test(value) && isSecret(value, name) ? `${before}${name}${between}${redacted}` : whole,
  )
}

function redactTag(whole: string): string {
  const attributes = [...whole.matchAll(attribute)].map(({ 1: name = '', 2: one, 3: two, 4: three }) => ({
    name: name.toLowerCase(),
    value: one ?? two ?? three ?? '',
  }))
  const names = attributes.filter(({ name }) => nameAttributes.has(name)).map(({ value }) => value)
  return whole.replace(attribute, (text, name: string, one?: string, two?: string, three?: string) => {
    const value = one ?? two ?? three ?? ''
    const owners = valueAttributes.has(name.toLowerCase()) ? names : [localName(name)]
    return value !== '' && owners.some((owner) => isSecret(value, owner)) ? text.replace(value, redacted) : text
  })
}

/** A prefix is no part of a name: `auth:id`. */
function localName(name: string): string {
  return name.slice(name.lastIndexOf(':') + 1)
}

function isSecret(value: string, name: string): boolean {
  return !value.endsWith('redacted') && value !== redacted && (isUnknownSecret(name) || isSecretValue(value, name))
}
