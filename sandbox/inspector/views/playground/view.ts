import { lazy } from 'react'
import type { View } from '../../app/view.ts'

export const playground: View = {
  id: 'playground',
  label: 'Playground',
  icon: 'playground',
  href: '/playground',
  shortcut: 't',
  summary: 'request a placement, see it rendered, export the call',
  routes: [
    {
      path: '/playground',
      page: lazy(async () => ({ default: (await import('./PlaygroundPage.tsx')).PlaygroundPage })),
    },
  ],
}
