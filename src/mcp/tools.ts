/**
 * The tools for agents. Most are an endpoint of the contract under another name: their input is the endpoint's own
 * parameters, query and body. The others do what the command line does in more than one request. One file of more than
 * 400 lines, since it is the table of all tools: the text of each is what an agent chooses by.
 */
import { z } from 'zod'
import { CliError, didYouMean, nothingChecked } from '#cli/run/errors.ts'
import { version } from '#cli/run/host.ts'
import { describeField } from '#client/errors.ts'
import type { Endpoint } from '#contract/endpoint.ts'
import { explainIssues } from '#contract/errors.ts'
import { contract, type EndpointId } from '#contract/index.ts'
import { contractListing, type ListedField } from '#contract/listing.ts'
import { BeaconRequest } from '#contract/resources/beacons.ts'
import { PlacementRequest } from '#contract/resources/placements.ts'
import { summarize } from '#diagnosis/doctor.ts'
import { beaconFormats } from '#diagnosis/lint.ts'
import { type CaseResult, countTotals, QaError } from '#qa/result.ts'
import { expand, needsBrowser } from '#qa/run/plan.ts'
import { builtinNames, loadSuites } from '#qa/suite/builtin.ts'
import type { SandboxAccess } from './access.ts'
import { lintOnThread } from './lint-thread.ts'
import { observeTool } from './observe-tool.ts'
import { readTopic, readTopics } from './resources.ts'
import type { Effect, Tool } from './tool.ts'

const inList = 'Ask for fewer items with limit, or narrow it with the filters; cursor continues after the last page.'
const ofOne = 'Get a part of it with another tool.'

/** Nouns of the contract that are below `sandbox` on the command line. */
const belowSandbox: readonly string[] = ['clock', 'faults', 'scenario']

/** Default number of items of a list, for the context of a model. */
const usualLimit = 20

const { show_contract, read_docs, create_placement, send_beacon, run_qa, doctor, lint_beacons } = ownTools()

