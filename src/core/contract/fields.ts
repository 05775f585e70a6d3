/** Schemas that two or more resources use. */

import { z } from 'zod'
import { walkJson } from '#foundation/json/walk.ts'
import { tableNames } from '#foundation/table-entry.ts'
import { formats } from './facts/formats.ts'
import { consentStates, modes } from './facts/stored-words.ts'
import type { IdPrefix } from './ids.ts'
import { limits } from './limits.ts'
import { noFillReasons } from './no-fill.ts'
import { assumed, assumedFields, assumedObject, documented, observed, strictObject, withKeywords } from './objects.ts'

export { consentStates, formats, modes }
export const jobTypes = ['chat', 'code', 'image', 'voice', 'agent'] as const
export const nativeTemplates = ['card', 'list_item', 'featured', 'minimal'] as const
export const positions = ['above', 'below', 'sidebar', 'between', 'inline'] as const
export const timings = ['during', 'before', 'after'] as const
export const slotStatuses = ['pending', 'ready', 'expired'] as const
export const consentMechanisms = ['none', 'wrapper_cmp', 'svc_consent'] as const
export const httpMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

export const JobType = z.enum(jobTypes)
export type JobType = z.infer<typeof JobType>
export const Format = z.enum(formats)
export type Format = z.infer<typeof Format>
export const NativeTemplateId = z.enum(nativeTemplates)
export type NativeTemplateId = z.infer<typeof NativeTemplateId>
export const Position = z.enum(positions)
export const Timing = z.enum(timings)
export const ConsentState = z.enum(consentStates)
export type ConsentState = z.infer<typeof ConsentState>
export const SlotStatus = z.enum(slotStatuses)
export type SlotStatus = z.infer<typeof SlotStatus>
export const Mode = z.enum(modes)
export type Mode = z.infer<typeof Mode>
export const ConsentMechanism = z.enum(consentMechanisms)
/** The purposes that the service acts on. */
export const Purpose = z.enum(['semantic_targeting', 'prompt_shared'])
export type Purpose = z.infer<typeof Purpose>
/** A boolean in a query. */
export const BooleanText = z.enum(['true', 'false'])
export const NoFillReasonCode = z.enum(tableNames(noFillReasons))

/** `proj_` and a name (A01). */
export const ClientId = z.string().regex(/^proj_[a-z0-9_-]{1,64}$/, 'must be proj_ and a name, such as proj_demo')
/** Returns the schema of any text of `least` to `most` characters in one line, without control characters. */
export function plainText(least: number, most: number, decision: string) {
  // As text: Biome refuses control characters in a literal, and every JSON Schema validator reads \\x.
  const form = new RegExp(`^[^\\x00-\\x1f\\x7f-\\x9f]{${least},${most}}$`, 'u')
  return z.string().regex(form, `must be ${least} to ${most} characters without control characters (${decision})`)
}
/** Chosen by the caller: any text of 1 to 256 characters without control characters (A01). */
export const SessionId = plainText(1, 256, 'A01')

/** The pattern of an identifier that the service creates (A01). */
const idPattern = (prefix: IdPrefix) => ({ pattern: `^${prefix}_[0-9a-hjkmnp-tv-z]{11}$` })

export const JobId = withKeywords(z.string(), idPattern('job'))
export const SlotId = withKeywords(z.string(), idPattern('slot'))
export const RequestId = withKeywords(z.string(), idPattern('req'))
export const KeyId = withKeywords(z.string(), idPattern('key'))
export const ConsentId = withKeywords(z.string(), idPattern('cns'))
/** Opaque after its prefix. The sandbox redacts it in its journal and lists. */
export const AssetToken = withKeywords(z.string(), { pattern: '^ast_' })

/** Unix epoch milliseconds. */
export const EpochMs = z.int().min(0)
/** `<name>/v<major>`. */
export const ContractVersion = z.string().regex(/^[a-z0-9_.-]{1,64}\/v[0-9]{1,4}$/, 'must be <name>/v1')

