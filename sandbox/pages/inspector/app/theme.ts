/** The theme: the system's until another is chosen, which this browser remembers. */
import { createCell, mediaCell } from '../data/cell.ts'

export const themes = ['system', 'light', 'dark'] as const
type Theme = (typeof themes)[number]
export const themeNames: Readonly<Record<Theme, string>> = {
  light: 'Light theme',
  dark: 'Dark theme',
  system: 'System theme',
}

const storageKey = 'svc.theme'
const systemDark = mediaCell('(prefers-color-scheme: dark)')
const chosen = createCell<Theme>(themes.find((theme) => theme === localStorage.getItem(storageKey)) ?? 'system')

export function setTheme(theme: Theme): void {
  chosen.set(theme)
  if (theme === 'system') localStorage.removeItem(storageKey)
  else localStorage.setItem(storageKey, theme)
  applyTheme()
}

/** Writes the theme to the document. The style sheet does the rest. */
export function applyTheme(): void {
  document.documentElement.dataset.theme = chosen.get()
}

export function useTheme(): { chosen: Theme; shown: 'light' | 'dark' } {
  const theme = chosen.use()
  const isDark = systemDark.use()
  return { chosen: theme, shown: theme === 'system' ? (isDark ? 'dark' : 'light') : theme }
}
