import { lazy } from 'react'
import type { View } from '../../app/view.ts'

export const placements: View = {
  id: 'placements',
  label: 'Placements',
  icon: 'placements',
  href: '/placements',
  shortcut: 's',
  summary: 'every slot, and why it was decided so',
  routes: [
    {
      path: '/placements',
      page: lazy(async () => ({ default: (await import('./PlacementsPage.tsx')).PlacementsPage })),
    },
    {
      path: '/placements/:id',
      page: lazy(async () => ({ default: (await import('./PlacementPage.tsx')).PlacementPage })),
    },
    { path: '/jobs/:id', page: lazy(async () => ({ default: (await import('./JobPage.tsx')).JobPage })) },
    { path: '/sessions/:id', page: lazy(async () => ({ default: (await import('./SessionPage.tsx')).SessionPage })) },
  ],
}
