import { lazy } from 'react'
import type { View } from '../../app/view.ts'

const evidencePage = lazy(async () => ({ default: (await import('./EvidencePage.tsx')).EvidencePage }))
const consentPage = lazy(async () => ({ default: (await import('./ConsentPage.tsx')).ConsentPage }))

export const consent: View = {
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
}

export const evidence: View = {
  id: 'evidence',
  label: 'Evidence',
  icon: 'chain',
  href: '/evidence',
  shortcut: 'e',
  summary: 'the chains, and whether they hold',
  routes: [
    { path: '/evidence', page: evidencePage },
    { path: '/evidence/:id', page: evidencePage },
  ],
}

export const billing: View = {
  id: 'billing',
  label: 'Billing',
  icon: 'billing',
  href: '/billing',
  shortcut: 'm',
  summary: 'what production would have billed',
  routes: [
    { path: '/billing', page: lazy(async () => ({ default: (await import('./BillingPage.tsx')).BillingPage })) },
  ],
}
