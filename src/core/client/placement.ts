/** One shape for every decision, however it arrived: a placement of v1, the shape of old clients, a callback. */

import type { Format } from '#contract/fields.ts'
import { isObject } from '#foundation/json.ts'

export interface NormalizedNative {
  title: string
  image_url: string
  description: string | null
  cta_text: string | null
  icon_url: string | null
}

export interface FilledPlacement {
  status: 'filled'
  slot_id: string
  format: Format
  /** Sent with beacons. */
  asset_token: string
  /** The banner image, the clip video, or the main image of a native fill. */
  media_url: string
  mime_type: string | null
  /** CSS pixels. */
  width: number
  height: number
  /** Length of a clip, milliseconds; null for formats that do not play. */
  duration_ms: number | null
  click_url: string | null
  sponsor_name: string | null
  /** The ad label; null when the decision has none. */
  label_text: string | null
  /** The structured assets of a native fill; null for other formats. */
  native: NormalizedNative | null
  /** For one iframe, when the service renders the ad; null in the shapes of old clients. */
  frame_url: string | null
}

export type NormalizedPlacement =
  | FilledPlacement
  | { status: 'pending'; slot_id: string }
  | { status: 'expired'; slot_id: string }
  | { status: 'no_fill'; slot_id: string; reason: string; retryable: boolean }

type Fields = Readonly<Record<string, unknown>>

/**
 * Returns a response of POST /v1/placements or GET /v1/decisions/{slot_id}, or a decision in the shape of old clients,
 * as one of four: filled, no_fill, pending, expired. Never throws: returns null for anything else, and for a fill
 * without a creative.
 */
export function normalizePlacement(response: unknown): NormalizedPlacement | null {
  const whole = asFields(response)
  const slot_id = asText(whole?.slot_id)
  if (whole === null || slot_id === null) return null
  if (whole.status === 'pending') return { status: 'pending', slot_id }
  const decision = 'decision' in whole ? asFields(whole.decision) : whole
  if (whole.status === 'expired') return { status: 'expired', slot_id }
  if (whole.status !== 'ready' || decision === null) return null
  if (decision.fill === false) return normalizeNoFill(slot_id, decision)
  return normalizeFill(slot_id, whole, decision)
}

const expired = 'slot_expired'

function normalizeNoFill(slot_id: string, { no_fill_reason, retryable }: Fields): NormalizedPlacement {
  if (no_fill_reason === expired) return { status: 'expired', slot_id }
  return { status: 'no_fill', slot_id, reason: asText(no_fill_reason) ?? 'no_fill', retryable: retryable === true }
}

function normalizeFill(slot_id: string, whole: Fields, decision: Fields): FilledPlacement | null {
  const creative = asFields(decision.creative)
  const placement = asFields(whole.placement) ?? {}
  const shown = creative ?? decision
  const size = creative ?? asFields(decision.dimensions) ?? placement
  const format = (creative?.type ?? decision.format) as Format
  const native = normalizeNative(creative?.native_assets ?? decision.assets)
  const fill: ReadFill = {
    status: 'filled',
    slot_id,
    format,
    asset_token: asText(decision.asset_token),
    media_url: native?.image_url ?? asText(creative?.url ?? decision.delivery_url),
    mime_type: asText(shown.mime_type),
    width: asNumber(size.width),
    height: asNumber(size.height),
    duration_ms: format === 'clip' ? asNumber(shown.duration_ms) : null,
    click_url: asText(creative?.click_through_url ?? decision.click_url ?? placement.click_url),
    sponsor_name: asText(shown.sponsor_name ?? placement.sponsor_name),
    label_text: asText(decision.ad_label_text ?? placement.ad_label_text),
    native,
    frame_url: asText(asFields(placement.render)?.frame_url),
  }
  return isWhole(fill) ? fill : null
}

/** A fill as a response has it: what no ad can do without may be missing. */
type ReadFill = {
  [Name in keyof FilledPlacement]:
    | FilledPlacement[Name]
    | (Name extends 'asset_token' | 'media_url' | 'width' | 'height' ? null : never)
}

function isWhole(fill: ReadFill): fill is FilledPlacement {
  const { asset_token, media_url, width, height, format } = fill
  return Boolean(asset_token && media_url) && width! > 0 && height! > 0 && /^(banner|clip|native)$/.test(format)
}

function normalizeNative(value: unknown): NormalizedNative | null {
  const assets = asFields(value)
  const title = asText(assets?.title)
  const image_url = asText(assets?.image_url)
  if (assets === null || title === null || image_url === null) return null
  return {
    title,
    image_url,
    description: asText(assets.description),
    cta_text: asText(assets.cta_text),
    icon_url: asText(assets.icon_url),
  }
}

function asFields(value: unknown): Fields | null {
  return isObject(value) ? value : null
}

function asText(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

function asNumber(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}
