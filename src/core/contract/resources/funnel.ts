/** How far placements get: the steps of a fill, and the counts of `placements.funnel`. */
import { z } from 'zod'
import { Format, NoFillReasonCode } from '../fields.ts'
import { assumed, assumedFields, assumedObject, strictObject } from '../objects.ts'

/** How many of the newest placements a funnel covers. */
export const funnelPlacements = 1_000

const steps = assumedFields('A93', () => ({
  decided: z.int().describe('Fills of this format.'),
  framed: z.int().describe('Fills whose frame was loaded.'),
  rendered: z.int().describe('Fills with an accepted render beacon.'),
  visible: z.int().describe('Fills that were viewable by the thresholds of their project.'),
  billable: z.int().describe('Fills that production would bill.'),
}))

/** How far a fill got; each step of a funnel is one. */
export const fillSteps = ['framed', 'rendered', 'visible', 'billable'] as const
export type FillStep = (typeof fillSteps)[number]
export const FillStep = z.enum(fillSteps)

export const PlacementFunnel = assumedObject('A93', () => ({
  placements: z.int().describe(`Placements that were counted, at most the newest ${funnelPlacements}.`),
  is_complete: z.boolean().describe('True when there are no older placements.'),
  oldest_slot_id: z.string().nullable().describe('The oldest placement that was counted; null without any.'),
  pending: z.int().describe('Not decided yet, or never.'),
  fills: z.int().describe('Filled.'),
  no_fills: z.int().describe('Not filled.'),
  no_fill_reasons: z
    .array(
      assumedObject('A31', () => ({
        no_fill_reason: NoFillReasonCode.describe('Why.'),
        count: z.int().describe('Placements.'),
      })),
    )
    .describe('Most frequent first.'),
  formats: z
    .array(strictObject(() => ({ format: assumed(Format, 'A93', 'Format of the fill.'), ...steps() })))
    .describe('How far the fills of each format got.'),
}))
export type PlacementFunnel = z.infer<typeof PlacementFunnel>
