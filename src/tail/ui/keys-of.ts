import type { Key as InkKey } from 'ink'
import type { Key } from '../keys.ts'

const names = {
  upArrow: 'up',
  downArrow: 'down',
  leftArrow: 'left',
  rightArrow: 'right',
  pageUp: 'page_up',
  pageDown: 'page_down',
  home: 'home',
  end: 'end',
  return: 'enter',
  escape: 'escape',
  backspace: 'backspace',
  delete: 'backspace',
} as const satisfies Partial<Record<keyof InkKey, Key['name']>>

/** What the terminal told as keys of our own: a named one, or each character of what was typed or pasted. */
export function keysOf(text: string, key: InkKey): Key[] {
  const flag = (Object.keys(names) as (keyof typeof names)[]).find((flag) => key[flag])
  if (flag !== undefined) return [{ text: '', name: names[flag] }]
  if (key.ctrl || key.meta) return []
  return [...text].flatMap(keyOf)
}

/** Keys that are typed fast arrive together, those with a name among them. */
function keyOf(character: string): Key[] {
  if (character === '\r' || character === '\n') return [{ text: '', name: 'enter' }]
  if (character === '\u007f' || character === '\b') return [{ text: '', name: 'backspace' }]
  return character >= ' ' ? [{ text: character, name: null }] : []
}
