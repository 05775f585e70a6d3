/** Your own campaigns, sent to a running sandbox: what the inspector does with dropped files. */
import { z } from 'zod'
import { declareEndpoints, writing } from '../../endpoint.ts'
import { limits } from '../../limits.ts'
import { assumedObject } from '../../objects.ts'

/** A name in the dropped folder, with slashes: no step of it leads elsewhere. */
const DroppedName = z
  .string()
  .max(200)
  .regex(/^(?!\.\.?(?:\/|$))[^\\/\0]+(?:\/(?!\.\.?(?:\/|$))[^\\/\0]+)*$/, 'must be a name, or a path below the folder')

const TakenCampaign = assumedObject('A107', () => ({
  campaign_id: z.string().describe('Campaign.'),
  file: z.string().describe('Where it is written.'),
  line: z.int().describe('Counted from 1.'),
  sponsor_name: z.string().describe('Its sponsor.'),
  price_cpm: z.number().describe('Its bid for 1,000 impressions.'),
  currency: z.string().describe('ISO 4217.'),
  topics: z.array(z.string()).describe('Empty: any.'),
  creatives: z.array(z.string()).describe('Each with its size and length: banner 300x250.'),
  notes: z.array(z.string()).describe('Why it, or a part of it, may not be shown.'),
}))

const DemandProblem = assumedObject('A107', () => ({
  file: z.string().describe('The file that is wrong.'),
  line: z.int().describe('Counted from 1; 0 for the whole file.'),
  column: z.int().describe('Counted from 1; 0 for the whole file.'),
  message: z.string().describe('What is wrong.'),
  hint: z.string().describe('The fix.'),
}))

export const control = declareEndpoints({
  'demand.replace': {
    ...writing,
    path: '/_sandbox/demand',
    summary: 'Check your own campaigns, or put them in force',
    description:
      'Reads files of demand with their pictures and clips as svc demand check does. With anything wrong nothing changes. Otherwise they replace the demand in force, beside the seeded campaigns or alone as the sandbox was started, until it stops: a start reads --demand again. Names are those of the files sent here; no other file is read.',
    body: assumedObject('A107', () => ({
      files: z
        .array(
          assumedObject('A107', () => ({
            name: DroppedName.describe('Its name, or its path below the folder of all.'),
            base64: z.string().describe('Its bytes.'),
          })),
        )
        .min(1)
        .max(500)
        .describe('YAML files of campaigns, and what they name.'),
      dry_run: z.boolean().optional().describe('true: only checks them.'),
    })),
    body_limit_bytes: limits.demand_bytes,
    response: assumedObject('A107', () => ({
      is_in_force: z.boolean().describe('Whether they replaced the demand.'),
      campaigns: z.array(TakenCampaign).describe('As they were read; empty where something is wrong.'),
      problems: z.array(DemandProblem).describe('In the order of the files.'),
    })),
  },
})
