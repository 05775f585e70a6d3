/** The demand catalogue: the shape of `fixtures/demand.json` (A43), and of your own demand once it was read (A107). */

import { z } from 'zod'
import { Currency, Domain, EpochMs, IabCategory, JobType, Purpose } from '#contract/fields.ts'
import { strictObject } from '#contract/objects.ts'
import { Latency } from '#contract/resources/projects.ts'
import { isLoopback } from '#foundation/http.ts'
import { hasUsdRate } from './currencies.ts'
import { isStandardSize } from './sizes.ts'
import { normalizeTopic } from './topics.ts'

const id = (prefix: string) =>
  z.string().regex(new RegExp(`^${prefix}_[a-z0-9_]{1,64}$`), `must be ${prefix}_ and a name`)

export const KnownCurrency = Currency.refine(hasUsdRate, 'must be a currency of the rate table')
export const Country = z.string().regex(/^[A-Z]{2}$/, 'must be ISO 3166-1 alpha-2, such as DE')
export const TopicSlug = z
  .string()
  .refine((topic) => topic !== '' && normalizeTopic(topic) === topic, 'must be a lower-case slug')

const File = z.string().regex(/^[a-z0-9-]+\/[a-z0-9-]+\.[a-z0-9]+$/, 'must be <folder>/<file>.<extension>')
/** Where the files of your own demand are, in the names of creatives. */
export const ownFolder = 'demand/'
const MediaType = z.string().regex(/^(image|video)\/[a-z0-9.+-]+$/, 'must be an image or video media type')
const shortText = z.string().min(1).max(256)
const longText = z.string().min(1).max(2_000)
const pixels = z.int().min(1).max(4096)

const media = () => ({ creative_id: id('crv'), width: pixels, height: pixels })
const standard = { message: 'must be a standard size of its format (A38)', path: ['width'] }

export const Creative = z.discriminatedUnion('format', [
  strictObject(() => ({ ...media(), format: z.literal('banner'), file: File, mime_type: MediaType })).refine(
    (creative) => isStandardSize('banner', creative),
    standard,
  ),
  strictObject(() => ({
    ...media(),
    format: z.literal('clip'),
    duration_ms: z.int().min(1),
    file: File,
    poster_file: File.optional(),
    mime_type: MediaType,
  })).refine((creative) => isStandardSize('clip', creative), standard),
  strictObject(() => ({
    ...media(),
    format: z.literal('native'),
    title: shortText,
    description: longText.optional(),
    cta_text: shortText,
    image_file: File,
    icon_file: File,
  })),
])

export type Creative = z.infer<typeof Creative>

const capCount = z.int().min(1).max(1_000_000).optional()

/** The most fills of a campaign; without a session, the caps of sessions do not apply. */
export const capFields = () => ({
  session: capCount.describe('In one session.'),
  user_per_day: capCount.describe('In one session in a day.'),
  global_per_hour: capCount.describe('Of the project in an hour.'),
})

export function campaignId(name: string): string {
  return `cmp_${name}`
}

/** An empty `topics`, `job_types` or `countries` means any. A campaign without topics is run-of-network. */
export const Campaign = strictObject(() => ({
  campaign_id: id('cmp'),
  partner_id: id('ptn'),
  sponsor_name: shortText,
  landing_domain: Domain,
  click_url: z.url({ protocol: /^https?$/ }),
  iab_categories: z.array(IabCategory).min(1),
  price_cpm: z.number().positive(),
  currency: KnownCurrency,
  topics: z.array(TopicSlug),
  job_types: z.array(JobType),
  countries: z.array(Country),
  /** Includes the start, excludes the end; null is no bound. */
  flight: strictObject(() => ({ starts_at_ms: EpochMs.nullable(), ends_at_ms: EpochMs.nullable() })),
  creatives: z.array(Creative).min(1),
  caps: strictObject(capFields).optional(),
  /** Purposes without which it makes no offer. */
  needs_consent: z.array(Purpose).optional(),
  /** Where it is written: a file of yours, and its line. The seeded ones have none. */
  source: strictObject(() => ({ file: z.string(), line: z.int() })).optional(),
}))

export type Campaign = z.infer<typeof Campaign>

const share = z.number().min(0).max(1).optional()

/** Where a bidder of your own listens: on this computer, by name or address, and nowhere else (A107). */
const BidderUrl = z
  .string()
  .max(500)
  .refine(isOnThisComputer, 'must be http on this computer, such as http://127.0.0.1:4999/bid')

/** Whether a text is a URL of http whose host is this computer itself, without a name or password. */
export function isOnThisComputer(text: string): boolean {
  const url = URL.parse(text)
  if (url === null || url.protocol !== 'http:' || url.username !== '' || url.password !== '') return false
  return isLoopback(url.hostname) && !url.hostname.endsWith('.localhost')
}

/** How long partners are waited for, milliseconds. */
export const WindowMs = z.int().min(1).max(10_000)

export const Partner = strictObject(() => ({
  partner_id: id('ptn'),
  name: shortText,
  seat: shortText,
  currency: KnownCurrency,
  latency_ms: Latency.optional().describe('When it answers, milliseconds, or a distribution. Default: at once.'),
  error_rate: share.describe('Share of opportunities that it answers with an error.'),
  malformed_rate: share.describe('Share that it answers with a creative that cannot be read.'),
  oversized_rate: share.describe('Share that it answers with a creative that is too large.'),
  below_floor_rate: share.describe('Share that it answers with a bid below the floor.'),
  url: BidderUrl.optional().describe('Your own bidder, asked for each decision: http://127.0.0.1:4999/bid'),
}))

/** The shape of `fixtures/demand.json` (A43). */
export const MarketData = strictObject(() => ({
  revision: z.int().min(1),
  partners: z.array(Partner),
  window_ms: WindowMs.optional(),
  campaigns: z.array(Campaign),
  /** The bytes of your own creatives, base64, by their name in creatives: whatever has the catalogue can show them. */
  files: z
    .record(
      File,
      strictObject(() => ({ media_type: MediaType, base64: z.base64() })),
    )
    .optional(),
})).superRefine(({ partners, campaigns }, context) => {
  const known = new Set(partners.map((partner) => partner.partner_id))
  const seen = new Set<string>()
  for (const [index, { campaign_id, partner_id }] of campaigns.entries()) {
    const path = ['campaigns', index]
    if (!known.has(partner_id)) {
      context.addIssue({ code: 'custom', path: [...path, 'partner_id'], message: 'must be one of partners' })
    }
    if (seen.has(campaign_id)) {
      context.addIssue({ code: 'custom', path: [...path, 'campaign_id'], message: 'must be unique' })
    }
    seen.add(campaign_id)
  }
})

export type MarketData = z.infer<typeof MarketData>
