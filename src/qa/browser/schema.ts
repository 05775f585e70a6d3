/** The `browser` and `page` steps as they are written in a suite. */
import { z } from 'zod'
import { AnyJson, Duration, orVariable } from '../suite/variables.ts'

/** What the renderer tells, as `docs/renderer.md` lists it. */
export const rendererEvents = [
  'turn:started',
  'turn:finished',
  'turn:cancelled',
  'decision',
  'no_fill',
  'blocked',
  'rendered',
  'visible',
  'click',
  'play_started',
  'play_completed',
  'beacon',
  'cleared',
  'error',
] as const

const pixels = () => orVariable(z.int().min(0).max(10_000), 'a number of CSS pixels')
const members = orVariable(z.record(z.string(), AnyJson), 'an object of members')

const Changes = {
  set: members.optional().describe('Members of the response to change, by dotted path.'),
  unset: z.array(z.string()).optional().describe('Members of the response to take out, by dotted path.'),
}

const Served = z.strictObject({
  status: orVariable(z.int().min(200).max(599), 'a status').optional().describe('Default 200.'),
  headers: z.record(z.string(), z.string()).optional(),
  body: AnyJson.optional().describe('Text is an HTML page; anything else is JSON.'),
  after: Duration.optional().describe('Waits before it answers.'),
})
export type Served = z.infer<typeof Served>

export const Open = z.strictObject({
  of: z
    .string()
    .nullable()
    .optional()
    .describe('Name of the placement or poll to mount; default: the last fill; null: none yet.'),
  ...Changes,
  turn: members
    .optional()
    .describe(
      'Instead: the page starts a turn with this body, activated with the publishable key, or by its endpoint.',
    ),
  publishable_key: z.string().optional().describe('Of the activation; default: that of the project.'),
  endpoint: z.string().startsWith('/', 'must begin with /').optional().describe('Route of the page that turns ask.'),
  serve: z
    .record(z.string().startsWith('/'), z.union([Served, z.array(Served).min(1)]), {
      error: 'must be paths of it, each beginning with /',
    })
    .optional()
    .describe('What further paths of the page answer; of a list one after the other, then the last.'),
  width: pixels().optional().describe('Of the window; default 800.'),
  height: pixels().optional().describe('Of the window; default 700.'),
  slot_width: pixels().optional().describe('Of the slot; default: all there is.'),
  above: pixels().optional().describe('Empty space before the slot: more than the window puts it out of view.'),
  color_scheme: orVariable(z.enum(['light', 'dark']), 'light or dark')
    .optional()
    .describe('Of the user; default light.'),
  reduced_motion: z.boolean().optional().describe('What the user prefers; default false.'),
  policy: z.string().optional().describe('Content-Security-Policy of the page.'),
})
export type Open = z.infer<typeof Open>

const types = z.enum(rendererEvents)
export const PageEvent = z.union([types, z.looseObject({ type: types })], {
  error: `must be an event of the renderer (${rendererEvents.join(', ')}), or { type, ... } with members it must have`,
})
export type WantedPageEvent = z.infer<typeof PageEvent>

const Screenshot = z.union([
  z.string(),
  z.strictObject({
    name: z.string().describe('What reports call it.'),
    of: z.enum(['slot', 'ad', 'label', 'page']).optional().describe('What is taken; default slot.'),
    colors: AnyJson.optional().describe('How many colours it must have, by matcher: { $gte: 16 }.'),
    commonest: AnyJson.optional().describe('Share of its commonest colour, 0 to 1, by matcher.'),
    brightness: AnyJson.optional().describe('How bright it is at large, 0 (black) to 1 (white), by matcher.'),
    width: AnyJson.optional().describe('Its width, CSS pixels, by matcher.'),
    height: AnyJson.optional().describe('Its height, CSS pixels, by matcher.'),
    matches: z
      .string()
      .endsWith('.png')
      .optional()
      .describe('A stored PNG beside the suite; --update-snapshots stores it.'),
    tolerance: z.number().min(0).max(1).optional().describe('Share of pixels that may differ; default 0.01.'),
  }),
])
export type Screenshot = z.infer<typeof Screenshot>

const where = z.union([z.enum(['slot', 'away']), z.number().min(0).max(1)], {
  error: 'must be slot, away, or the share of the ad that is in view then, 0 to 1',
})

/** One thing that is done to a page, or waited for. */
export const Act = z.strictObject({
  mount: z
    .union([z.string(), z.strictObject({ of: z.string().optional(), ...Changes })])
    .optional()
    .describe('Mounts a placement or poll by its name, or { of, set, unset }.'),
  wait_for: PageEvent.optional().describe(
    'An event of the renderer, by type or { type, ... } with members it must have.',
  ),
  none_of: z.array(PageEvent).min(1).optional().describe('Events of the renderer that must not have come by now.'),
  wait: Duration.optional().describe('Time to pass, real.'),
  scroll: where
    .optional()
    .describe('The slot into the middle of the window, far out of it, or so much of the ad in view.'),
  hidden: z.boolean().optional().describe('The tab goes to the background, or comes back.'),
  click: z.enum(['ad', 'play', 'mute']).optional().describe('The ad, or a button of a clip, as a person does.'),
  finish: z.literal(true).optional().describe("The page's turn is over."),
  clear: z.literal(true).optional().describe('The page takes the placement away.'),
  remove_label: z.literal(true).optional().describe('The page removes the ad label, once.'),
  run: z.string().optional().describe('JavaScript of the page itself, which knows slot and turn, and may await.'),
  screenshot: Screenshot.optional().describe('Takes a picture, and judges its pixels.'),
})
export type Act = z.infer<typeof Act>

export const Acts = z.union([Act, z.array(Act).min(1)])
