/** The shape of a file of demand: your own campaigns, with the names of the API's fields where it has them. */
import { z } from 'zod'
import { IabCategory, JobType, Purpose } from '#contract/fields.ts'
import {
  Country,
  campaignId,
  capFields,
  isOnThisComputer,
  KnownCurrency,
  Partner,
  TopicSlug,
  WindowMs,
} from '#domain/catalogue.ts'

const text = (most: number) => z.string().min(1, 'must not be empty').max(most, `must be at most ${most} characters`)
const file = (what: string) => text(200).describe(`${what}, a path below the folder of this file.`)
const partnerId = /^[a-z0-9_]{1,48}$/
const id = z.string().regex(partnerId, 'must be 1 to 48 of a-z, 0-9 and _')
const day = z.union([z.iso.date(), z.iso.datetime({ offset: true })], {
  error: 'must be a day or a time, such as 2027-02-28 or 2027-02-28T18:00:00Z',
})

const MediaCreative = z.strictObject({
  file: file('A picture (PNG, JPEG, WebP, GIF, SVG) or a clip (MP4, WebM)'),
  size: z
    .string()
    .regex(/^[0-9]{1,4}x[0-9]{1,4}$/, 'must be WIDTHxHEIGHT, such as 300x250')
    .optional()
    .describe('The size in which it is shown, CSS pixels. Default: the standard size of its shape.'),
  duration_ms: z.int().min(1).optional().describe('Length of a clip. Default: as the file says.'),
  poster: file('The picture of a clip before it plays').optional(),
})

const NativeCreative = z.strictObject({
  title: text(256).describe('Title of a native ad.'),
  description: text(2_000).optional().describe('A sentence below it.'),
  cta_text: text(256).describe('Call to action.'),
  image: file('Its picture'),
  icon: file('The icon of the sponsor'),
})

const OwnCampaign = z.strictObject({
  id: id.optional().describe('campaign_id, with or without cmp_. Default: the name of the sponsor.'),
  partner: z
    .string()
    .max(500)
    .refine(
      (text) => partnerId.test(text) || isOnThisComputer(text),
      'must be the id of one of partners, or http on this computer, such as http://127.0.0.1:4999/bid',
    )
    .optional()
    .describe('The id of one of partners, or the URL of a bidder of your own. Default: own.'),
  sponsor_name: text(256).describe('Shown beside the label.'),
  click_url: z.url({ protocol: /^https?$/, error: 'must be a URL with http or https' }).describe('The landing page.'),
  landing_domain: z.string().optional().describe('What blocked_domains compare. Default: the host of click_url.'),
  price_cpm: z.number().positive('must be more than 0').max(1_000_000).describe('The bid, for 1,000 impressions.'),
  currency: KnownCurrency.optional().describe('ISO 4217. Default: USD.'),
  iab_categories: z.array(IabCategory).min(1).optional().describe('Default: IAB24, uncategorised.'),
  topics: z.array(TopicSlug).optional().describe('Lower-case words with -. Default: run of network.'),
  job_types: z.array(JobType).optional().describe('Default: all.'),
  countries: z.array(Country).optional().describe('Default: all.'),
  starts_at: day.optional().describe('First moment, UTC where no offset is given.'),
  ends_at: day.optional().describe('The end; a day includes none of it.'),
  caps: z.strictObject(capFields()).optional().describe('Most fills of this campaign.'),
  needs_consent: z.array(Purpose).min(1).optional().describe('Purposes without which it makes no offer.'),
  creatives: z.array(z.union([MediaCreative, NativeCreative])).min(1, 'must not be empty'),
})
export type OwnCampaign = z.infer<typeof OwnCampaign>
export type OwnCreative = OwnCampaign['creatives'][number]

const { partner_id: _, seat: __, ...partnerFields } = Partner.shape

export const DemandFile = z.strictObject({
  window_ms: WindowMs.optional().describe('How long partners are waited for, milliseconds. Default: 300.'),
  partners: z
    .array(z.strictObject({ ...partnerFields, id, name: text(256).optional(), currency: KnownCurrency.optional() }))
    .optional()
    .describe('Who makes the offers, and how they behave.'),
  campaigns: z.array(OwnCampaign).max(20_000).optional(),
})
export type DemandFile = z.infer<typeof DemandFile>

/** Returns the JSON schema of the files, for editors: `fixtures/svc.demand.schema.json`. */
export function demandSchema(): object {
  const { $schema, ...schema } = z.toJSONSchema(DemandFile, { io: 'input', reused: 'ref', unrepresentable: 'any' })
  return { $schema, $id: 'urn:svc:demand:v1', ...schema }
}

/** The `campaign_id` of a campaign, before it is made unique. */
export function nameCampaign({ id: own, sponsor_name }: Pick<OwnCampaign, 'id' | 'sponsor_name'>): string {
  const slug = sponsor_name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .slice(0, 48)
    .replace(/^_+|_+$/g, '')
  return campaignId(own?.replace(/^cmp_/, '') ?? (slug === '' ? 'own' : slug))
}
