import { useEffect } from 'react'
import { TitledDialog } from '../parts/Dialog.tsx'
import { isTyping } from '../parts/lists/row-keys.ts'
import { type View, views } from './views.ts'

export type Opened = 'palette' | 'shortcuts' | null

/** How long `g` waits for the letter of a view, milliseconds. */
const sequenceMs = 1200

export function useKeys(open: (opened: Opened) => void, navigate: (route: string) => void): void {
  useEffect(() => {
    let afterG = -Infinity
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        open('palette')
        return
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      if (document.querySelector('[role=dialog], [role=alertdialog]') !== null) return
      const view: View | undefined =
        event.timeStamp - afterG < sequenceMs ? views.find(({ shortcut }) => shortcut === event.key) : undefined
      afterG = event.key === 'g' ? event.timeStamp : -Infinity
      if (view !== undefined) navigate(view.href)
      else if (event.key === '?') open('shortcuts')
      else if (event.key === '/') {
        const search = document.querySelector<HTMLElement>('[data-search]')
        if (search === null) open('palette')
        else search.focus()
      } else return
      event.preventDefault()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [open, navigate])
}

export function Shortcuts({ isOpen, close }: { isOpen: boolean; close: () => void }) {
  const keys: readonly (readonly [keys: readonly string[], what: string])[] = [
    [['Ctrl', 'K'], 'Command palette'],
    [['/'], 'Search this list'],
    [['j'], 'Next row'],
    [['k'], 'Previous row'],
    [['Enter'], 'Open row'],
    [['?'], 'Show these shortcuts'],
    ...views.map(({ shortcut, label }) => [['g', shortcut], label] as const),
  ]
  return (
    <TitledDialog title="Keyboard shortcuts" isOpen={isOpen} onOpenChange={(open) => !open && close()}>
      <dl className="keys">
        {keys.map(([names, what]) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd className="bar">
              {names.map((name) => (
                <kbd key={name}>{name}</kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </TitledDialog>
  )
}
