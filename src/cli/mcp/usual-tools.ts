/**
 * The tools that an agent gets by default: ten with short schemas, since it pays for each list before its first question. Each
 * stands for one or several of the full ones, which `svc agent mcp --tools all` lists with all their fields and the schemas of
 * their results.
 */
import { z } from 'zod'
import { contract } from '#contract/index.ts'
import { isObject } from '#foundation/json.ts'
import { findEntry, tableNames } from '#foundation/table-entry.ts'
import type { SandboxAccess } from './access.ts'
import type { Effect, Tool } from './tool.ts'
import { tools } from './tools.ts'

/** A full tool, and the input that it gets. */
interface FullCall {
  tool: Tool
  input: Record<string, unknown>
}

/** A tool of the short list. */
export interface UsualTool extends Pick<Tool, 'name' | 'title' | 'description' | 'input' | 'inputHint'> {
  /** The strongest effect of the tools that it stands for. */
  effect: Effect
  /** The names of the full tools that it stands for. */
  standsFor: readonly string[]
  /** Returns the call that an input means. */
  choose(input: Readonly<Record<string, unknown>>, access: SandboxAccess): FullCall | Promise<FullCall>
}

const text = (maximum: number) => z.string().max(maximum)
const id = text(256).optional()
const free = z.record(z.string(), z.unknown())

function full(name: string, input: Readonly<Record<string, unknown>>): FullCall {
  return { tool: tools.find((tool) => tool.name === name)!, input: { ...input } }
}

/** A full tool under its own name, with fewer words. */
function same(name: string, description: string, input?: z.ZodObject): UsualTool {
  const { tool } = full(name, {})
  const { title, effect, inputHint } = tool
  return {
    ...{ name, title, description, effect, input: input ?? tool.input, standsFor: [name] },
    ...(inputHint === undefined ? {} : { inputHint }),
    choose: (given) => full(name, given),
  }
}

const placements: UsualTool = {
  ...same(
    'create_placement',
    'Asks for an ad as a backend does, and returns the decision: a fill with its frame_url, or why there is none.',
    z.strictObject({
      format: z.enum(['banner', 'clip', 'native']).optional(),
      topic: text(200).optional().describe('What the chat is about: coffee, travel ...'),
      session_id: id.describe('Default: a new one.'),
      campaign_id: id.describe('Force this campaign, of the demand file too: marked, never billed.'),
      body: free.optional().describe('Other fields of the request, as POST /v1/placements has them.'),
    }),
  ),
  inputHint: 'Fields besides format, topic and session_id go into body: { "body": { "job_type": "chat" } }.',
  choose({ format, topic, session_id, campaign_id, body }) {
    const given = isObject(body) ? body : {}
    const chosen = defined({
      allowed_formats: format === undefined ? undefined : [format],
      force_campaign_id: campaign_id,
    })
    const overrides = Object.keys(chosen).length === 0 ? given.overrides : { ...asObject(given.overrides), ...chosen }
    const prompt = topic === undefined ? given.prompt : { ...asObject(given.prompt), topic }
    return full(
      'create_placement',
      defined({ ...given, session_id: session_id ?? given.session_id, overrides, prompt }),
    )
  },
}

const lists = {
  placements: 'list_placements',
  beacons: 'list_beacons',
  requests: 'list_requests',
  consent: 'show_consent',
  billing: 'billing_report',
  faults: 'list_faults',
  scenarios: 'list_scenarios',
} as const

const list: UsualTool = {
  name: 'list',
  title: 'List what the sandbox has',
  description:
    'placements with status and no-fill reason, beacons with verdict and reason_code, requests as the app really sent them (request_id: one of them, whole), consent, billing, faults, scenarios. Newest first.',
  effect: 'reads',
  input: z.strictObject({
    what: z.enum(tableNames(lists)),
    slot_id: id.describe('Only of this slot: beacons.'),
    session_id: id.describe('Only of this session.'),
    request_id: id.describe('One request, with headers and bodies.'),
    verdict: text(20).optional().describe('Of beacons: accepted, rejected.'),
    status_class: text(3).optional().describe('Of requests: 4xx.'),
    limit: z.int().min(1).max(100).optional(),
    cursor: text(500).optional(),
  }),
  standsFor: [...Object.values(lists), 'show_request'],
  choose({ what, request_id, ...filters }) {
    if (request_id !== undefined) return full('show_request', { request_id })
    return full(findEntry(lists, String(what)) ?? '', filters)
  },
}

