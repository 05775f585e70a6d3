/** The creatives of a campaign, each as everyone may see it: what `svc creatives sheet` and the inspector show. */
import { z } from 'zod'
import { Format, NativeTemplateId } from '../../fields.ts'

export const themes = ['light', 'dark', 'high_contrast'] as const
export type SheetTheme = (typeof themes)[number]

/** Whose words a variant has: the creative's own, or sample words in their place. */
export const wordings = ['own', 'long_words', 'german', 'japanese', 'arabic'] as const
export type Wording = (typeof wordings)[number]

/** One creative under one set of circumstances. Sizes in CSS pixels. */
const SheetVariant = z.object({
  /** Unique within its campaign, and the same in every run: sheets are compared by it. */
  variant_id: z.string(),
  creative_id: z.string(),
  format: Format,
  template_id: NativeTemplateId.nullable(),
  /** Widths of the pages on which it looks like this. */
  page_widths: z.array(z.number()),
  width: z.number(),
  height: z.number(),
  theme: z.enum(themes),
  words: z.enum(wordings),
  /** The reader's size of text: 100 is the usual one. */
  text_percent: z.number(),
  is_motion_reduced: z.boolean(),
  label_text: z.string(),
  /** What is special about it, in a few words; '' for the plain one. */
  about: z.string(),
  /** The path of its frame. */
  frame_path: z.string(),
})
export type SheetVariant = z.infer<typeof SheetVariant>

/** Response of GET /_sandbox/creatives/{campaign_id}. */
export const CreativeSheet = z.object({
  campaign_id: z.string(),
  sponsor_name: z.string(),
  variants: z.array(SheetVariant),
})
export type CreativeSheet = z.infer<typeof CreativeSheet>

/** Response of GET /_sandbox/creatives. */
export const SheetCampaigns = z.object({
  campaigns: z.array(z.object({ campaign_id: z.string(), sponsor_name: z.string() })),
})
export type SheetCampaigns = z.infer<typeof SheetCampaigns>
