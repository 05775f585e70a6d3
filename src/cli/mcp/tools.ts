/**
 * The tools for agents. Most are an endpoint of the contract under another name: their input is the endpoint's own
 * parameters, query and body. The others do what the command line does in more than one request. The text of
 * each is what an agent chooses by.
 */

import { z } from 'zod'
import { keptCommands, renamedCommands } from '#cli/run/renamed-commands.ts'
import type { Endpoint } from '#contract/endpoint.ts'
import { explainIssues } from '#contract/errors.ts'
import { contract, type EndpointId } from '#contract/index.ts'
import { describeField } from '#contract/words/error-lines.ts'
import { isObject } from '#foundation/json.ts'
import { findEntry } from '#foundation/table-entry.ts'
import { CliError } from '#text/cli-error.ts'
import type { SandboxAccess } from './access.ts'
import { bundleAddress, bundleFile } from './bundle-tool.ts'
import { lintTool } from './lint-tool.ts'
import { checkDemandTool, compareTool, hostsTool } from './local-tools.ts'
import { observeTool } from './observe-tool.ts'
import { createPlacement, readDocs, sendBeacon, showContract } from './own-tools.ts'
import { qaTool } from './qa-tool.ts'
import { reconcileFile, reconcileText } from './reconcile-tool.ts'
import { type Effect, ofOne, type Tool } from './tool.ts'

const inList = 'Ask for fewer items with limit, or narrow it with the filters; cursor continues after the last page.'

/** Nouns of the contract that are below `sandbox` on the command line. */
const belowSandbox: readonly string[] = ['clock', 'faults', 'scenario']

/** Default number of items of a list, for the context of a model. */
const usualLimit = 20

export const explainPlacement: Tool = ofNewest(
  endpointTool(
    'explain_placement',
    'placements.explain',
    'reads',
    'Start here for "why was there no ad" and "why was this not billed". Without slot_id: the newest placement.',
  ),
)

/** The tools that a sandbox serves over HTTP. */
export const tools: readonly Tool[] = [
  createPlacement,
  endpointTool('list_placements', 'placements.list', 'reads', 'Newest first, with status, outcome and no-fill reason.'),
  explainPlacement,
  sendBeacon,
  endpointTool(
    'list_beacons',
    'beacons.list',
    'reads',
    'Each with its verdict, its reason_code and whether production would bill it.',
  ),
  endpointTool('billing_report', 'billing.report', 'reads', 'Also lists the beacons that did not count, and why.'),
  endpointTool(
    'list_requests',
    'requests.list',
    'reads',
    'The requests that the app under test really sent. status_class 4xx finds its mistakes.',
  ),
  endpointTool('show_request', 'requests.show', 'reads', 'Needs a request_id from list_requests.'),
  endpointTool('set_consent', 'consent.set', 'changes', 'decision is granted, denied or withdrawn.'),
  endpointTool('show_consent', 'consent.list', 'reads', ''),
  showContract,
  readDocs,
  qaTool,
  observeTool,
  lintTool,
  bundleAddress,
  reconcileText,
  endpointTool('add_fault', 'faults.add', 'changes', 'Use times, so that it ends automatically.'),
  endpointTool('list_faults', 'faults.list', 'reads', ''),
  endpointTool('clear_faults', 'faults.clear', 'destroys', ''),
  { ...endpointTool('list_scenarios', 'scenario.list', 'reads', ''), hasOnlyOwnText: true },
  {
    ...endpointTool('use_scenario', 'scenario.use', 'changes', 'For the names: list_scenarios.'),
    hasOnlyOwnText: true,
  },
  endpointTool('clear_scenario', 'scenario.clear', 'changes', ''),
  endpointTool('show_clock', 'clock.show', 'reads', ''),
  endpointTool('advance_clock', 'clock.advance', 'changes', ''),
  endpointTool('set_clock', 'clock.set', 'changes', ''),
  endpointTool('freeze_clock', 'clock.freeze', 'changes', ''),
  endpointTool('resume_clock', 'clock.resume', 'changes', ''),
  endpointTool('sandbox_info', 'sandbox.info', 'reads', ''),
  endpointTool(
    'reset_sandbox',
    'sandbox.reset',
    'destroys',
    'Deletes placements, beacons, consent, faults and the journal.',
  ),
]