export const tools: readonly Tool[] = [
  create_placement,
  endpointTool('list_placements', 'placements.list', 'reads', 'Newest first, with status, outcome and no-fill reason.'),
  ofNewest(
    endpointTool(
      'explain_placement',
      'placements.explain',
      'reads',
      'Start here for "why was there no ad" and "why was this not billed". Without slot_id: the newest placement.',
    ),
  ),
  send_beacon,
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
  show_contract,
  read_docs,
  run_qa,
  doctor,
  observeTool,
  lint_beacons,
  endpointTool('add_fault', 'faults.add', 'changes', 'Use times, so that it ends automatically.'),
  endpointTool('list_faults', 'faults.list', 'reads', ''),
  endpointTool('clear_faults', 'faults.clear', 'destroys', ''),
  endpointTool('list_scenarios', 'scenario.list', 'reads', ''),
  endpointTool('use_scenario', 'scenario.use', 'changes', 'For the names: list_scenarios.'),
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

/** Returns the tool that calls one endpoint. */
function endpointTool(name: string, id: EndpointId, effect: Effect, more: string): Tool {
  const endpoint: Endpoint = contract[id]
  const { params, query, summary, description, method } = endpoint
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

/** Returns the command of an endpoint. */
function endpointCommandName(id: EndpointId): string {
  if (id === 'consent.list') return 'consent show'
  const [noun = '', verb] = id.split('.')
  return `${belowSandbox.includes(noun) ? 'sandbox ' : ''}${noun} ${verb}`
}

function ownTools() {
  const someDefaults = { client_id: true, session_id: true, job_type: true } as const
  const ofSlot = { beacon_id: true, slot_id: true, asset_token: true } as const
  const endpointIds = Object.keys(contract) as [EndpointId, ...EndpointId[]]
  return {
    create_placement: {
      name: 'create_placement',
      command: 'placements create',
      title: contract['placements.create'].summary,
      description: `${contract['placements.create'].description} Defaults: the project of the sandbox, a new session, job_type chat. Tokens are redacted in the result: send_beacon needs only the slot_id.`,
      effect: 'changes',
      isIdempotent: false,
      input: PlacementRequest.partial(someDefaults),
      narrower: ofOne,
      async call(access, input, signal) {
        const client_id = await access.clientId()
        const body = { client_id, session_id: `sess_${access.randomText(12)}`, job_type: 'chat', ...input }
        return (await (await access.client()).call('placements.create', { body }, { signal })).data
      },
    },
    send_beacon: {
      name: 'send_beacon',
      command: 'beacons send',
      title: contract['beacons.send'].summary,
      description: `${contract['beacons.send'].description} The slot's own asset token is sent automatically. Defaults: a beacon_id made of slot and event, and the time of the sandbox clock.`,
      effect: 'changes',
      isIdempotent: true,
      input: z.strictObject({
        ...BeaconRequest.omit(ofSlot).shape,
        slot_id: contract['decisions.get'].params.shape.slot_id,
        beacon_id: BeaconRequest.shape.beacon_id.optional(),
      }),
      narrower: ofOne,
      async call(access, { slot_id, ...input }, signal) {
        const client = await access.client()
        const { placement } = await client.decisions.get({ params: { slot_id: String(slot_id) } }, { signal })
        if (placement === null) {
          const hint = `Only a fill has beacons. See why: explain_placement with slot_id ${slot_id}.`
          throw new CliError('expectation', 'no_fill', `The slot ${slot_id} has no fill.`, hint)
        }
        const hasTime = 'occurred_at' in input || 'occurred_at_ms' in input
        const time = hasTime ? {} : { occurred_at_ms: (await client.clock.show()).now_ms }
        const { asset_token } = placement
        const body = { beacon_id: `${slot_id}:${input.event}`, ...time, ...input, slot_id, asset_token }
        const { data, meta } = await client.call('beacons.send', { body }, { signal })
        return { ...(data as object), would_bill: meta.would_bill }
      },
    },
    show_contract: {
      name: 'show_contract',
      command: 'contract show',
      title: 'Show what is documented, observed and assumed',
      description:
        'An endpoint with a line for each field: type, required, provenance, decision id, limits, values, description. documented: the API document states it. observed: seen in public clients. assumed: chosen by this sandbox, production may differ. Without endpoint: all endpoints without their fields.',
      effect: 'reads',
      isIdempotent: true,
      input: z.strictObject({
        endpoint: z.enum(endpointIds).optional().describe('Only this one, with its fields: placements.create.'),
        where: z.enum(['params', 'query', 'body', 'response']).optional().describe('Only the fields of this part.'),
      }),
      narrower: 'Name an endpoint, and a part with where.',
      async call(_access, { endpoint, where }) {
        const { endpoints } = contractListing()
        if (endpoint === undefined) return endpoints.map(({ fields: _, ...rest }) => rest)
        const { fields, ...facts } = endpoints.find(({ id }) => id === endpoint)!
        const wanted = fields.filter((field) => where === undefined || field.where === where)
        const partName = ({ where, variant }: ListedField) => (variant === null ? where : `${where} of ${variant}`)
        const parts = [...Map.groupBy(wanted, partName)]
        return { ...facts, fields: Object.fromEntries(parts.map(([part, own]) => [part, own.map(describeListed)])) }
      },
    },
    read_docs: {
      name: 'read_docs',
      command: 'docs',
      title: 'Read the documentation',
      description:
        'A page or a code (key_class, no-fill/below_floor), as text. Without topic: all topics, with a sentence each.',
      effect: 'reads',
      isIdempotent: true,
      input: z.strictObject({
        topic: z.string().max(100).optional().describe('server, browser, errors/key_class ...'),
      }),
      narrower: 'Read a code or another page: the list of topics has them all.',
      async call(_access, { topic }) {
        const topics = readTopics()
        if (topic === undefined) {
          return topics
            .filter((each) => !each.topic.includes('/'))
            .map(({ topic, summary }) => `${topic}: ${summary}`)
            .join('\n')
        }
        const text = readTopic(String(topic))
        if (text !== null) return text
        const near = didYouMean(
          String(topic),
          topics.flatMap((each) => [each.topic, ...each.topic.split('/').slice(1)]),
        )
        throw new CliError(
          'usage',
          'topic_unknown',
          `There is no topic ${topic}.`,
          `${near ?? ''} Call read_docs without topic.`.trim(),
        )
      },
    },
    run_qa: {
      name: 'run_qa',
      command: 'qa run',
      title: 'Run QA suites against the sandbox',
      description:
        'Runs built-in suites by name (resources svc://suites/NAME have their text) and reports totals and each failed case. Cases that need a browser, or a sandbox that may be erased, are left out; svc qa run --fresh --browser runs them.',
      effect: 'changes',
      isIdempotent: false,
      input: z.strictObject({
        suites: z.array(z.string().max(64)).min(1).max(5).describe('Names: formats, beacons, consent, errors ...'),
        grep: z.string().max(200).optional().describe('Only cases whose id contains this text.'),
      }),
      narrower: 'Choose fewer cases with grep.',
      call: (access, { suites, grep }, signal) =>
        runSuites(access, { suites: suites as string[], grep: grep as string | undefined, signal }),
    },
    doctor: {
      name: 'doctor',
      command: 'doctor',
      title: 'Find what is wrong with an integration',
      description:
        'What svc doctor reports: about the sandbox, and about the newest 1 000 requests of the app under test (keys, origins, beacon fields, retries), each with a fix. Call it after the app has run.',
      effect: 'reads',
      isIdempotent: true,
      input: z.strictObject({
        all: z.boolean().optional().describe('true: also the checks that found nothing wrong.'),
      }),
      narrower: 'Leave out all.',
      async call(access, { all }) {
        const findings = await access.diagnose()
        const shown = all === true ? findings : findings.filter(({ level }) => level !== 'ok' && level !== 'not_seen')
        return { summary: summarize(findings), findings: shown }
      },
    },
    lint_beacons: {
      name: 'lint_beacons',
      command: 'beacons lint',
      title: 'Check beacons without sending them',
      description:
        'One body, an array, JSON lines, or a HAR file, as text. Errors are what the service refuses; warnings are what it would not bill.',
      effect: 'reads',
      isIdempotent: true,
      input: z.strictObject({
        text: z.string().min(1).max(200_000).describe('The beacons.'),
        sent_at_ms: z
          .int()
          .min(0)
          .optional()
          .describe('When they are sent, Unix epoch milliseconds; finds those that are too old.'),
      }),
      narrower: 'Give fewer beacons.',
      async call(access, { text, sent_at_ms = null }, signal) {
        const times = { now_ms: access.now(), sent_at_ms: sent_at_ms as number | null }
        const report = await lintOnThread({ text: String(text).replace(/^\uFEFF/, ''), times }, signal)
        if (report.kind === 'unknown')
          throw new CliError('usage', 'file_foreign', 'This text is not a file of beacons.', beaconFormats)
        if (report.beacons > 0 || report.findings.length > 0) return report
        throw nothingChecked('There is no beacon in this text.', 'Give the bodies of POST /v1/beacons, or a HAR file.')
      },
    },
  } satisfies Record<string, Tool>
}

/** Returns a field as one line. As objects, the fields of the larger endpoints do not fit into a result. */
function describeListed({ path, type, required, provenance, decision, limits, values, description }: ListedField) {
  const facts = [
    type,
    required ? 'required' : 'optional',
    decision === null ? provenance : `${provenance} ${decision}`,
    ...(limits === null ? [] : [limits]),
    ...(values === null ? [] : [`one of ${values.join(' | ')}`]),
  ]
  return `${path}: ${facts.join(', ')}. ${description}`
}

const workers = 2
const stepTimeoutMs = 10_000

interface SuiteChoice {
  suites: readonly string[]
  grep: string | undefined
  signal: AbortSignal
}

/** Returns the totals of a run, and each failed case with the checks that failed. Throws CliError. */
async function runSuites(access: SandboxAccess, { suites, grep = '', signal }: SuiteChoice): Promise<unknown> {
  const names = builtinNames()
  const unknown = suites.filter((name) => !names.includes(name))
  if (unknown.length > 0) {
    throw new CliError(
      'usage',
      'suite_unknown',
      `There is no built-in suite ${unknown.join(', ')}.`,
      `There are: ${names.join(', ')}.`,
    )
  }
  const all = expand(loadSuites(suites, (file) => file))
  const cases = all.filter((planned) => !needsBrowser(planned) && planned.id.includes(grep))
  if (cases.length === 0) {
    throw new CliError(
      'usage',
      'no_case',
      'No case matches.',
      'Read svc://suites/NAME for the names of its cases, or leave out grep.',
    )
  }
  const options = await access.qaTarget()
  const { openTarget } = await import('#qa/run/target.ts')
  const { runPlan } = await import('#qa/run/runner.ts')
  try {
    const target = await openTarget({ ...options, browser: null })
    try {
      const result = await runPlan(cases, {
        targets: [target],
        workers,
        seed: access.randomText(16),
        reporter: {},
        environment: { now: () => access.now(), command_name: access.command_name, curl: () => '' },
        svc_version: version,
        interrupt: signal,
        bail: null,
        step_timeout_ms: stepTimeoutMs,
        update_snapshots: false,
      })
      const failed = result.cases.filter(({ outcome }) => outcome === 'failed')
      if (failed.length === 0 && result.cases.every(({ outcome }) => outcome !== 'passed')) {
        const [reason] = result.cases.flatMap((each) => each.reason ?? [])
        throw nothingChecked(
          `Nothing was checked: none of ${result.cases.length} cases applies.`,
          reason ?? 'Choose others.',
        )
      }
      const needing_browser = all.filter(needsBrowser).length
      return { totals: countTotals(result.cases), needing_browser, failed: failed.map(describeFailed) }
    } finally {
      await target.close()
    }
  } catch (error) {
    if (!(error instanceof QaError)) throw error
    throw new CliError('unreachable', error.code, error.message, error.hint)
  }
}

function describeFailed({ id, reason, steps }: CaseResult) {
  const failed = steps.filter(({ outcome }) => outcome === 'failed')
  return {
    id,
    reason,
    steps: failed.map(({ title, reason, checks }) => {
      const unmet = checks.filter(({ passed }) => !passed)
      return {
        title,
        reason,
        checks: unmet.map(({ subject, expected, actual, hint }) => ({ subject, expected, actual, hint })),
      }
    }),
  }
}

/** Returns the input of a call as the tool takes it. Throws CliError with every field that is wrong. */
export function checkInput({ name, input }: Tool, given: unknown): Record<string, unknown> {
  const read = input.safeParse(given ?? {})
  // The values as they were given: the sandbox reads them itself.
  if (read.success) return (given ?? {}) as Record<string, unknown>
  throw new CliError(
    'usage',
    'input_invalid',
    `The input of ${name} is invalid. ${describeIssues(read.error.issues)}`,
    'Correct these fields: the input schema of the tool has them all.',
  )
}

/** Returns each invalid field, and what it must be. */
export function describeIssues(issues: Parameters<typeof explainIssues>[0]): string {
  return explainIssues(issues).fields.map(describeField).join('; ')
}