export const maxTopic = 200
const maxText = 8000
const shortText = z.string().min(1).max(256)
export const Topic = z.string().min(1).max(maxTopic)
export const PromptText = z.string().max(maxText)

/** The object form of a prompt. */
export const PromptObject = strictObject(() => ({
  topic: documented(
    Topic.optional(),
    'A reduced signal, not prompt text. Takes part in matching only with semantic_targeting.',
    'A52',
  ),
  text: documented(
    PromptText.optional(),
    'Raw prompt text. Processed only when consent.prompt_shared is true; otherwise dropped on receipt.',
    'A50',
  ),
  token_count_estimate: observed(z.number().min(0).optional(), 'C02', 'Accepted and journalled.'),
}))
/** A prompt as an object, preferred, or as a string, which is text. */
export const promptError = 'an object { topic, text } or a string, the text of the last message; no list of messages'
export const Prompt = z.union([PromptObject, PromptText], { error: promptError })

const pixels = z.int().min(1).max(4096)
export const SlotHint = strictObject(() => ({
  position: documented(Position.optional(), 'Where the slot is on the surface.', 'A38'),
  max_width: documented(pixels.optional(), 'Maximum width of the creative, CSS pixels.', 'A38'),
  max_height: documented(pixels.optional(), 'Maximum height of the creative, CSS pixels.', 'A38'),
}))
export type SlotHint = z.infer<typeof SlotHint>

const currencyForm = 'must be an ISO 4217 code, such as USD'
export const Currency = z.string().regex(/^[A-Z]{3}$/, { error: currencyForm, abort: true })
/** The codes of ISO 4217, including funds, metals and recently replaced currencies. */
const currencies: ReadonlySet<string> = new Set(
  `
  AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD
  CDF CHE CHF CHW CLF CLP CNY COP COU CRC CUC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS
  GIP GMD GNF GTQ GYD HKD HNL HRK HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD
  KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR
  NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SLL SOS SRD SSP STN
  SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAD XAF
  XAG XAU XBA XBB XBC XBD XCD XCG XDR XOF XPD XPF XPT XSU XTS XUA XXX YER ZAR ZMW ZWG ZWL
`
    .trim()
    .split(/\s+/),
)
/** A currency in a request: a code that ISO 4217 does not have is a typing error (A39). */
export const FloorCurrency = Currency.refine((code) => currencies.has(code), currencyForm)
const iabCategory = /^IAB[0-9]{1,2}(-[0-9]{1,2})?$/
export const IabCategory = z.string().regex(iabCategory, 'must be an IAB category, such as IAB8-5')
/** A category in a request. Text that is not an IAB category is accepted, and matches nothing (C02). */
export const Category = z.string().min(1).max(256)
/** Whether a text has the form of an IAB category. */
export function isIabCategory(text: string): boolean {
  return iabCategory.test(text)
}
export const Domain = z
  .string()
  .max(253)
  .regex(
    /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}$/,
    'must be a lower-case domain, such as example.com',
  )
const cpm = z.number().min(0).max(1_000_000)
const capCount = z.int().min(1).max(1_000_000)

export const Publisher = strictObject(() => ({
  app_name: observed(shortText.optional(), 'A39', 'Name of the product.'),
  app_domain: observed(shortText.optional(), 'A39', 'Domain of the product.'),
  app_bundle: observed(shortText.optional(), 'A39', 'Bundle identifier of an app.'),
  categories: observed(z.array(Category).max(64).optional(), 'A39', 'IAB categories of the product.'),
}))

export const FrequencyCap = strictObject(() => ({
  session: observed(capCount.optional(), 'A39', 'Maximum fills in one session.'),
  prompt_interval: observed(capCount.optional(), 'A39', 'Prompts between two fills of one session.'),
  global_per_hour: observed(capCount.optional(), 'A39', 'Maximum fills of the project in an hour.'),
  user_per_day: observed(capCount.optional(), 'A39', 'Maximum fills of one session in a day.'),
}))
export type FrequencyCap = z.infer<typeof FrequencyCap>