/** Those that take or write files of the user's computer, or need its programs. */
const ofComputer: readonly Tool[] = [bundleFile, reconcileFile, checkDemandTool, compareTool, hostsTool]

/** The tools of a server on the user's computer, over stdio. */
export const localTools: readonly Tool[] = [
  ...tools.filter(({ name }) => !ofComputer.some((tool) => tool.name === name)),
  ...ofComputer,
]

/** Returns the tools that an agent has. */
export function toolsWith({ local }: SandboxAccess): readonly Tool[] {
  return local === null ? tools : localTools
}

/** Returns the tool that calls one endpoint. */
function endpointTool(name: string, id: EndpointId, effect: Effect, more: string): Tool {
  const endpoint: Endpoint = contract[id]
  const { params, query, summary, description, method, response } = endpoint
  if (!(response instanceof z.ZodType)) throw new Error(`${id} responds with a file, which is no result of a tool`)
  const body = endpoint.body instanceof z.ZodObject ? endpoint.body : undefined
  const parts = { params, query, body }
  const shape = Object.assign({}, ...Object.values(parts).map((part) => part?.shape ?? {})) as z.ZodRawShape
  const isList = 'limit' in shape
  return {
    name,
    command: endpointCommandName(id),
    title: summary,
    description: [description, more].filter((part) => part !== '').join(' '),
    effect,
    isIdempotent: method === 'GET' || method === 'DELETE',
    input: z.strictObject(shape),
    output: response,
    narrower: isList ? inList : ofOne,
    async call(access, input, signal) {
      const given = isList ? { limit: usualLimit, ...input } : input
      const client = await access.client()
      const sent = Object.entries(parts).flatMap(([part, schema]) => {
        if (schema === undefined) return []
        return [[part, Object.fromEntries(Object.entries(given).filter(([field]) => field in schema.shape))]]
      })
      const { data } = await client.call(id, Object.fromEntries(sent), { signal })
      return data
    },
  }
}

/** Returns a tool about a slot that takes the newest placement when none is named. */
function ofNewest(tool: Tool): Tool {
  return {
    ...tool,
    input: tool.input.partial({ slot_id: true }),
    async call(access, input, signal) {
      if (input.slot_id !== undefined) return tool.call(access, input, signal)
      const { items } = await (await access.client()).placements.list({ query: { limit: 1 } }, { signal })
      const [newest] = items
      if (newest !== undefined) return tool.call(access, { ...input, slot_id: newest.slot_id }, signal)
      throw new CliError('usage', 'placement_missing', 'There is no placement yet.', 'Make one: create_placement')
    },
  }
}

/** Returns the command of an endpoint: its noun and verb, or what these are called now. */
function endpointCommandName(id: EndpointId): string {
  if (id === 'consent.list') return `api ${id}`
  const [noun = '', verb] = id.split('.')
  const command = `${belowSandbox.includes(noun) ? 'sandbox ' : ''}${noun} ${verb}`
  return (findEntry(renamedCommands, command) ?? findEntry(keptCommands, command))?.replace(/^svc /, '') ?? command
}

/** Returns the input of a call as the tool takes it. Throws CliError with every field that is wrong. */
export function checkInput(
  { name, input, inputHint }: Pick<Tool, 'name' | 'input' | 'inputHint'>,
  given: unknown,
): Record<string, unknown> {
  const read = input.safeParse(given ?? {})
  // The values as they were given: the sandbox reads them itself.
  if (read.success) return isObject(given) ? given : {}
  throw new CliError(
    'usage',
    'input_invalid',
    `The input of ${name} is invalid. ${describeIssues(read.error.issues)}`,
    inputHint ?? 'Correct these fields: the input schema of the tool has them all.',
  )
}

/** Returns each invalid field, and what it must be. */
export function describeIssues(issues: Parameters<typeof explainIssues>[0]): string {
  return explainIssues(issues).fields.map(describeField).join('; ')
}
