/**
 * The demand catalogue: the shape of `fixtures/demand.json` (A43), the exchange rates of its currencies, its sizes
 * (A38), and the topics that match it (A50).
 */

import { z } from 'zod'
import { Currency, Domain, EpochMs, type Format, IabCategory, JobType } from '#contract/fields.ts'
import { strictObject } from '#contract/objects.ts'
import { entryOf } from '#foundation/table-entry.ts'

/** USD per unit of a currency: fixed, so a decision does not depend on the day. */
const usdRates: Readonly<Record<string, number>> = {
  USD: 1,
  AUD: 0.66,
  BRL: 0.18,
  CAD: 0.73,
  CHF: 1.12,
  CNY: 0.14,
  DKK: 0.145,
  EUR: 1.08,
  GBP: 1.27,
  INR: 0.012,
  JPY: 0.0067,
  KRW: 0.00073,
  MXN: 0.055,
  NOK: 0.094,
  NZD: 0.6,
  PLN: 0.25,
  SEK: 0.095,
  SGD: 0.74,
  ZAR: 0.054,
}

/** Whether a price in this currency can be compared; ISO 4217 has more currencies than the table has rates. */
export function hasUsdRate(currency: string): boolean {
  return Object.hasOwn(usdRates, currency)
}

/** Returns the USD per unit of a currency. A currency without a rate counts as USD. */
export function usdRate(currency: string): number {
  return entryOf(usdRates, currency) ?? 1
}

const id = (prefix: string) =>
  z.string().regex(new RegExp(`^${prefix}_[a-z0-9_]{1,64}$`), `must be ${prefix}_ and a name`)
const KnownCurrency = Currency.refine(hasUsdRate, 'must be a currency of the rate table')
const Country = z.string().regex(/^[A-Z]{2}$/, 'must be ISO 3166-1 alpha-2, such as DE')
const TopicSlug = z
  .string()
  .refine((topic) => topic !== '' && normalizeTopic(topic) === topic, 'must be a lower-case slug')
const File = z.string().regex(/^[a-z0-9-]+\/[a-z0-9-]+\.[a-z0-9]+$/, 'must be <folder>/<file>.<extension>')
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
    poster_file: File,
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
}))
export type Campaign = z.infer<typeof Campaign>

/** The shape of `fixtures/demand.json` (A43). */
export const MarketData = strictObject(() => ({
  revision: z.int().min(1),
  partners: z.array(
    strictObject(() => ({ partner_id: id('ptn'), name: shortText, seat: shortText, currency: KnownCurrency })),
  ),
  campaigns: z.array(Campaign),
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

/** CSS pixels. */
interface Size {
  readonly width: number
  readonly height: number
}

/** The sizes of banners and clips, largest area first (A38). Native is laid out by its template. */
export const standardSizes: Readonly<Record<Exclude<Format, 'native'>, readonly Size[]>> = {
  banner: [
    { width: 970, height: 250 },
    { width: 336, height: 280 },
    { width: 300, height: 250 },
    { width: 728, height: 90 },
    { width: 320, height: 100 },
    { width: 320, height: 50 },
  ],
  clip: [
    { width: 640, height: 360 },
    { width: 320, height: 180 },
  ],
}

/** The size of a slot without any hint (A38). */
const unhinted: Readonly<Record<Exclude<Format, 'native'>, Size>> = {
  banner: { width: 300, height: 250 },
  clip: { width: 640, height: 360 },
}

/** The smallest slot where a native template is legible. */
const smallestNative: Size = { width: 120, height: 50 }

export function isStandardSize(format: Exclude<Format, 'native'>, size: Size): boolean {
  return standardSizes[format].some(({ width, height }) => width === size.width && height === size.height)
}

/**
 * Returns the largest of the available sizes, by area, that fits the slot (A38), or null when none does.
 *
 * Bounds are CSS pixels; null is no bound. Without either, the slot is 300x250 for banner and 640x360 for clip. Native
 * adapts: it fits every slot of at least 120x50, whatever the size of its image.
 */
export function bestSize<S extends Size>(
  format: Format,
  max_width: number | null,
  max_height: number | null,
  available: readonly S[],
): S | null {
  const hinted = max_width !== null || max_height !== null
  const slot_width = max_width ?? Number.POSITIVE_INFINITY
  const slot_height = max_height ?? Number.POSITIVE_INFINITY
  if (format === 'native') {
    const fits = slot_width >= smallestNative.width && slot_height >= smallestNative.height
    return fits ? (available[0] ?? null) : null
  }
  const width = hinted ? slot_width : unhinted[format].width
  const height = hinted ? slot_height : unhinted[format].height
  let best: S | null = null
  for (const size of available) {
    if (size.width > width || size.height > height) continue
    if (best === null || size.width * size.height > best.width * best.height) best = size
  }
  return best
}

/*
 * Topics: the reduced signal that is matched instead of prompt text (A50, A52). * A topic is found by keywords. Text
 * and keywords are split into words alike: lower case, without accents and Arabic vowel signs, punctuation as a
 * boundary. In scripts without spaces (Chinese, Japanese, Thai) each character is a word, so a keyword is found inside
 * a sentence. The keywords form a tree of words, and one pass over the text takes the longest keyword at each word. The
 * time is linear in the length of the text.
 */

interface Branch {
  readonly next: Map<string, Branch>
  /** Topics with a keyword that ends here, as positions in `topics`. */
  readonly ends: number[]
}

interface TopicIndex {
  readonly topics: readonly string[]
  readonly root: Branch
}

const word =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}]|[[\p{L}\p{N}\p{M}]--[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}]]+/gv
const accents = /[\u0300-\u036f\u0640\u064b-\u065f]+/g