/**
 * An object whose fields are accepted and journalled, and not acted on (A34). Its values are any JSON; a recursive
 * schema would check that too, at the cost of searching every body for cycles.
 */
export const Opaque = z
  .record(z.string().max(128), z.unknown())
  .refine(hasFiniteNumbers, 'must contain only numbers that fit in a double')

/** JSON text can contain 1e999, which is not a finite number. */
function hasFiniteNumbers(value: unknown): boolean {
  for (const { value: each } of walkJson(value)) if (typeof each === 'number' && !Number.isFinite(each)) return false
  return true
}

/** Formats that a request allows. An empty array has its own reason code. */
export const AllowedFormats = withKeywords(z.array(Format), { minItems: 1, uniqueItems: true })

/** Lowest price per format, CPM. */
export const Bidfloors = strictObject(() => ({
  default: observed(cpm.optional(), 'A39', 'Floor of formats without their own floor, CPM.'),
  banner: observed(cpm.optional(), 'A39', 'Floor of banner, CPM.'),
  clip: observed(cpm.optional(), 'A39', 'Floor of clip, CPM.'),
  native: observed(cpm.optional(), 'A39', 'Floor of native, CPM.'),
}))

export const Overrides = strictObject(() => ({
  allowed_formats: documented(
    AllowedFormats.optional(),
    'Formats that may fill; name one to test one format at a time. Empty arrays and unsupported values are rejected.',
  ),
  native_template_id: documented(
    NativeTemplateId.optional(),
    'Layout of native fills. Only with native allowed.',
    'A39',
  ),
  timing: documented(Timing.optional(), 'When the placement shows, relative to the generation.', 'A39'),
  bidfloor: documented(cpm.optional(), 'Lowest price, CPM.', 'A39'),
  bidfloor_currency: documented(FloorCurrency.optional(), 'Currency of the floors; USD when absent.', 'A39'),
  bidfloors: observed(Bidfloors.optional(), 'A39', 'Lowest price per format, CPM. Takes precedence over bidfloor.'),
  publisher: documented(Publisher.optional(), 'The product that shows the placement.', 'A39'),
  blocked_categories: documented(
    z.array(Category).max(256).optional(),
    'IAB categories that may not fill; a top-level code blocks its children, any other text nothing.',
    'A39',
  ),
  blocked_domains: observed(
    z.array(Domain).max(256).optional(),
    'A39',
    'Landing domains that may not fill; subdomains included.',
  ),
  frequency_cap: observed(FrequencyCap.optional(), 'A39', 'Frequency caps of this request.'),
  targeting: observed(Opaque.optional(), 'A39', 'Accepted and journalled; not acted on.'),
  pacing: observed(Opaque.optional(), 'A39', 'Accepted and journalled; not acted on.'),
  preferred_partner_id: observed(shortText.optional(), 'A39', 'Partner preferred at equal prices.'),
  gdpr_applies: observed(z.boolean().optional(), 'A39', 'Whether the GDPR applies to this request.'),
  force_campaign_id: assumed(
    z
      .string()
      .regex(/^cmp_[a-z0-9_]{1,64}$/, 'must be cmp_ and a name, such as cmp_larkfield_coffee')
      .optional(),
    'A107',
    'Sandbox only, test traffic: this campaign fills, whatever others offer, or the rule that forbids it is the reason. Never billed.',
  ),
}))
export type Overrides = z.infer<typeof Overrides>

/** Where consent comes from, in the words of its senders. All but `svc_consent` are `wrapper_cmp` in a snapshot (A66). */
export const consentSources = [
  'wrapper_cmp',
  'svc_consent',
  'publisher',
  'publisher_custom',
  'cmp',
  'server_sync',
] as const
export const consentDecisions = ['granted', 'denied', 'withdrawn', 'personalized', 'basic', 'custom'] as const
export const ConsentDecision = z.enum(consentDecisions)
export type ConsentDecision = z.infer<typeof ConsentDecision>

