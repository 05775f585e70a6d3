/** The keys of each screen, and the keys of the terminal as Ink reports them. */

import type { Key as InkKey } from 'ink'
import { findEntry, tableNames } from '#foundation/table-entry.ts'
import { withoutControls } from '#text/terminal.ts'
import { filterFields, maxItems, type TailAction, type TailState } from './model.ts'
import type { TailSource } from './source.ts'

const inkNames = {
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
} as const satisfies Partial<Record<keyof InkKey, string>>
type KeyName = (typeof inkNames)[keyof typeof inkNames]

/** One key press. */
export interface Key {
  /** The character; '' for a named key. */
  text: string
  name: KeyName | null
}

/** The effect of a key beyond the state of the screen. */
export type Effect = { type: 'quit' } | { type: 'replay' } | { type: 'inspector' } | { type: 'copy'; as: 'id' | 'curl' }
type KeyAction = TailAction | Effect

type KeyHelp = readonly (readonly [keys: string, meaning: string])[]

export const keyHelp = ({ choices }: TailSource): KeyHelp => [
  ['↑ ↓  j k', 'move; at the end the list follows again'],
  ['g G  home end', 'first, last'],
  ['page up, down', 'a page at a time'],
  ['enter', 'details: beacon, slot, consent, evidence'],
  ['f', `filter by ${Object.keys(choices).join(', ')}`],
  ['/', 'search in all of them'],
  ['space', 'pause, continue'],
  ['r', 'replay: send this beacon again'],
  ['o', 'open the page of its slot in the inspector'],
  ['y', 'copy the id (the terminal must allow OSC 52)'],
  ['Y', 'copy the request as a curl command'],
  ['c', 'clear'],
  ['?', 'this help'],
  ['ctrl-z', 'suspend; fg continues'],
  ['q', 'back, quit'],
]

/** Returns what a key does in a state, or null. `page` is the number of rows of the list. */
export function keyAction(state: TailState, { text, name }: Key, page: number): KeyAction | null {
  const { screen } = state
  if (screen.name === 'search') return searchAction(state, text, name)
  if (screen.name === 'filter') return filterAction(state, text, name)
  if (screen.name !== 'list' && (name === 'escape' || name === 'left' || text === 'q')) return backToList
  if (screen.name === 'help') return text === '?' || name === 'enter' ? backToList : null
  if (screen.name === 'details' && name === 'enter') return backToList
  return (name === null ? findEntry(letterKeys, text)?.(state) : findEntry(namedKeys, name)?.(page)) ?? null
}

const backToList: KeyAction = { type: 'show', screen: { name: 'list' } }

/** `page` is the number of rows of the list. */
const namedKeys: Partial<Record<KeyName, (page: number) => KeyAction>> = {
  up: () => ({ type: 'move', by: -1 }),
  down: () => ({ type: 'move', by: 1 }),
  page_up: (page) => ({ type: 'move', by: -page }),
  page_down: (page) => ({ type: 'move', by: page }),
  home: () => ({ type: 'move', by: -maxItems }),
  end: () => ({ type: 'move', by: maxItems }),
  enter: () => ({ type: 'details' }),
}

const letterKeys: Readonly<Record<string, (state: TailState) => KeyAction>> = {
  k: () => ({ type: 'move', by: -1 }),
  j: () => ({ type: 'move', by: 1 }),
  g: () => ({ type: 'move', by: -maxItems }),
  G: () => ({ type: 'move', by: maxItems }),
  f: ({ source }) => ({ type: 'show', screen: { name: 'filter', field: filterFields(source)[0] ?? '' } }),
  '/': ({ filter }) => ({ type: 'show', screen: { name: 'search', before: filter.search } }),
  ' ': () => ({ type: 'pause' }),
  r: () => ({ type: 'replay' }),
  o: () => ({ type: 'inspector' }),
  y: () => ({ type: 'copy', as: 'id' }),
  Y: () => ({ type: 'copy', as: 'curl' }),
  c: () => ({ type: 'clear' }),
  '?': () => ({ type: 'show', screen: { name: 'help' } }),
  q: () => ({ type: 'quit' }),
}

/** Returns what a paste does: it is text of a search, and never a key. */
export function pasteAction({ screen, filter }: TailState, text: string): KeyAction {
  if (screen.name !== 'search') return { type: 'notice', text: 'To search for pasted text, press / first.' }
  return { type: 'search', text: filter.search + withoutControls(text.trim()) }
}

function searchAction({ filter }: TailState, text: string, name: Key['name']): KeyAction | null {
  if (name === 'enter') return backToList
  if (name === 'escape') return { type: 'cancel_search' }
  if (name === 'backspace') return { type: 'search', text: [...filter.search].slice(0, -1).join('') }
  return text === '' ? null : { type: 'search', text: filter.search + text }
}

/** Keys that choose another value, and those that go to another field. */
const choiceSteps: Readonly<Record<string, number>> = { left: -1, h: -1, right: 1, l: 1, ' ': 1 }
const fieldSteps: Readonly<Record<string, number>> = { up: -1, k: -1, down: 1, j: 1 }

function filterAction({ screen, source }: TailState, text: string, name: Key['name']): KeyAction | null {
  if (name === 'enter' || name === 'escape' || text === 'f' || text === 'q') return backToList
  const by = findEntry(choiceSteps, name ?? text)
  if (by !== undefined) return { type: 'choose', by }
  const step = findEntry(fieldSteps, name ?? text)
  if (step === undefined || screen.name !== 'filter') return null
  const fields = filterFields(source)
  const at = fields.indexOf(screen.field) + step
  const field = fields[(at + fields.length) % fields.length] ?? ''
  return { type: 'show', screen: { name: 'filter', field } }
}

/** Returns the key presses of one input event of Ink: a named key, or each character that was typed or pasted. */
export function splitKeys(text: string, key: InkKey): Key[] {
  const flag = tableNames(inkNames).find((flag) => key[flag])
  if (flag !== undefined) return [{ text: '', name: inkNames[flag] }]
  if (key.ctrl || key.meta) return []
  return [...text].flatMap(toKey)
}

/** Keys that are typed fast arrive as one text, Enter and Backspace included. */
function toKey(character: string): Key[] {
  if (character === '\r' || character === '\n') return [{ text: '', name: 'enter' }]
  if (character === '\u007f' || character === '\b') return [{ text: '', name: 'backspace' }]
  return character >= ' ' ? [{ text: character, name: null }] : []
}