const clock: UsualTool = {
  name: 'clock',
  title: 'Show or move the clock of the sandbox',
  description: 'Tokens, consent, caps and dwell go by it. Without input: shows it.',
  effect: 'changes',
  input: z.strictObject({
    advance_ms: z.int().min(1).optional(),
    to_ms: z.int().min(0).optional().describe('Milliseconds since 1970.'),
    frozen: z.boolean().optional().describe('true: it stands still until it is moved.'),
  }),
  standsFor: ['show_clock', 'advance_clock', 'set_clock', 'freeze_clock', 'resume_clock'],
  choose({ advance_ms, to_ms, frozen }) {
    if (advance_ms !== undefined) return full('advance_clock', { by_ms: advance_ms })
    if (to_ms !== undefined) return full('set_clock', { to_ms })
    if (frozen === undefined) return full('show_clock', {})
    return full(frozen === true ? 'freeze_clock' : 'resume_clock', {})
  },
}

const { path, status, effect, latency_ms, times } = contract['faults.add'].body.shape
const fault: UsualTool = {
  name: 'fault',
  title: 'Break something on purpose, or end that',
  description:
    'A fault on a path (503 on /v1/placements, times 1), or a scenario of the catalogue, by its name: list with what scenarios. clear ends all faults, or the scenario.',
  effect: 'destroys',
  input: z.strictObject({
    ...{ path: path.optional(), status, effect, latency_ms, times },
    scenario: text(64).optional(),
    clear: z.enum(['faults', 'scenario']).optional(),
  }),
  standsFor: ['add_fault', 'clear_faults', 'use_scenario', 'clear_scenario'],
  choose({ scenario, clear, ...rule }) {
    if (clear !== undefined) return full(`clear_${clear}`, {})
    return scenario === undefined ? full('add_fault', rule) : full('use_scenario', { name: scenario })
  },
}

const state: UsualTool = {
  name: 'state',
  title: 'Show, reset or consent',
  description:
    'info: address, projects and keys, redacted. reset: deletes placements, beacons, consent, faults and the journal. consent: sets that of a session; decision is granted, denied or withdrawn.',
  effect: 'destroys',
  input: z.strictObject({
    action: z.enum(['info', 'reset', 'consent']),
    session_id: id,
    client_id: id,
    decision: z.enum(['granted', 'denied', 'withdrawn']).optional(),
  }),
  standsFor: ['sandbox_info', 'reset_sandbox', 'set_consent'],
  async choose({ action, ...consent }, access) {
    if (action === 'info') return full('sandbox_info', {})
    if (action === 'reset') return full('reset_sandbox', {})
    return full('set_consent', { client_id: await access.clientId(), ...consent })
  },
}

/** The tools that a server lists unless all are asked for. */
export const usualTools: readonly UsualTool[] = [
  placements,
  same(
    'explain_placement',
    'Start here for "why was there no ad" and "why was this not billed". Without slot_id: the newest.',
  ),
  same(
    'send_beacon',
    'Sends a beacon of a slot with its own token, and returns the verdict and what production would bill.',
    z.strictObject({
      slot_id: text(256),
      event: text(40).describe('render, visible, click, start, complete ...'),
      measurements: free.optional().describe('{ "visible_ratio": 1, "visible_ms": 1000 }'),
      beacon_id: id,
      occurred_at_ms: z.int().optional(),
    }),
  ),
  list,
  same(
    'observe',
    'Judges what the app under test has sent so far: each finding with its rule, its requests and the fix.',
  ),
  same('run_qa', 'Runs built-in suites: formats, beacons, consent, errors ... Reports totals and each failed case.'),
  clock,
  fault,
  state,
  same('read_docs', 'A page, or a code such as key_class or no-fill/below_floor. Without topic: all topics.'),
]

/** The short tool for the name of each full one that a text may name. */
const shortNames = new Map(
  usualTools.flatMap(({ name, standsFor }) => standsFor.filter((each) => each !== name).map((each) => [each, name])),
)

/** Returns a text whose advice names tools, with those of the short list: `list with what requests`. */
export function namingUsualTools(text: string): string {
  return text.replace(/\b[a-z]+_[a-z_]+\b/g, (name) => {
    const what = Object.entries(lists).find(([, full]) => full === name)?.[0]
    return what === undefined ? (shortNames.get(name) ?? name) : `list with what ${what}`
  })
}

function asObject(value: unknown): object {
  return isObject(value) ? value : {}
}

function defined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
