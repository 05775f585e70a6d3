/**
 * The outcomes of slots that a recording has, read from its responses: those of v1 and those of old clients. What a
 * recording leaves out is null.
 */
import type { Format, NativeTemplateId } from '#contract/fields.ts'
import { Format as FormatSchema, NativeTemplateId as TemplateSchema } from '#contract/fields.ts'
import { type NoFillReason, noFillReasons } from '#contract/no-fill.ts'
import { isObject, type Json, type JsonObject, valueAt } from '#foundation/json.ts'
import { findEntry } from '#foundation/table-entry.ts'

/** The consent that a recorded decision is bound to. */
interface RecordedConsent {
  isGranted: boolean
  semantic_targeting: boolean
  prompt_shared: boolean
}

/** A fill as a response describes it. Sizes in CSS pixels; addresses as recorded. */
export interface RecordedFill {
  status: 'filled'
  format: Format
  width: number | null
  height: number | null
  /** Milliseconds. */
  duration_ms: number | null
  sponsor_name: string | null
  click_url: string | null
  mime_type: string | null
  image_url: string | null
  video_url: string | null
  icon_url: string | null
  title: string | null
  description: string | null
  cta_text: string | null
  gross_cpm: number | null
  currency: string | null
  template_id: NativeTemplateId | null
}

interface RecordedNoFill {
  status: 'no_fill'
  /** A reason that the contract does not have is `no_demand`. */
  reason: NoFillReason
}

export interface RecordedDecision {
  outcome: RecordedFill | RecordedNoFill
  label_text: string | null
  consent: RecordedConsent | null
}

/** Returns the decision of a response body; null without one, or while it is pending. */
export function readDecision(body: Json): RecordedDecision | null {
  if (!isObject(body)) return null
  const decision = isObject(body.decision) ? body.decision : body
  const outcome = readOutcome(body, decision)
  if (outcome === null) return null
  const label_text = text(decision.ad_label_text) ?? text(valueAt(body, 'placement.ad_label_text'))
  return { outcome, label_text, consent: readConsent(body.authoritative_consent) }
}

/** What every store takes as an integer. */
const maxNumber = 2_147_483_647

/** Returns the first field of a fill whose number is larger than what can be stored; null without one. */
export function findExcess({ outcome }: RecordedDecision): string | null {
  const found = Object.entries(outcome).find(([, value]) => typeof value === 'number' && value > maxNumber)
  return found?.[0] ?? null
}

function readOutcome(body: JsonObject, decision: JsonObject): RecordedFill | RecordedNoFill | null {
  if (decision.fill === false) {
    const reason = text(decision.no_fill_reason) ?? ''
    return {
      status: 'no_fill',
      reason: findEntry(noFillReasons, reason) === undefined ? 'no_demand' : (reason as NoFillReason),
    }
  }
  if (decision.fill !== true) return null
  return isObject(decision.creative) ? readLegacyFill(decision, decision.creative) : readFill(body, decision)
}

function readFill(body: JsonObject, decision: JsonObject): RecordedFill | null {
  const format = FormatSchema.safeParse(decision.format)
  if (!format.success) return null
  const placement = isObject(body.placement) ? body.placement : {}
  const render = isObject(placement.render) ? placement.render : {}
  const assets = isObject(decision.assets) ? decision.assets : {}
  const template = TemplateSchema.safeParse(render.native_template_id)
  const delivery_url = text(decision.delivery_url)
  return {
    status: 'filled',
    format: format.data,
    width: size(placement.width) ?? size(valueAt(decision, 'dimensions.width')),
    height: size(placement.height) ?? size(valueAt(decision, 'dimensions.height')),
    duration_ms: size(decision.duration_ms),
    sponsor_name: text(placement.sponsor_name) ?? text(decision.sponsor_name),
    click_url: text(placement.click_url) ?? text(decision.click_url),
    mime_type: text(decision.mime_type),
    image_url: text(assets.image_url) ?? text(placement.image_url) ?? (format.data === 'banner' ? delivery_url : null),
    video_url: text(placement.video_url) ?? (format.data === 'clip' ? delivery_url : null),
    icon_url: text(assets.icon_url),
    ...readTexts(assets),
    ...readPrice(decision),
    template_id: template.success ? template.data : null,
  }
}

/** A fill in the shape of old clients. */
function readLegacyFill(decision: JsonObject, creative: JsonObject): RecordedFill | null {
  const format = FormatSchema.safeParse(creative.type)
  if (!format.success) return null
  const assets = isObject(creative.native_assets) ? creative.native_assets : {}
  const url = text(creative.url)
  return {
    status: 'filled',
    format: format.data,
    width: size(creative.width),
    height: size(creative.height),
    duration_ms: size(creative.duration_ms),
    sponsor_name: text(creative.sponsor_name),
    click_url: text(creative.click_through_url),
    mime_type: text(creative.mime_type),
    image_url: format.data === 'clip' ? null : (text(assets.image_url) ?? url),
    video_url: format.data === 'clip' ? url : null,
    icon_url: text(assets.icon_url),
    ...readTexts(assets),
    ...readPrice(decision),
    template_id: null,
  }
}

function readTexts(assets: JsonObject) {
  return { title: text(assets.title), description: text(assets.description), cta_text: text(assets.cta_text) }
}

function readPrice({ revenue_estimate }: JsonObject) {
  const estimate = isObject(revenue_estimate) ? revenue_estimate : {}
  return { gross_cpm: positive(estimate.gross_cpm), currency: text(estimate.currency) }
}

function readConsent(snapshot: Json | undefined): RecordedConsent | null {
  if (!isObject(snapshot)) return null
  return {
    isGranted: snapshot.lifecycle_state === 'granted',
    semantic_targeting: valueAt(snapshot, 'purposes.semantic_targeting') === true,
    prompt_shared: valueAt(snapshot, 'purposes.prompt_shared') === true,
  }
}

function text(value: Json | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

function positive(value: Json | undefined): number | null {
  return typeof value === 'number' && value > 0 ? value : null
}

function size(value: Json | undefined): number | null {
  const found = positive(value)
  return found === null ? null : Math.round(found)
}
