/** Keys -> what they mean on each screen. The help is made of the same table. */
import { filterFields, type TailAction, type TailState } from './model.ts'

/** A key as the terminal tells it. */
export interface Key {
  /** The character; '' for a named key. */
  text: string
  name:
    | 'up'
    | 'down'
    | 'left'
    | 'right'
    | 'page_up'
    | 'page_down'
    | 'home'
    | 'end'
    | 'enter'
    | 'escape'
    | 'backspace'
    | null
}

/** What a key asks for: a change of state, or a deed outside of it. */
export type Wish = TailAction | { type: 'quit' } | { type: 'replay' } | { type: 'inspector' }

export const keyHelp: readonly (readonly [keys: string, meaning: string])[] = [
  ['↑ ↓  j k', 'move; at the end it follows again'],
  ['g G  home end', 'first, last'],
  ['page up, down', 'a page at a time'],
  ['enter', 'details: beacon, slot, consent, evidence'],
  ['f', 'filter by event, format and verdict'],
  ['/', 'search in identifiers, events and reasons'],
  ['space', 'pause, go on'],
  ['r', 'replay: send this beacon again'],
  ['o', 'open the inspector'],
  ['c', 'clear'],
  ['?', 'this help'],
  ['q', 'back, quit'],
]

/** `page` is the number of rows of the list. */
export function wishOf(state: TailState, { text, name }: Key, page: number): Wish | null {
  const { screen } = state
  if (screen.name === 'search') return searchWish(state, text, name)
  if (screen.name === 'filter') return filterWish(state, text, name)
  if (screen.name !== 'list' && (name === 'escape' || name === 'left' || text === 'q')) return backToList
  if (screen.name === 'help') return text === '?' || name === 'enter' ? backToList : null
  if (screen.name === 'details' && name === 'enter') return backToList
  return named(name, page) ?? lettered[text]?.(state) ?? null
}

const backToList: Wish = { type: 'show', screen: { name: 'list' } }

function named(name: Key['name'], page: number): Wish | null {
  switch (name) {
    case 'up':
      return { type: 'move', by: -1 }
    case 'down':
      return { type: 'move', by: 1 }
    case 'page_up':
      return { type: 'move', by: -page }
    case 'page_down':
      return { type: 'move', by: page }
    case 'home':
      return { type: 'first' }
    case 'end':
      return { type: 'last' }
    case 'enter':
      return { type: 'details' }
    default:
      return null
  }
}

const lettered: Readonly<Record<string, (state: TailState) => Wish>> = {
  k: () => ({ type: 'move', by: -1 }),
  j: () => ({ type: 'move', by: 1 }),
  g: () => ({ type: 'first' }),
  G: () => ({ type: 'last' }),
  f: () => ({ type: 'show', screen: { name: 'filter', field: 'event' } }),
  '/': ({ filter }) => ({ type: 'show', screen: { name: 'search', before: filter.search } }),
  ' ': () => ({ type: 'pause' }),
  r: () => ({ type: 'replay' }),
  o: () => ({ type: 'inspector' }),
  c: () => ({ type: 'clear' }),
  '?': () => ({ type: 'show', screen: { name: 'help' } }),
  q: () => ({ type: 'quit' }),
}

function searchWish({ filter }: TailState, text: string, name: Key['name']): Wish | null {
  if (name === 'enter') return backToList
  if (name === 'escape') return { type: 'abandon' }
  if (name === 'backspace') return { type: 'search', text: [...filter.search].slice(0, -1).join('') }
  return text === '' ? null : { type: 'search', text: filter.search + text }
}

function filterWish({ screen }: TailState, text: string, name: Key['name']): Wish | null {
  if (name === 'enter' || name === 'escape' || text === 'f' || text === 'q') return backToList
  if (name === 'left' || text === 'h') return { type: 'choose', by: -1 }
  if (name === 'right' || text === 'l' || text === ' ') return { type: 'choose', by: 1 }
  const step = name === 'up' || text === 'k' ? -1 : name === 'down' || text === 'j' ? 1 : 0
  if (step === 0 || screen.name !== 'filter') return null
  const at = filterFields.indexOf(screen.field) + step
  const field = filterFields[(at + filterFields.length) % filterFields.length] ?? 'event'
  return { type: 'show', screen: { name: 'filter', field } }
}
