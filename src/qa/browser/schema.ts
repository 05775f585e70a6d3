/** The `browser` and `page` steps as they are written in a suite. */
import { z } from 'zod'
import { Duration, Json, orVariable } from '../suite/fields.ts'

const pixels = () => orVariable(z.int().min(0).max(10_000), 'a number of CSS pixels')

export const Open = z.strictObject({
  of: z
    .string()
    .nullable()
    .optional()
    .describe('Name of the placement or poll to mount; default: the last fill; null: none yet.'),
  turn: z
    .record(z.string(), Json)
    .optional()
    .describe('Instead: the page activates with the publishable key and starts a turn with this body.'),
  width: pixels().optional().describe('Of the window; default 800.'),
  height: pixels().optional().describe('Of the window; default 700.'),
  slot_width: pixels().optional().describe('Of the slot; default: all there is.'),
  above: pixels().optional().describe('Empty space before the slot: more than the window puts it out of view.'),
  color_scheme: z.enum(['light', 'dark']).optional().describe('What the user prefers; default light.'),
  reduced_motion: z.boolean().optional().describe('What the user prefers; default false.'),
  policy: z.string().optional().describe('Content-Security-Policy of the page.'),
})
export type Open = z.infer<typeof Open>

const Event = z.union([z.string(), z.looseObject({ type: z.string() })])

const Screenshot = z.union([
  z.string(),
  z.strictObject({
    name: z.string().describe('What reports call it.'),
    of: z.enum(['slot', 'ad', 'label', 'page']).optional().describe('What is taken; default slot.'),
    colors: Json.optional().describe('How many colours it must have, by matcher: { $gte: 16 }.'),
    commonest: Json.optional().describe('Share of its commonest colour, 0 to 1, by matcher.'),
    width: Json.optional().describe('Its width, CSS pixels, by matcher.'),
    height: Json.optional().describe('Its height, CSS pixels, by matcher.'),
    matches: z.string().optional().describe('A stored PNG beside the suite; --update-snapshots stores it.'),
    tolerance: z.number().min(0).max(1).optional().describe('Share of pixels that may differ; default 0.01.'),
  }),
])
export type Screenshot = z.infer<typeof Screenshot>

/** One thing that is done to a page, or waited for. */
export const Act = z.strictObject({
  mount: z.string().optional().describe('Mounts a placement or poll by its name.'),
  wait_for: Event.optional().describe('An event of the renderer, by type or { type, ... } with members it must have.'),
  none_of: z.array(z.string()).optional().describe('Events of the renderer that must not have come by now.'),
  wait: Duration.optional().describe('Time to pass, real.'),
  scroll: z.enum(['slot', 'away']).optional().describe('The slot into the middle of the window, or far out of it.'),
  hidden: z.boolean().optional().describe('The tab goes to the background, or comes back.'),
  click: z.enum(['ad', 'play']).optional().describe('The ad, or the play button of a clip, as a person does.'),
  clear: z.literal(true).optional().describe('The page takes the placement away.'),
  remove_label: z.literal(true).optional().describe('The page removes the ad label.'),
  screenshot: Screenshot.optional().describe('Takes a picture, and judges its pixels.'),
})
export type Act = z.infer<typeof Act>

export const Acts = z.union([Act, z.array(Act)])
