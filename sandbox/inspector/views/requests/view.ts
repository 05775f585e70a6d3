import { lazy } from 'react'
import type { View } from '../../app/view.ts'

export const requests: View = {
  id: 'requests',
  label: 'Requests',
  icon: 'requests',
  href: '/requests',
  shortcut: 'r',
  summary: 'the journal: headers, bodies, differences, replay; callbacks',
  routes: [
    { path: '/requests', page: lazy(async () => ({ default: (await import('./RequestList.tsx')).RequestList })) },
    { path: '/callbacks', page: lazy(async () => ({ default: (await import('./CallbackPages.tsx')).CallbacksPage })) },
    {
      path: '/callbacks/:id',
      page: lazy(async () => ({ default: (await import('./CallbackPages.tsx')).CallbackPage })),
    },
    { path: '/requests/:id', page: lazy(async () => ({ default: (await import('./RequestPage.tsx')).RequestPage })) },
  ],
}
