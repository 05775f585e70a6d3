import { lazy } from 'react'
import type { View } from '../../app/view.ts'

export const overview: View = {
  id: 'overview',
  label: 'Overview',
  icon: 'overview',
  href: '/',
  shortcut: 'o',
  summary: 'keys, first placement, rates, what happened last',
  routes: [{ path: '/', page: lazy(async () => ({ default: (await import('./OverviewPage.tsx')).OverviewPage })) }],
}
