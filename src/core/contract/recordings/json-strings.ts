/** The strings and numbers of a JSON text, replaced in place: everything else keeps its bytes, numbers of any length included. */

/** Stands in place of a value. A text of null keeps it; it may be set until the end of the JSON text. */
export interface Edit {
  /** Escaped as in JSON, without quotes. */
  text: string | null
}

/** Called for each part of a JSON text in turn. `raw` is a value as it is written, without quotes. */
interface JsonVisitor {
  /** Returns what stands in place of a string; null to keep it. @param name its field. Those of an array have its field */
  string(raw: string, name: string): string | Edit | null
  number?(raw: string, name: string): string | Edit | null
  /** Called for the name of each field. */
  name?(raw: string): string | Edit | null
  /** Called where an object or an array begins. @param name its field */
  open?(name: string, isArray: boolean): void
  close?(): void
  /** Called behind the last part. */
  end?(): void
}

/** Below so many levels the fields around a value are those of the last one: no API accepts JSON that deep. */
const maxLevels = 10_000

/** Replaces values and names of a JSON text. Reads any text once from its beginning to its end, at any depth, also when it is not valid. */
export function replaceJsonStrings(text: string, visitor: JsonVisitor): string {
  const edits: { from: number; to: number; edit: Edit }[] = []
  const around: string[] = []
  let deeper = 0
  let name = ''
  const put = (from: number, to: number, value: string | Edit | null | undefined) => {
    if (value !== null && value !== undefined) {
      edits.push({ from, to, edit: typeof value === 'string' ? { text: value } : value })
    }
  }
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x7b || code === 0x5b) {
      if (around.length === maxLevels) deeper++
      else {
        around.push(name)
        visitor.open?.(name, code === 0x5b)
      }
    } else if (code === 0x7d || code === 0x5d) {
      if (deeper > 0) deeper--
      else {
        name = around.pop() ?? ''
        visitor.close?.()
      }
    } else if (code >= 0x30 && code <= 0x39 && visitor.number !== undefined) {
      const raw = readNumber(text, at)
      put(at, at + raw.length, visitor.number(raw, name))
      at += raw.length - 1
    }
    if (code !== 0x22) continue
    const end = findEnd(text, at + 1)
    if (end === -1) break
    const raw = text.slice(at + 1, end)
    if (isFollowedByColon(text, end + 1)) {
      name = readJsonString(raw)
      put(at + 1, end, visitor.name?.(raw))
    } else put(at + 1, end, visitor.string(raw, name))
    at = end
  }
  visitor.end?.()
  return applyEdits(text, edits)
}

function applyEdits(text: string, edits: readonly { from: number; to: number; edit: Edit }[]): string {
  const parts: string[] = []
  let copied = 0
  for (const { from, to, edit } of edits) {
    if (edit.text === null) continue
    parts.push(text.slice(copied, from), edit.text)
    copied = to
  }
  return copied === 0 ? text : parts.join('') + text.slice(copied)
}

function readNumber(text: string, from: number): string {
  numberEnd.lastIndex = from
  return numberEnd.exec(text)![0]
}

const numberEnd = /[\d.eE+-]+/y

/** Returns the text of a string of JSON; as it is written when it is damaged. @param raw without its quotes */
export function readJsonString(raw: string): string {
  if (!raw.includes('\\')) return raw
  try {
    return JSON.parse(`"${raw}"`) as string
  } catch {
    return raw
  }
}

/** Returns the offset of the quote that ends a string; -1 without one. */
function findEnd(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 1)) {
    let start = at
    while (start > from && text.charCodeAt(start - 1) === 0x5c) start--
    if ((at - start) % 2 === 0) return at
  }
  return -1
}

function isFollowedByColon(text: string, from: number): boolean {
  let at = from
  while (text.charCodeAt(at) === 0x20 || (text.charCodeAt(at) >= 0x09 && text.charCodeAt(at) <= 0x0d)) at++
  return text.charCodeAt(at) === 0x3a
}

/** After a byte order mark or a guard against scripts, or in a call of JSONP. */
const start = /^\s*(?:\)\]\}'?,?\s*|[\w.$]{1,64}\(\s*)?(?=[{[])/
const event = /^(?:data|event|id|retry):/
/** What a stream of events has beside JSON. */
const eventFields = /^(?:(?:event|id|retry): ?[\w.:-]{0,64}|:)(?=\r?$)|^data:(?: ?\[DONE\])?/gm
/** What JSON has beside its strings. */
const betweenStrings = /^(?:[\s{}[\],:\d.eE+-]|true|false|null)*$/
/** What ends a call. */
const callEnd = /[);]/g

/**
 * Whether a text consists of JSON: one value, several, or the beginning of one, after a guard, in a call, or in events of a stream. Names
 * and texts without double quotes are none: nothing could tell which of them belong together.
 */
export function isJsonLike(text: string): boolean {
  const [before] = start.exec(text) ?? []
  if (before === undefined && !event.test(text)) return false
  const json = before === undefined ? text.replace(eventFields, '') : text.slice(before.length)
  for (let at = 0; ; ) {
    const quote = json.indexOf('"', at)
    const between = json.slice(at, quote === -1 ? json.length : quote)
    if (!betweenStrings.test(quote === -1 ? between.replace(callEnd, ' ') : between)) return false
    if (quote === -1) return true
    const end = findEnd(json, quote + 1)
    if (end === -1) return false
    at = end + 1
  }
}