/** Builds the keyword tree. `data` has the shape of `fixtures/topics.json`: keywords by topic. */
export function prepareTopics(data: { topics: Record<string, string[]> }): TopicIndex {
  const topics = Object.keys(data.topics)
  const root: Branch = { next: new Map(), ends: [] }
  for (const [position, topic] of topics.entries()) {
    for (const keyword of data.topics[topic] ?? []) addKeyword(root, wordsOf(keyword), position)
  }
  return { topics, root }
}

/**
 * Returns the topic with the most keywords in the text, or null when there is none. On a tie, the topic mentioned first
 * wins, then the first one in the data. A keyword inside a longer one is not counted.
 */
export function deriveTopic(index: TopicIndex, text: string): string | null {
  const words = wordsOf(text)
  const hits = new Map<number, number>()
  for (let start = 0; start < words.length; ) {
    const match = longestMatch(index.root, words, start)
    if (match === null) {
      start++
      continue
    }
    for (const topic of match.topics) hits.set(topic, (hits.get(topic) ?? 0) + 1)
    start = match.end
  }
  let best: number | null = null
  for (const [topic, count] of hits) {
    if (best === null || count > (hits.get(best) ?? 0)) best = topic
  }
  return best === null ? null : (index.topics[best] ?? null)
}

/**
 * Whether a topic is on the high-risk list, or is a narrower form of a listed one: with `grief` blocked, `Grief`,
 * `grief support` and `grief-support` are all high-risk, `griefing` is not.
 */
export function isHighRisk(blocked: readonly string[], topic: string): boolean {
  const bounded = `-${normalizeTopic(topic)}-`
  return blocked.some((entry) => bounded.includes(`-${normalizeTopic(entry)}-`))
}

/** Returns the normalized spelling of a topic: `Machine Learning` and `machine_learning` become `machine-learning`. */
export function normalizeTopic(topic: string): string {
  return topic
    .normalize('NFKC')
    .toLowerCase()
    .trim()
    .replace(/[\s_-]+/g, '-')
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().normalize('NFKD').replace(accents, '').match(word) ?? []
}

function addKeyword(root: Branch, words: readonly string[], topic: number): void {
  if (words.length === 0) return
  let branch = root
  for (const step of words) {
    let next = branch.next.get(step)
    if (next === undefined) {
      next = { next: new Map(), ends: [] }
      branch.next.set(step, next)
    }
    branch = next
  }
  if (!branch.ends.includes(topic)) branch.ends.push(topic)
}

function longestMatch(
  root: Branch,
  words: readonly string[],
  start: number,
): { topics: readonly number[]; end: number } | null {
  let branch: Branch | undefined = root
  let match: { topics: readonly number[]; end: number } | null = null
  for (let end = start; end < words.length; ) {
    branch = branch.next.get(words[end]!)
    if (branch === undefined) break
    end++
    if (branch.ends.length > 0) match = { topics: branch.ends, end }
  }
  return match
}
