/** The strings of a JSON text, replaced in place: everything else keeps its bytes, numbers of any length included. */

/** Returns the replacement of a string without its quotes, escaped as in JSON; null to keep it. */
type ReplaceString = (
  /** As it is written, without its quotes. */
  raw: string,
  /** The field of the string. Those of an array have its field. */
  name: string,
  /** The fields around it, from the outside. Valid during the call. */
  around: readonly string[],
) => string | null

/**
 * Replaces the values of a JSON text that are strings. Reads any text once from its beginning to its end, at any depth, also when it is
 * not valid.
 */
export function replaceJsonStrings(text: string, replace: ReplaceString): string {
  const around: string[] = []
  let name = ''
  let replaced = ''
  let copied = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x7b || code === 0x5b) around.push(name)
    else if (code === 0x7d || code === 0x5d) name = around.pop() ?? ''
    if (code !== 0x22) continue
    const end = findEnd(text, at + 1)
    if (end === -1) break
    const raw = text.slice(at + 1, end)
    if (isFollowedByColon(text, end + 1)) name = readJsonString(raw)
    else {
      const value = replace(raw, name, around)
      if (value !== null) {
        replaced += text.slice(copied, at + 1) + value
        copied = end
      }
    }
    at = end
  }
  return copied === 0 ? text : replaced + text.slice(copied)
}

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
