/** The theme: that of the system until another is chosen, which this browser remembers. */
import { useSyncExternalStore } from 'react'

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const storageKey = 'svc.theme'
const systemDark = matchMedia('(prefers-color-scheme: dark)')
const listeners = new Set<() => void>()

let chosen: Theme = themes.find((theme) => theme === localStorage.getItem(storageKey)) ?? 'system'

function notify(): void {
  for (const listener of listeners) listener()
}

export function setTheme(theme: Theme): void {
  chosen = theme
  if (theme === 'system') localStorage.removeItem(storageKey)
  else localStorage.setItem(storageKey, theme)
  applyTheme()
  notify()
}

/** Writes the theme to the document. The style sheet does the rest. */
export function applyTheme(): void {
  document.documentElement.dataset.theme = chosen
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  systemDark.addEventListener('change', listener)
  return () => {
    listeners.delete(listener)
    systemDark.removeEventListener('change', listener)
  }
}

/** Returns what was chosen, and what is shown. */
export function useTheme(): { chosen: Theme; shown: 'light' | 'dark' } {
  const theme = useSyncExternalStore(subscribe, () => chosen)
  const isDark = useSyncExternalStore(subscribe, () => systemDark.matches)
  return { chosen: theme, shown: theme === 'system' ? (isDark ? 'dark' : 'light') : theme }
}
