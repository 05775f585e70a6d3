/** The strings and numbers of a JSON text, replaced in place: everything else keeps its bytes, numbers of any length included. */

/** Returns the replacement of a string without its quotes, escaped as in JSON, or of a number; null to keep it. */
type ReplaceValue = (
  /** As it is written, without its quotes. */
  raw: string,
  /** The field of the string. Those of an array have its field. */
  name: string,
  /** The fields around it, from the outside. Valid during the call. */
  around: readonly string[],
) => string | null

/**
 * Replaces the values of a JSON text that are strings, and those that are numbers where `replaceNumber` is given. Reads any text once from its beginning to its end, at any depth, also when it is
 * not valid.
 */
export function replaceJsonStrings(
  text: string,
  replace: ReplaceValue,
  replaceNumber: ReplaceValue = () => null,
): string {
  const around: string[] = []
  let name = ''
  let replaced = ''
  let copied = 0
  const put = (from: number, to: number, value: string | null) => {
    if (value === null) return
    replaced += text.slice(copied, from) + value
    copied = to
  }
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x7b || code === 0x5b) around.push(name)
    else if (code === 0x7d || code === 0x5d) name = around.pop() ?? ''
    else if (code >= 0x30 && code <= 0x39) {
      const raw = readNumber(text, at)
      put(at, at + raw.length, replaceNumber(raw, name, around))
      at += raw.length - 1
    }
    if (code !== 0x22) continue
    const end = findEnd(text, at + 1)
    if (end === -1) break
    const raw = text.slice(at + 1, end)
    if (isFollowedByColon(text, end + 1)) name = readJsonString(raw)
    else put(at + 1, end, replace(raw, name, around))
    at = end
  }
  return copied === 0 ? text : replaced + text.slice(copied)
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
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x5c) at++
    else if (code === 0x22) return at
  }
  return -1
}

function isFollowedByColon(text: string, from: number): boolean {
  let at = from
  while (text.charCodeAt(at) === 0x20 || (text.charCodeAt(at) >= 0x09 && text.charCodeAt(at) <= 0x0d)) at++
  return text.charCodeAt(at) === 0x3a
}