/** Two purposes are acted on; other boolean purposes are accepted and stored (A66). */
export const Purposes = z
  .object({
    semantic_targeting: observed(z.boolean().optional(), 'A66', 'Whether the topic may take part in matching.'),
    prompt_shared: observed(z.boolean().optional(), 'A66', 'Whether prompt text may be processed.'),
  })
  .catchall(z.boolean())

export const ConsentSource = z.enum(consentSources)

export const sourceField = observed(
  ConsentSource.optional(),
  'A66',
  'Consent mechanism, kept as sent; svc_consent stays itself in the snapshot, the others are wrapper_cmp.',
)
export const purposesField = observed(
  Purposes.optional(),
  'A66',
  'The purposes consented to. One that is absent keeps its stored value (A61).',
)
export const decisionField = observed(
  ConsentDecision.optional(),
  'A66',
  'Derived from purposes when absent. personalized grants both purposes, basic neither targeting, custom what purposes say.',
)

const consentString = z.string().max(4096)
export const RequestConsent = strictObject(() => ({
  semantic_targeting: documented(
    z.boolean().optional(),
    'Whether the topic may take part in matching; when absent, the stored value stays.',
    'A61',
  ),
  prompt_shared: documented(
    z.boolean().optional(),
    'Whether prompt text may be processed; when absent, the stored value stays.',
    'A61',
  ),
  gdpr_applies: documented(z.boolean().optional(), 'Whether the GDPR applies.'),
  consent_source: documented(
    shortText.optional(),
    "Names the consent mechanism; svc_consent is the project's own.",
    'A63',
  ),
  source: sourceField,
  purposes: purposesField,
  decision: decisionField,
  session_persistence: observed(z.boolean().optional(), 'A61', 'Accepted and stored as a flag.'),
  cross_session_persistence: observed(z.boolean().optional(), 'A61', 'Accepted and stored as a flag.'),
  tcf_consent_string: observed(consentString.optional(), 'A61', 'IAB TCF string, stored unchanged.'),
  us_privacy: observed(consentString.optional(), 'A61', 'US privacy string, stored unchanged.'),
  gpp_string: observed(consentString.optional(), 'A61', 'IAB GPP string, stored unchanged.'),
  gpp_sections: observed(z.array(z.int()).max(64).optional(), 'A61', 'GPP sections in force, stored unchanged.'),
}))
export type RequestConsent = z.infer<typeof RequestConsent>

export const AuthoritativeConsent = strictObject(() => ({
  lifecycle_state: documented(ConsentState, 'Only granted permits ads.', 'A60'),
  revision: documented(z.int().min(1), 'Incremented when state, purposes or source change.', 'A62'),
  updated_at_ms: documented(EpochMs, 'When this revision was created or renewed, Unix epoch milliseconds.'),
  expires_at_ms: documented(EpochMs, 'When the consent expires, Unix epoch milliseconds.'),
  source: documented(z.string(), 'wrapper_cmp, svc_consent or none.', 'A63'),
  purposes: documented(
    strictObject(() => ({
      semantic_targeting: documented(z.boolean(), 'Whether the topic may take part in matching.'),
      prompt_shared: documented(z.boolean(), 'Whether prompt text may be processed.'),
    })),
    'The purposes consented to.',
  ),
}))
export type AuthoritativeConsent = z.infer<typeof AuthoritativeConsent>

/**
 * Returns the schema of a whole number in a query string, in decimal digits: not `''`, `0x10` or `1e3`, which `Number`
 * accepts too. A client passes it as a number.
 */
export function queryNumber<Schema extends z.ZodType<number, number>>(schema: Schema) {
  return z.preprocess((value: number, context) => {
    const text = String(value)
    // A longer one is not exact, and too large for every limit.
    if (/^-?\d{1,400}$/.test(text)) return Number(text)
    context.issues.push({ code: 'custom', message: 'a whole number in decimal digits, such as 50', input: value })
    return z.NEVER
  }, schema)
}

