/**
 * The tools that exist only on the user's computer: `check_demand` reads your campaigns and their pictures, `compare` needs a recording and starts a sandbox, as `svc contract
 * compare` does, and `hosts` needs a browser, as `svc qa hosts` does.
 */
import { z } from 'zod'
import { type ComparedFiles, requireLocal, type TriedPage } from './access.ts'
import type { Tool } from './tool.ts'

const File = z.string().min(1).max(500)
const Counted = { why: z.string(), count: z.int().min(1) }

const ComparedFinding = z.strictObject({
  endpoint: z.string(),
  weight: z.enum(['documented', 'observed', 'assumed', 'addition']),
  what: z.string().describe('The status, header or field.'),
  reference: z.string().describe('What the other side or the contract has.'),
  observed: z.string().describe('What the recorded service has.'),
  breaks: z.enum(['service', 'other', 'both', 'neither', 'either']).describe('Who breaks the contract.'),
  basis: z.enum(['other', 'contract']),
  count: z.int().min(1),
  first: z.strictObject({
    entry: z.int().nullable(),
    request_id: z.string().nullable(),
    other_request_id: z.string().nullable(),
  }),
})

export const compareTool: Tool = {
  name: 'compare',
  command: 'contract compare',
  title: 'Compare recorded responses with the sandbox, field by field',
  description:
    'Sends the requests of a recording (a HAR file of svc record, svc requests export, a browser or a proxy) to a sandbox in memory, started for it, and returns each difference once, with its provenance. Identifiers, times, tokens, prices and what was decided may differ. Two services are compared by the command only: svc contract compare URL.',
  effect: 'reads',
  isIdempotent: true,
  input: z.strictObject({
    file: File.describe('The recording, in the folder of this server.'),
    with: File.optional().describe('Another recording, in place of the sandbox.'),
    overrides: File.optional().describe('Start the sandbox with these overrides.'),
    strict: z.boolean().optional().describe('true: ok is false also for differences that are not documented.'),
  }),
  output: z.strictObject({
    ok: z.boolean().describe('Whether nobody breaks what is documented.'),
    service: z.string(),
    other: z.string(),
    compared: z.int().min(1),
    endpoints: z.array(z.strictObject({ endpoint: z.string(), compared: z.int(), findings: z.int() })),
    findings: z.array(ComparedFinding).describe('What is documented first.'),
    outcomes: z
      .array(z.strictObject({ service: z.string(), other: z.string(), count: z.int() }))
      .describe('Decided differently, which is no difference of the contract.'),
    not_compared: z.array(z.strictObject(Counted)),
    left_out: z.array(z.strictObject({ file: z.string(), ...Counted })),
  }),
  narrower: 'Record fewer requests.',
  async call(access, input, signal) {
    const { findings, ...result } = await requireLocal(access).compare(input as unknown as ComparedFiles, signal)
    // `expected` of other results is advice of this package; here it may be the text of a service.
    return { ...result, findings: findings.map(({ expected, ...finding }) => ({ ...finding, reference: expected })) }
  },
}

export const checkDemandTool: Tool = {
  name: 'check_demand',
  command: 'demand check',
  title: 'Check your own campaigns, and the pictures and clips that they name',
  description:
    'Reads a YAML file of campaigns, or a folder of them, as svc start --demand does, and returns each campaign; what is wrong is an error with file, line and fix. Nothing starts or changes. read_docs with topic own-ads has the format.',
  effect: 'reads',
  isIdempotent: true,
  input: z.strictObject({ file: File.describe('A file or folder, in the folder of this server.') }),
  output: z.strictObject({
    campaigns: z.array(
      z.strictObject({
        campaign_id: z.string(),
        ...{ file: z.string(), line: z.int() },
        sponsor_name: z.string(),
        ...{ price_cpm: z.number(), currency: z.string() },
        topics: z.array(z.string()),
        creatives: z.array(z.string()),
        notes: z.array(z.string()).describe('Why it, or a part of it, may not be shown.'),
      }),
    ),
  }),
  narrower: 'Check one file of the folder.',
  call: async (access, { file }) => ({ campaigns: await requireLocal(access).checkDemand(String(file)) }),
}

const HostCondition = z.strictObject({
  condition: z.string(),
  title: z.string(),
  shows: z.boolean(),
  counts: z.boolean(),
  why_not: z.string().nullable(),
  missing: z.string().nullable().describe('The line that is missing.'),
  simulated: z.string().nullable().describe('What was imitated, and how; null for the real thing.'),
  looked_at: z.string(),
})

export const hostsTool: Tool = {
  name: 'hosts',
  command: 'qa hosts',
  title: 'Try a page under the conditions in which ads get lost',
  description:
    'Opens a page in a browser, and returns whether its ad shows and counts under each condition, and the line that is missing. Takes some seconds for each: name a few with only, of plain, strict-csp, isolated, sandboxed-frame, nested-frame, webview, tall-webview, app-scheme, ad-blocker, extension, dark, translated, offline, reduced-motion, zoom, narrow. offline advances the clock of the sandbox by a minute.',
  effect: 'changes',
  isIdempotent: false,
  input: z.strictObject({
    url: z.string().max(2_000).optional().describe('The page, over http. Default: a small page of its own.'),
    only: z.array(z.string().max(40)).max(20).optional().describe('Only these conditions.'),
    except: z.array(z.string().max(40)).max(20).optional().describe('Not these conditions.'),
    steps: File.optional().describe('A file of steps that drive the page first, as svc observe takes it.'),
    filter_list: File.optional().describe('A list for the ad blocker, in the syntax of EasyList.'),
    for: z.string().max(20).optional().describe('How long the ad has to show and count: 5s. Default 10s.'),
  }),
  output: z.strictObject({
    url: z.string(),
    ok: z.boolean().describe('Whether the ad shows and counts under every condition.'),
    conditions: z.array(HostCondition).min(1),
  }),
  narrower: 'Name fewer conditions with only.',
  call: (access, input, signal) => requireLocal(access).tryHosts(input as TriedPage, signal),
}
