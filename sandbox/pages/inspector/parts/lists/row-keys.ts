/** Keys that move between the rows of a table. */
import { useEffect, useRef } from 'react'
import { findEntry } from '#foundation/table-entry.ts'

/** Calls `move` for j, k and, within a table, the arrow keys, unless a text is being typed. */
export function useRowKeys(move: (step: 1 | -1) => void): void {
  const current = useRef(move)
  current.current = move
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      const isInTable = event.target instanceof Element && event.target.closest('[role=row]') !== null
      const step = event.key === 'j' ? 1 : event.key === 'k' ? -1 : isInTable ? findEntry(arrows, event.key) : undefined
      if (step === undefined || document.querySelector('[role=dialog], [role=alertdialog]') !== null) return
      event.preventDefault()
      current.current(step)
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
}

const arrows: Readonly<Record<string, 1 | -1 | undefined>> = { ArrowDown: 1, ArrowUp: -1 }

/** Whether a key press belongs to a field. */
export function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null
}
