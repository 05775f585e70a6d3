import { lazy } from 'react'
import type { View } from '../../app/view.ts'

export const reference: View = {
  id: 'reference',
  label: 'Docs and contract',
  icon: 'page',
  href: '/reference',
  shortcut: 'd',
  summary: 'every endpoint and field with its provenance, examples that run, documentation',
  routes: [
    { path: '/reference', page: lazy(async () => ({ default: (await import('./ReferencePage.tsx')).ReferencePage })) },
  ],
}
