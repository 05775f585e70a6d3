/** Values that modules change and components show. */
import { useSyncExternalStore } from 'react'

interface Cell<Value> {
  get(): Value
  set(value: Value): void
  /** Returns the value, and keeps the component up to date with it. */
  use(): Value
}

export function createCell<Value>(initial: Value): Cell<Value> {
  let value = initial
  const listeners = new Set<() => void>()
  const subscribe = (listener: () => void) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }
  return {
    get: () => value,
    set(next) {
      value = next
      for (const listener of listeners) listener()
    },
    use: () => useSyncExternalStore(subscribe, () => value),
  }
}

/** Returns a cell that is true while a media query matches. */
export function mediaCell(query: string): Pick<Cell<boolean>, 'use'> {
  const media = matchMedia(query)
  const cell = createCell(media.matches)
  media.addEventListener('change', () => cell.set(media.matches))
  return cell
}
