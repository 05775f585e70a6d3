/** Schemas of the `browser` and `page` steps. */
import { z } from 'zod'
import { AnyJson, Duration, orVariable } from '../suite/variables.ts'

/** The events of the renderer, as `docs/renderer.md` lists them. */
export const rendererEvents = [
  'turn:started',
  'turn:finished',
  'turn:cancelled',
  'turn:expired',
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
const fields = orVariable(z.record(z.string(), AnyJson), 'an object')

const Changes = {
  set: fields.optional().describe('Fields of the response to set, by dotted path.'),
  unset: z.array(z.string()).optional().describe('Fields of the response to remove, by dotted path.'),
}

const Served = z.strictObject({
  status: orVariable(z.int().min(200).max(599), 'a status').optional().describe('Default 200.'),
  headers: z.record(z.string(), z.string()).optional(),
  body: AnyJson.optional().describe('Text is an HTML page; anything else is JSON.'),
  after: Duration.optional().describe('Waits before it responds.'),
})

export const Open = z.strictObject({
  of: z
    .string()
    .nullable()
    .optional()
    .describe('Name of the placement or poll to mount; default: the last fill; null: none yet.'),
  ...Changes,
  turn: fields
    .optional()
    .describe(
      'Instead: the page starts a turn with this body, activated with the publishable key, or by its endpoint.',
    ),
  publishable_key: z.string().optional().describe("For the activation; default: the project's key."),
  endpoint: z
    .string()
    .startsWith('/', 'must begin with /')
    .optional()
    .describe('Route of the page that turns request.'),
  serve: z
    .record(z.string().startsWith('/'), z.union([Served, z.array(Served).min(1)]), {
      error: 'must be paths of it, each beginning with /',
    })
    .optional()
    .describe('Responses of further paths of the page; of a list one after the other, then the last.'),
  width: pixels().optional().describe('Of the window, CSS pixels; default 800.'),
  height: pixels().optional().describe('Of the window, CSS pixels; default 700.'),
  slot_width: pixels().optional().describe('Of the slot, CSS pixels; default: the whole width.'),
  above: pixels()
    .optional()
    .describe('Empty space before the slot: more than the height of the window puts it out of view.'),
  color_scheme: orVariable(z.enum(['light', 'dark']), 'light or dark')
    .optional()
    .describe('Preference of the user; default light.'),
  reduced_motion: z.boolean().optional().describe('Preference of the user; default false.'),
  policy: z.string().optional().describe('Content-Security-Policy of the page.'),
})
export type Open = z.infer<typeof Open>

const EventType = z.enum(rendererEvents)
const PageEvent = z.union([EventType, z.looseObject({ type: EventType })], {
  error: `must be an event of the renderer (${rendererEvents.join(', ')}), or { type, ... } with fields that it must have`,
})
export type WantedPageEvent = z.infer<typeof PageEvent>

const Screenshot = z.union([
  z.string(),
  z.strictObject({
    name: z.string().describe('Its name in reports.'),
    of: z.enum(['slot', 'ad', 'label', 'page']).optional().describe('The area; default slot.'),
    colors: AnyJson.optional().describe('Number of its colours, by matcher: { $gte: 16 }.'),
    commonest: AnyJson.optional().describe('Share of its commonest colour, 0 to 1, by matcher.'),
    brightness: AnyJson.optional().describe('Mean brightness, 0 (black) to 1 (white), by matcher.'),
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

const ScrollTarget = z.union([z.enum(['slot', 'away']), z.number().min(0).max(1)], {
  error: 'must be slot, away, or the share of the ad to bring into view, 0 to 1',
})

/** One action on a page. */
export const Action = z.strictObject({
  mount: z
    .union([z.string(), z.strictObject({ of: z.string().optional(), ...Changes })])
    .optional()
    .describe('Mounts a placement or poll by its name, or { of, set, unset }.'),
  wait_for: PageEvent.optional().describe(
    'Waits for an event of the renderer, by type or { type, ... } with fields that it must have.',
  ),
  none_of: z.array(PageEvent).min(1).optional().describe('Events of the renderer that must not have been emitted yet.'),
  wait: Duration.optional().describe('Waits, in real time.'),
  scroll: ScrollTarget.optional().describe(
    'Scrolls the slot to the middle of the window, out of view, or so much of the ad into view.',
  ),
  hidden: z.boolean().optional().describe('Puts the tab into the background, or back.'),
  click: z.enum(['ad', 'play', 'mute']).optional().describe('Clicks the ad, or a button of a clip.'),
  finish: z.literal(true).optional().describe("Ends the page's turn."),
  clear: z.literal(true).optional().describe('Clears the placement.'),
  remove_label: z.literal(true).optional().describe('Removes the ad label, once.'),
  run: z
    .string()
    .optional()
    .describe('Runs JavaScript of the page, which has slot, turn and frame (the iframe of the ad), and may await.'),
  screenshot: Screenshot.optional().describe('Takes a screenshot, and checks its pixels.'),
})
export type Action = z.infer<typeof Action>

export const Actions = z.union([Action, z.array(Action).min(1)])
