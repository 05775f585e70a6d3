/**
 * The second part of the script: everything that shows an ad. It is loaded while the first placement of a page is requested, and
 * has what all its ads share.
 */
import { openBeaconQueue } from './beacons.ts'
import { type Delivery, type Mount, type MountContext, type MountOptions, mountPlacement } from './mount.ts'
import type { Renderer } from './renderer.ts'

export interface Mounts {
  /** Mounts a placement, whose consent permits it, on a target that is in a document. */
  mountPlacement(options: MountOptions): Mount
}

export function openMounts(renderer: Renderer): Mounts {
  const shared = { queue: openBeaconQueue(), findDelivery: openDeliveries(), whenAttached: openAttachments() }
  const context: MountContext = Object.assign(renderer, shared)
  return { mountPlacement: (options) => mountPlacement(context, options) }
}

/** Placements of a page that are kept, so that they are counted once. */
const maxDeliveries = 500

function openDeliveries() {
  const deliveries = new Map<string, Delivery>()
  return (asset_token: string, open: () => Delivery): Delivery => {
    const delivery = deliveries.get(asset_token) ?? open()
    deliveries.set(asset_token, delivery)
    for (const [token, { holder }] of deliveries) {
      if (deliveries.size <= maxDeliveries) break
      if (!holder) deliveries.delete(token)
    }
    return delivery
  }
}

/**
 * A ResizeObserver holds its elements weakly and sees them gain a size, so nothing of the page is watched, nor kept in memory.
 */
function openAttachments() {
  const waiting = new WeakMap<Element, () => void>()
  const observer = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      if (!target.isConnected) continue
      observer.unobserve(target)
      waiting.get(target)?.()
      waiting.delete(target)
    }
  })
  return (element: Element, listener: () => void): void => {
    waiting.set(element, listener)
    observer.observe(element)
  }
}
