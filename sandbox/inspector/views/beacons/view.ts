import { lazy } from 'react'
import type { View } from '../../app/view.ts'

export const beacons: View = {
  id: 'beacons',
  label: 'Beacons',
  icon: 'beacons',
  href: '/beacons',
  shortcut: 'b',
  summary: 'accepted and rejected, as they come',
  routes: [
    { path: '/beacons', page: lazy(async () => ({ default: (await import('./BeaconsPage.tsx')).BeaconsPage })) },
    { path: '/beacons/:id', page: lazy(async () => ({ default: (await import('./BeaconPage.tsx')).BeaconPage })) },
  ],
}
