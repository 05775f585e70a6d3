/** A view of the inspector: its place in the navigation, and the pages of its routes, each loaded when it is first shown. */
import type { ComponentType, LazyExoticComponent } from 'react'
import type { IconName } from '../parts/Icon.tsx'

export interface ViewPageProps {
  /** The identifier of the address: `slot_...` of /placements/slot_...; '' on a route without one. */
  id: string
}

export interface View {
  id: string
  label: string
  icon: IconName
  /** Its own address, below /_sandbox. */
  href: string
  /** Typed after g, it opens the view. */
  shortcut: string
  /** In the order in which they are matched: `/placements`, `/placements/:id`. */
  routes: readonly { path: string; page: LazyExoticComponent<ComponentType<ViewPageProps>> }[]
  /** What it is for, in a few words: shown in the command palette. */
  summary: string
}
