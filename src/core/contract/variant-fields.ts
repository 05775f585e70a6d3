/**
 * What public clients send flat beside the fields of the API document, on both routes that create a job (A34), and in parts
 * in the browser branch (A35). POST /v1/jobs and POST /v1/placements spread the same value, so neither lacks a field.
 */

import { z } from 'zod'
import { tableNames } from '#foundation/table-entry.ts'
import {
  AllowedFormats,
  Bidfloors,
  Category,
  Domain,
  FloorCurrency,
  FrequencyCap,
  nativeTemplates,
  Opaque,
  Position,
  PromptText,
  Publisher,
  SessionId,
  Timing,
} from './fields.ts'
import { looseObject, observed, once, strictObject } from './objects.ts'

export const text = z.string().max(256)
const pixels = z.int().min(1).max(4096)

export const SlotConfig = strictObject(() => ({
  allowed_formats: observed(AllowedFormats.optional(), 'A35', 'As overrides.allowed_formats.'),
  max_width: observed(pixels.optional(), 'A35', 'As slot_hint.max_width.'),
  max_height: observed(pixels.optional(), 'A35', 'As slot_hint.max_height.'),
  position_hint: observed(Position.optional(), 'A35', 'As slot_hint.position.'),
  native_template_id: observed(
    z.enum([...nativeTemplates, 'list-item']).optional(),
    'A35',
    'As overrides.native_template_id; list-item is list_item.',
  ),
  bidfloors: observed(Bidfloors.optional(), 'C02', 'As overrides.bidfloors.'),
  bidfloor: observed(z.number().min(0).optional(), 'A35', 'As overrides.bidfloor.'),
  bidfloorcur: observed(FloorCurrency.optional(), 'A35', 'As overrides.bidfloor_currency.'),
  timing: observed(Timing.optional(), 'A35', 'As overrides.timing.'),
}))

/** An open object: other fields that public clients send in it are journalled. */
export const BrandSafety = looseObject(() => ({
  blocked_categories: observed(z.array(Category).max(256).optional(), 'A35', 'As overrides.blocked_categories.'),
  blocked_domains: observed(z.array(Domain).max(256).optional(), 'A35', 'As overrides.blocked_domains.'),
}))

export const DeliveryMode = z.enum(['polling', 'callback', 'websocket'])
export type DeliveryMode = z.infer<typeof DeliveryMode>

export const CallbackUrl = z.string().max(2048)

export const Delivery = strictObject(() => ({
  mode: observed(DeliveryMode.optional(), 'A35', 'The requested delivery of the decision.'),
  callback_url: observed(CallbackUrl.nullable().optional(), 'C07', 'Where the decision of each slot is sent.'),
}))

export const latency_ms = z.number().min(0)

/** A topic of any length, to be cut; an empty one counts as absent. */
const LooseTopic = z.string()

export const contextFields = () => ({
  topic: observed(
    LooseTopic.optional(),
    'A34',
    'As prompt.topic; an empty one is absent, one over 200 characters is cut.',
  ),
  prompt_text: observed(PromptText.optional(), 'A34', 'As prompt.text.'),
  geo: observed(Opaque.optional(), 'A34', 'Its field country takes part in matching.'),
  device: observed(Opaque.optional(), 'A34', 'Accepted and journalled.'),
})

export const VariantContext = strictObject(contextFields)

/** How a client proves that it runs on a device, for a human. */
export const Verification = looseObject(() => ({
  device: observed(Opaque.optional(), 'A34', 'Accepted and journalled.'),
  human: observed(Opaque.optional(), 'A34', 'Accepted and journalled.'),
}))

/** Fields that both forms of a job have, each form by its own choice. */
export const surfaceFields = (choice: string) => ({
  publisher: observed(Publisher.optional(), choice, 'As overrides.publisher.'),
  slot_config: observed(SlotConfig.optional(), choice, 'Preferred formats and sizes.'),
  brand_safety: observed(BrandSafety.optional(), choice, 'Blocked categories and domains.'),
})
export const targetingFields = (choice: string) => ({
  verification: observed(Verification.optional(), choice, 'Accepted and journalled.'),
  frequency_cap: observed(FrequencyCap.optional(), choice, 'As overrides.frequency_cap.'),
  targeting: observed(Opaque.optional(), choice, 'As overrides.targeting.'),
  pacing: observed(Opaque.optional(), choice, 'As overrides.pacing.'),
})

/** Fields that public clients send flat, mapped to the canonical fields on receipt (A34). */
export const variantFields = once(() => ({
  context: observed(VariantContext.optional(), 'A34', 'Context in the variant form.'),
  chat_session_id: observed(SessionId.optional(), 'A34', 'As session_id.'),
  model_id: observed(text.optional(), 'A34', 'Accepted and journalled.'),
  predicted_latency_ms: observed(
    latency_ms.optional(),
    'A34',
    'How long the generation takes; gives a fill its metadata (C03).',
  ),
  ...surfaceFields('A34'),
  routing: observed(Opaque.optional(), 'A34', 'Accepted and journalled.'),
  ssp_partner_id: observed(text.optional(), 'A34', 'As overrides.preferred_partner_id.'),
  delivery: observed(Delivery.optional(), 'A34', 'The requested delivery of the decision.'),
  callback_url: observed(CallbackUrl.nullable().optional(), 'C07', 'Where the decision of each slot is sent.'),
  ...targetingFields('A34'),
  timing: observed(Timing.optional(), 'A34', 'As overrides.timing.'),
}))

/** Of both routes too; in a canonical body. */
export const localeField = observed(text.optional(), 'A34', 'BCP 47 language tag; accepted and journalled.')

type VariantField = keyof ReturnType<typeof variantFields>

/** Returns the names of the variant fields. A body with one of them may omit client_id. */
export const variantFieldNames = once((): VariantField[] => tableNames(variantFields()))
