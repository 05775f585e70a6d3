/**
 * The second part of the script: everything that shows an ad. It is loaded while the first placement of a page is requested, and
 * has what all its ads share.
 */

import { isConsentReason } from '../consent.ts'
import { findShadowHost } from '../dom.ts'
import type { Renderer } from '../renderer.ts'
import { type BeaconQueue, openBeaconQueue, openBeacons } from './beacons.ts'
import { openJudgePart } from './judge-part.ts'
import type { Delivery, Mount, MountContext, MountOptions } from './mount.ts'
import { mountPlacement } from './mount-placement.ts'

export interface Mounts {
  /** Mounts a placement, whose consent permits it, on a target that is in a document. */
  mountPlacement(options: MountOptions): Mount
}

export function openMounts(renderer: Renderer): Mounts {
  const shared = {
    judge: openJudgePart(renderer),
    findDelivery: openDeliveries(renderer),
    whenShown: openAttachments(),
    onChange: openChanges(),
  }
  const context: MountContext = Object.assign(renderer, shared)
  return { mountPlacement: (options) => mountPlacement(context, options) }
}

/** Placements of a page that are kept, so that they are counted once. */
const maxDeliveries = 500

function openDeliveries(renderer: Renderer): MountContext['findDelivery'] {
  const queue = openBeaconQueue(renderer)
  const deliveries = new Map<string, Delivery>()
  renderer.ads = () => [...deliveries.values()].map(({ ad }) => ad)
  return (options) => {
    const { asset_token } = options.placement
    const delivery = deliveries.get(asset_token) ?? openDelivery(renderer, queue, options)
    deliveries.set(asset_token, delivery)
    for (const [token, { holder }] of deliveries) {
      if (deliveries.size <= maxDeliveries) break
      if (!holder) deliveries.delete(token)
    }
    return delivery
  }
}

function openDelivery(renderer: Renderer, queue: BeaconQueue, options: MountOptions): Delivery {
  const { clock, consents, events, violations } = renderer
  const { placement, consent, session_id, slot_id, turn_id } = options
  const { asset_token } = placement
  const instance_id = renderer.newId('ri_')
  const emit = events.within({ turn_id, slot_id, instance_id })
  const delivery: Delivery = {
    instance_id,
    heartbeats: 0,
    isViewed: false,
    isUnmeasured: false,
    frame_token: null,
    beacon_token: undefined,
    holder: null,
    ad: {
      asset_token,
      slot_id,
      turn_id,
      instance_id,
      session_id,
      placement,
      consent,
      get element() {
        return delivery.holder?.element ?? null
      },
      get isViewed() {
        return delivery.isViewed
      },
      measure: () => delivery.holder?.measure() ?? null,
    },
    send: openBeacons(queue, {
      requestJson: renderer.requestJson,
      base_url: new URL(placement.render.frame_url).origin,
      tokens: () => [delivery.beacon_token, delivery.frame_token, renderer.activation?.result().activation_token],
      isPermitted: () => {
        const reason = consents.problem(consent, session_id)
        if (reason) delivery.holder?.block(reason)
        return !reason
      },
      isBlocked: () => !!violations.find('connect-src', placement.render.frame_url),
      now: clock.now,
      correctTime: clock.compare,
      asset_token,
      slot_id,
      turn_id,
      instance_id,
      consent_revision: consent.revision,
      onResult: (event, accepted, reason_code) => {
        emit('beacon', { event, accepted, reason_code })
        if (!accepted && isConsentReason(reason_code)) delivery.holder?.block(reason_code)
      },
    }),
  }
  return delivery
}

/**
 * A ResizeObserver holds its elements weakly and sees them gain a size, so nothing of the page is watched, nor kept in memory.
 */
function openAttachments() {
  const waiting = new WeakMap<Element, () => void>()
  const observer = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      // A native card keeps its height in a slot without a width.
      if (!target.clientWidth) continue
      observer.unobserve(target)
      waiting.get(target)?.()
    }
  })
  return (element: Element, listener: () => void): void => {
    waiting.set(element, listener)
    observer.observe(element)
  }
}

/** One observer for all ads: an answer that streams beside them changes the page with every word. */
function openChanges(): MountContext['onChange'] {
  const listeners = new Set<() => void>()
  const observer = new MutationObserver(() => {
    for (const listener of listeners) listener()
  })
  return (target, listener) => {
    listeners.add(listener)
    const observe = (root: Node): void => observer.observe(root, { childList: true, subtree: true })
    for (let around: Element | null = target; around; around = findShadowHost(around)) observe(around.getRootNode())
    // A target may be appended to the document later.
    observe(document)
    return () => {
      listeners.delete(listener)
      if (!listeners.size) observer.disconnect()
    }
  }
}
