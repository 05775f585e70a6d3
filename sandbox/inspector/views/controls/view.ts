import { lazy } from 'react'
import type { View } from '../../app/view.ts'

export const controls: View = {
  id: 'controls',
  label: 'Controls',
  icon: 'controls',
  href: '/controls',
  shortcut: 'c',
  summary: 'clock, faults, scenarios, settings, keys, snapshots, reset',
  routes: [
    { path: '/controls', page: lazy(async () => ({ default: (await import('./ControlsPage.tsx')).ControlsPage })) },
    { path: '/keys/:id', page: lazy(async () => ({ default: (await import('./KeyPage.tsx')).KeyPage })) },
    { path: '/projects', page: lazy(async () => ({ default: (await import('./ProjectPages.tsx')).ProjectsPage })) },
    { path: '/projects/:id', page: lazy(async () => ({ default: (await import('./ProjectPages.tsx')).ProjectPage })) },
  ],
}
