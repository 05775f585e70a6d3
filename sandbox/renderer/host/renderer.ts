/** What all turns and mounts of a page share. */
import type { Activation } from './activation.ts'
import { type Clock, openClock } from './clock.ts'
import { type ConsentMemory, type ConsentReason, openConsentMemory } from './consent.ts'
import { type Emit, type Events, openEvents } from './events.ts'

/** What shows, or is about to show, on a target. There is at most one. */
export interface Occupant {
  end(reason: string): void
}

export interface Renderer {
  clock: Clock
  events: Events
  emit: Emit
  consents: ConsentMemory
  occupants: Map<Element, Occupant>
  activation: Activation | null
  /** Says why no ad shows, on the console too. */
  block(reason: ConsentReason, emit?: Emit): void
  /** Takes `target` for `occupant`, ending whatever is there. */
  occupy(target: Element, occupant: Occupant): void
  leave(target: Element, occupant: Occupant): void
}

export function openRenderer(): Renderer {
  const clock = openClock()
  const events = openEvents(clock.now)
  const emit = events.within({})
  const occupants: Renderer['occupants'] = new Map()
  return {
    clock,
    events,
    emit,
    consents: openConsentMemory(clock.now),
    occupants,
    activation: null,
    block: (reason, tell = emit) => {
      console.warn(`[sponsored placement] blocked: ${reason}`)
      tell('blocked', { reason })
    },
    occupy: (target, occupant) => {
      occupants.get(target)?.end('replaced')
      occupants.set(target, occupant)
    },
    leave: (target, occupant) => {
      if (occupants.get(target) === occupant) occupants.delete(target)
    },
  }
}

/** The element, or the first one that a selector finds. */
export function findTarget(target: unknown): Element | null {
  if (target instanceof Element) return target
  try {
    return document.querySelector(String(target))
  } catch {
    return null
  }
}
