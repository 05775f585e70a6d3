/** Scenarios: named, permanent cases that an integration must handle, for developers, QA and docs. */
import { z } from 'zod'
import { declareEndpoints, reading, writing } from '../../endpoint.ts'
import { Format, NativeTemplateId, NoFields, page } from '../../fields.ts'
import { assumed, assumedObject, strictObject } from '../../objects.ts'
import { FaultDraft } from './faults.ts'

/** No-fill reasons that a scenario can force on requests with a test key. */
export const ForcedNoFill = z.enum(['no_demand', 'timeout', 'partner_error', 'risk_suppressed', 'internal_error'])
export type ForcedNoFill = z.infer<typeof ForcedNoFill>

export const ScenarioChanges = assumedObject('A95', () => ({
  format: Format.optional().describe('Decisions fill only in this format.'),
  native_template_id: NativeTemplateId.optional().describe('Layout of native fills.'),
  no_fill_reason: ForcedNoFill.optional().describe('Every decision is a no-fill for this reason.'),
  decision_latency_ms: z
    .int()
    .min(1)
    .max(86_400_000)
    .optional()
    .describe('Latency of decisions, by the sandbox clock.'),
  force_campaign_id: assumed(
    z.string().max(200).optional(),
    'A107',
    'Requests of test traffic have this overrides.force_campaign_id, where they have none.',
  ),
  faults: z.array(FaultDraft).max(10).optional().describe('Fault rules, in the order of evaluation.'),
}))
export type ScenarioChanges = z.infer<typeof ScenarioChanges>

/** The schema of a file in `fixtures/scenarios`. */
export const Scenario = assumedObject('A95', () => ({
  name: z
    .string()
    .regex(/^[a-z][a-z0-9_]{1,67}$/)
    .describe('Name, equal to the name of its file; a campaign_id is the scenario that forces it.'),
  title: z.string().min(1).max(80).describe('What happens, in a few words.'),
  purpose: z.string().min(1).max(400).describe('The purpose of the scenario.'),
  changes: ScenarioChanges.describe('How the sandbox behaves differently; empty where the caller must act.'),
  steps: z.array(z.string().min(1).max(400)).min(1).describe('What to do, in order.'),
  expect: z.array(z.string().min(1).max(400)).min(1).describe('What an integrator should see.'),
}))
export type Scenario = z.infer<typeof Scenario>

export const ScenarioItem = assumedObject('A95', () => ({
  ...Scenario.shape,
  active: z.boolean().describe('Whether it is in use.'),
}))
export type ScenarioItem = z.infer<typeof ScenarioItem>

export const control = declareEndpoints({
  'scenario.list': {
    ...reading,
    path: '/_sandbox/scenarios',
    summary: 'List the scenarios',
    description: 'The whole catalogue, by name: the purpose of each, its changes, what to do and what to expect.',
    response: page(ScenarioItem),
  },
  'scenario.use': {
    ...writing,
    path: '/_sandbox/scenarios/{name}',
    summary: 'Use a scenario',
    description:
      'It replaces the previous scenario and is part of the state: it survives a restart and is in snapshots and exports; a reset ends it. A campaign_id in place of a name forces that campaign. Its changes to decisions apply to requests with test keys; its fault rules apply to all requests.',
    params: assumedObject('A95', () => ({
      name: z.string().describe('Name of the scenario, or the campaign_id that is to be forced.'),
    })),
    body: NoFields,
    response: ScenarioItem,
    errors: ['not_found'],
  },
  'scenario.clear': {
    ...writing,
    method: 'DELETE',
    path: '/_sandbox/scenarios',
    summary: 'End the scenario in use',
    description: 'Removes its fault rules and undoes its changes. Fault rules that were added separately stay.',
    query: strictObject(() => ({})),
    response: assumedObject('A95', () => ({
      cleared: z.string().nullable().describe('The scenario that was in use; null when there was none.'),
    })),
  },
})