const waitMs = z.int().min(0)
/** `wait_ms` in a body or a client call: clamped to 5000, of whatever length, with a warning (A22). */
export const WaitMs = z.preprocess(
  (value: number) => (typeof value === 'number' && value > Number.MAX_SAFE_INTEGER ? Number.MAX_SAFE_INTEGER : value),
  waitMs,
)
/** `wait_ms` in a query string. */
export const WaitMsQuery = z.preprocess(
  (value: number) => (/^0*[1-9]\d{15,}$/.test(String(value)) ? Number.MAX_SAFE_INTEGER : value),
  queryNumber(waitMs),
)

export const slotIdParam = documented(SlotId, 'Slot identifier, as returned by POST /v1/placements or POST /v1/jobs.')
export const clientIdField = documented(ClientId, 'Project ID.')
export const sessionIdField = documented(SessionId, 'Stable publisher session identifier.', 'A01')
export const jobTypeField = documented(JobType, 'Workload category.')
export const promptField = documented(Prompt.optional(), 'Optional context, as { topic, text } or a string.', 'A21')
/** Out of range has its own reason code. */
export const slotsRequested = withKeywords(z.int(), {
  minimum: limits.slots_requested.min,
  maximum: limits.slots_requested.max,
})
export const requestIdField = documented(RequestId, 'Support identifier, equal to the x-request-id header.')

/** The body of a change without options. */
export const NoFields = strictObject(() => ({}))

/** The response of a change that has nothing to return: a failure is an error. */
export const Done = assumedObject('A93', () => ({
  ok: z.literal(true).describe('Always true: a failure is an error.'),
}))

/** Returns the schema of a page of a control plane list: `{ items, next_cursor }`. */
export const page = <S extends z.ZodType>(item: S) =>
  assumedObject('A93', () => ({
    items: z.array(item).describe('Newest first.'),
    next_cursor: z.string().nullable().describe('Send as cursor for the next page; null at the end.'),
  }))

export const pageQuery = assumedFields('A93', () => ({
  limit: queryNumber(z.int().min(1).max(1000)).optional().describe('Items in a page, 1 to 1000; default 50.'),
  cursor: z.string().max(64).optional().describe('next_cursor of the previous page.'),
}))

/** The identifier of a slot, job or campaign as a filter: any other text would match nothing. */
export const SlotFilter = z.string().regex(/^slot_[0-9a-z]{11}$/, 'must be the id of a slot')
export const JobFilter = z.string().regex(/^job_[0-9a-z]{11}$/, 'must be the id of a job')
export const CampaignFilter = z.string().regex(/^cmp_[0-9a-z_]{1,64}$/, 'must be the id of a campaign')

/** Codes as a filter, separated by commas. Any other would match nothing. @param shown names one in the message */
export function codesText(codes: readonly string[], shown: string) {
  const any = `(${codes.join('|')})`
  return withKeywords(
    z
      .string()
      .max(1024)
      .regex(new RegExp(`^${any}(,${any})*$`), `must be ${shown}, separated by commas`),
    {
      examples: [...codes],
    },
  )
}

/** A price as a filter, as the reports write it. */
export const PriceFilter = z.string().regex(/^\d{1,9}(\.\d{1,17})?$/, 'must be a price such as 4.5')

export const HttpMethod = z.enum(httpMethods)
/** A method as a filter, in any case: any other text would match nothing. */
export const MethodFilter = z.preprocess(
  (value: string) => (typeof value === 'string' ? value.toUpperCase() : value),
  HttpMethod,
)

/** A timestamp (epoch milliseconds) or a span back from now: 10m, 2h, 30s. */
export const Since = z
  .string()
  .regex(/^(\d{1,16}|\d{1,9}(ms|s|m|h|d))$/, 'must be epoch milliseconds or a span such as 10m')
