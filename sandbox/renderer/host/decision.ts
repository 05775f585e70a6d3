/** Reads a v1 placement response as it came over the wire. Everything else is told apart, never passed over. */
import type { Placement } from '../../../src/contract/v1/placements.ts'

export type Answer =
  | { kind: 'filled'; placement: Placement }
  | { kind: 'no_fill'; no_fill_reason: string }
  | { kind: 'pending'; slot_id: string }
  | { kind: 'expired' }
  | { kind: 'unreadable'; got: string[] }

export function readAnswer(response: unknown): Answer {
  if (!isObject(response)) return { kind: 'unreadable', got: [response === null ? 'null' : typeof response] }
  const { slot_id, status, placement, decision } = response
  if (isObject(placement)) {
    return isPlacement(placement)
      ? { kind: 'filled', placement: placement as unknown as Placement }
      : { kind: 'unreadable', got: Object.keys(placement).map((key) => `placement.${key}`) }
  }
  if (isObject(decision) && decision.fill === false) {
    return { kind: 'no_fill', no_fill_reason: String(decision.no_fill_reason) }
  }
  if (status === 'pending' && typeof slot_id === 'string') return { kind: 'pending', slot_id }
  if (status === 'expired') return { kind: 'expired' }
  return { kind: 'unreadable', got: Object.keys(response) }
}

/** Whether it has everything that rendering it needs. */
export function isPlacement({ asset_token, render }: Record<string, unknown>): boolean {
  if (typeof asset_token !== 'string' || !isObject(render)) return false
  const { strategy, frame_url, media_type, width, height, label_text, sponsor_name } = render
  return (
    strategy === 'hosted_frame' &&
    typeof frame_url === 'string' &&
    /^https?:\/\//.test(frame_url) &&
    URL.canParse(frame_url) &&
    ['image', 'video', 'native'].includes(media_type as string) &&
    isSize(width) &&
    isSize(height) &&
    isText(label_text) &&
    isText(sponsor_name)
  )
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isSize(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) > 0 && (value as number) <= 4_096
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== ''
}
