/**
 * Every view, in the order of the navigation, with the pages of its routes, each loaded when it is first shown. Their
 * addresses are served only if sandbox/server/pipeline/pages/inspector.ts lists them.
 */
import type { IconName } from '../parts/Icon.tsx'
import { page, type ViewPage } from './view-page.tsx'

export interface View {
  id: string
  label: string
  icon: IconName
  /** Its own address, below /_sandbox. */
  href: string
  /** Typed after g, it opens the view. */
  shortcut: string
  /** In matching order: `/placements`, `/placements/:id`. */
  routes: readonly { path: string; page: ViewPage }[]
  /** Its purpose in a few words, shown in the command palette. */
  summary: string
}

const evidencePage = page(() => import('../views/records/EvidencePage.tsx'), 'EvidencePage')
const consentPage = page(() => import('../views/records/ConsentPage.tsx'), 'ConsentPage')

export const views: readonly View[] = [
  {
    id: 'overview',
    label: 'Overview',
    icon: 'overview',
    href: '/',
    shortcut: 'o',
    summary: 'keys, code for a placement, rates, recent activity',
    routes: [{ path: '/', page: page(() => import('../views/overview/OverviewPage.tsx'), 'OverviewPage') }],
  },
  {
    id: 'playground',
    label: 'Playground',
    icon: 'playground',
    href: '/playground',
    shortcut: 't',
    summary: 'request a placement, see it rendered, export the call',
    routes: [
      { path: '/playground', page: page(() => import('../views/playground/PlaygroundPage.tsx'), 'PlaygroundPage') },
    ],
  },
  {
    id: 'placements',
    label: 'Placements',
    icon: 'placements',
    href: '/placements',
    shortcut: 's',
    summary: 'every slot and why it was decided that way',
    routes: [
      { path: '/placements', page: page(() => import('../views/placements/PlacementsPage.tsx'), 'PlacementsPage') },
      { path: '/placements/:id', page: page(() => import('../views/placements/PlacementPage.tsx'), 'PlacementPage') },
      { path: '/bundles', page: page(() => import('../views/placements/BundlePages.tsx'), 'BundlesPage') },
      { path: '/bundles/:id', page: page(() => import('../views/placements/BundlePages.tsx'), 'BundlePage') },
      { path: '/jobs/:id', page: page(() => import('../views/placements/PlacementsPage.tsx'), 'JobPage') },
      { path: '/campaigns/:id', page: page(() => import('../views/placements/PlacementsPage.tsx'), 'CampaignPage') },
      { path: '/sessions/:id', page: page(() => import('../views/placements/PlacementsPage.tsx'), 'SessionPage') },
    ],
  },
  {
    id: 'beacons',
    label: 'Beacons',
    icon: 'beacons',
    href: '/beacons',
    shortcut: 'b',
    summary: 'accepted and rejected, as they arrive',
    routes: [
      { path: '/beacons', page: page(() => import('../views/beacons/BeaconsPage.tsx'), 'BeaconsPage') },
      { path: '/beacons/:id', page: page(() => import('../views/beacons/BeaconPage.tsx'), 'BeaconPage') },
    ],
  },
  {
    id: 'requests',
    label: 'Requests',
    icon: 'requests',
    href: '/requests',
    shortcut: 'r',
    summary: 'the journal: headers, bodies, differences, replay',
    routes: [
      { path: '/requests', page: page(() => import('../views/requests/RequestList.tsx'), 'RequestList') },
      { path: '/requests/:id', page: page(() => import('../views/requests/RequestPage.tsx'), 'RequestPage') },
    ],
  },
  {
    id: 'callbacks',
    label: 'Callbacks',
    icon: 'callbacks',
    href: '/callbacks',
    shortcut: 'k',
    summary: 'decisions posted to callback URLs',
    routes: [
      { path: '/callbacks', page: page(() => import('../views/requests/CallbackPages.tsx'), 'CallbacksPage') },
      { path: '/callbacks/:id', page: page(() => import('../views/requests/CallbackPages.tsx'), 'CallbackPage') },
    ],
  },
  {
    id: 'consent',
    label: 'Consent',
    icon: 'consent',
    href: '/consent',
    shortcut: 'n',
    summary: 'the history of each session',
    routes: [
      { path: '/consent', page: consentPage },
      { path: '/consent/:id', page: consentPage },
    ],
  },
  {
    id: 'evidence',
    label: 'Evidence',
    icon: 'chain',
    href: '/evidence',
    shortcut: 'e',
    summary: 'the evidence chains, and whether they verify',
    routes: [
      { path: '/evidence', page: evidencePage },
      { path: '/evidence/:id', page: evidencePage },
    ],
  },
  {
    id: 'billing',
    label: 'Billing',
    icon: 'billing',
    href: '/billing',
    shortcut: 'm',
    summary: 'what production would have billed, and your own counts beside it',
    routes: [
      { path: '/billing', page: page(() => import('../views/records/BillingPage.tsx'), 'BillingPage') },
      {
        path: '/billing/reconcile',
        page: page(() => import('../views/reconciliation/ReconciliationPage.tsx'), 'ReconciliationPage'),
      },
    ],
  },
  {
    id: 'controls',
    label: 'Controls',
    icon: 'controls',
    href: '/controls',
    shortcut: 'c',
    summary: 'clock, faults, scenarios, settings, keys, snapshots, reset, your own ads, pages that steer',
    routes: [
      { path: '/controls', page: page(() => import('../views/controls/ControlsPage.tsx'), 'ControlsPage') },
      { path: '/demand', page: page(() => import('../views/demand/DemandPage.tsx'), 'DemandPage') },
      { path: '/console', page: page(() => import('../views/controls/ConsolePage.tsx'), 'ConsolePage') },
      { path: '/keys/:id', page: page(() => import('../views/controls/KeyPage.tsx'), 'KeyPage') },
      { path: '/projects', page: page(() => import('../views/controls/ProjectPages.tsx'), 'ProjectsPage') },
      { path: '/projects/:id', page: page(() => import('../views/controls/ProjectPages.tsx'), 'ProjectPage') },
    ],
  },
  {
    id: 'reference',
    label: 'Docs and contract',
    icon: 'page',
    href: '/reference',
    shortcut: 'd',
    summary: 'every endpoint and field with its provenance, examples that run, documentation',
    routes: [{ path: '/reference', page: page(() => import('../views/reference/ReferencePage.tsx'), 'ReferencePage') }],
  },
]

/** Returns the view of an address below /_sandbox, with the page of its route; both null where nothing is. */
export function findView(location: string): { view: View | null; page: ViewPage | null } {
  for (const view of views) {
    const route = view.routes.find(({ path }) => isAt(path, location))
    if (route !== undefined) return { view, page: route.page }
  }
  return { view: null, page: null }
}

/** Whether an address belongs to a route: `/placements/:id`. */
function isAt(path: string, location: string): boolean {
  const [own, parts] = [path.split('/'), location.split('/')]
  return own.length === parts.length && own.every((part, index) => part.startsWith(':') || part === parts[index])
}
