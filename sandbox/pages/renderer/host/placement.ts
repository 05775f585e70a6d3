/** A placement mounted without a turn. */
import type { AuthoritativeConsent } from '#contract/fields.ts'
import type { Placement, PlacementResponse } from '#contract/resources/placements.ts'
import { decisionError, readDecision, readSession } from './decision.ts'
import { describeTarget, findTarget } from './dom.ts'
import type { Loader } from './loader.ts'
import type { Mount } from './mounts/mount.ts'
import { checkOptions } from './options.ts'
import { findObstacle, type Occupant, type Renderer } from './renderer.ts'
import { findErrorBody } from './request.ts'

export interface RenderOptions {
  target: Element | string
  response?: PlacementResponse
  placement?: Placement
  authoritative_consent?: AuthoritativeConsent | null
  /** The session of the consent: a revision below the last one seen for it is superseded. */
  session_id?: string
}

const renderOptions: Record<keyof RenderOptions, 1> = {
  target: 1,
  response: 1,
  placement: 1,
  authoritative_consent: 1,
  session_id: 1,
}

export interface Handle {
  readonly target: Element
  readonly state: Mount['state']
  clear(): void
}

/** What each occupant of this function shows: a placement under a consent. */
const shown = new WeakMap<Occupant, { key: string; handle: Handle }>()

/** Components render again with each update: a response that its target shows already stays as it is. */
export function renderPlacement(renderer: Renderer, loader: Loader, options: RenderOptions): Handle | null {
  const { target: given_target, response, placement: given, authoritative_consent } = options
  const session_id = options.session_id || readSession(response)
  checkOptions(renderOptions, options, renderer.emit)
  const target = findTarget(given_target)
  if (!target) return renderer.refuse({ code: 'target_not_found', got: [describeTarget(given_target)] })
  const obstacle = findObstacle()
  if (obstacle) return renderer.refuse(obstacle)
  const decision = readDecision(given ? { placement: given } : response)
  if (decision.kind === 'no_fill') {
    renderer.emit('no_fill', { no_fill_reason: decision.no_fill_reason })
    return null
  }
  if (decision.kind !== 'filled') return renderer.refuse({ ...decisionError(decision), ...findErrorBody(response) })
  const consent = authoritative_consent !== undefined ? authoritative_consent : response?.authoritative_consent
  const reason = renderer.consents.problem(consent, session_id, true)
  if (reason || !consent) {
    renderer.block(reason ?? 'consent_missing', consent)
    return null
  }
  const key = `${decision.placement.asset_token} ${consent.revision}`
  const before = shown.get(renderer.occupants.get(target)!)
  if (before?.key === key && /mounting|rendered/.test(before.handle.state)) return before.handle
  let mount: Mount | null = null
  let isEnded = false
  const end = (why: string): void => {
    isEnded = true
    mount?.clear(why)
    renderer.leave(target, occupant)
  }
  const handle: Handle = {
    target,
    get state() {
      return mount?.state ?? (isEnded ? 'cleared' : 'mounting')
    },
    clear: () => end('cleared'),
  }
  const occupant: Occupant = { end }
  shown.set(occupant, { key, handle })
  if (!renderer.occupy(target, occupant)) return null
  const show = async (): Promise<void> => {
    const { mountPlacement } = await loader.load(decision.placement.render.script_url)
    if (isEnded) return
    mount = mountPlacement({
      target,
      placement: decision.placement,
      consent: { ...consent },
      session_id,
      slot_id: response?.slot_id,
      onCleared: () => renderer.leave(target, occupant),
      onReturned: () => {
        if (!isEnded && !renderer.occupants.has(target) && renderer.occupy(target, occupant)) void show()
      },
    })
  }
  show().catch((problem) => {
    renderer.refuse(loader.describe(problem))
    end('failed')
  })
  return handle
}
