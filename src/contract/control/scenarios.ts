/** Scenarios: named, permanent cases that an integration must cope with, for people, QA and docs. */
import { z } from 'zod'
import { declareEndpoints, reading, writeErrors, writing } from '../endpoint.ts'
import { Format, NativeTemplateId, page } from '../fields.ts'
import { assumed } from '../provenance.ts'
import { FaultDraft } from './faults.ts'

/** No-fill reasons that a scenario may force on requests with a test key. */
export const ForcedNoFill = z.enum(['no_demand', 'timeout', 'partner_error', 'risk_suppressed', 'internal_error'])
export type ForcedNoFill = z.infer<typeof ForcedNoFill>

export const ScenarioChanges = z.strictObject({
  format: assumed(Format.optional(), 'A95', 'Decisions fill in this format only.'),
  native_template_id: assumed(NativeTemplateId.optional(), 'A95', 'Layout of native fills.'),
  no_fill_reason: assumed(ForcedNoFill.optional(), 'A95', 'Every decision is a no-fill for this reason.'),
  decision_latency_ms: assumed(
    z.int().min(1).max(86_400_000).optional(),
    'A95',
    'How long a decision takes, by the sandbox clock.',
  ),
  faults: assumed(z.array(FaultDraft).max(10).optional(), 'A95', 'Fault rules, the first of them tried first.'),
})
export type ScenarioChanges = z.infer<typeof ScenarioChanges>

/** The shape of a file in `fixtures/scenarios`. */
export const Scenario = z.strictObject({
  name: assumed(z.string().regex(/^[a-z][a-z0-9_]{1,40}$/), 'A95', 'Name, equal to that of its file.'),
  title: assumed(z.string().min(1).max(80), 'A95', 'What happens, in a few words.'),
  purpose: assumed(z.string().min(1).max(400), 'A95', 'What it is for.'),
  changes: assumed(ScenarioChanges, 'A95', 'What the sandbox does otherwise; empty where the caller must act.'),
  steps: assumed(z.array(z.string().min(1).max(400)).min(1), 'A95', 'What to do, in order.'),
  expect: assumed(z.array(z.string().min(1).max(400)).min(1), 'A95', 'What an integrator should see.'),
})
export type Scenario = z.infer<typeof Scenario>

export const ScenarioItem = z.strictObject({
  ...Scenario.shape,
  active: assumed(z.boolean(), 'A95', 'Whether it is in use.'),
})
export type ScenarioItem = z.infer<typeof ScenarioItem>

export const endpoints = declareEndpoints({
  'scenario.list': {
    ...reading,
    path: '/_sandbox/scenarios',
    summary: 'List the scenarios',
    description: 'The whole catalogue, by name: what each is for, what it changes, what to do and what to expect.',
    query: z.strictObject({}),
    response: page(ScenarioItem),
    errors: ['field_unknown', 'origin_refused', 'internal_error'],
  },
  'scenario.use': {
    ...writing,
    path: '/_sandbox/scenarios/{name}',
    summary: 'Put a scenario into force',
    description:
      'It takes the place of the one before, and is part of the state: a restart keeps it, a snapshot and an export have it, a reset ends it. What it changes of decisions concerns requests with test keys; its fault rules concern all.',
    params: z.strictObject({ name: assumed(z.string(), 'A95', 'Name of the scenario.') }),
    body: z.strictObject({}),
    response: ScenarioItem,
    errors: [...writeErrors, 'not_found'],
  },
  'scenario.clear': {
    ...writing,
    method: 'DELETE',
    path: '/_sandbox/scenarios',
    summary: 'End the scenario in use',
    description: 'Removes its fault rules and forgets what it changed. Fault rules that were added by hand stay.',
    query: z.strictObject({}),
    response: z.strictObject({
      cleared: assumed(z.string().nullable(), 'A95', 'The scenario that was in use; null when there was none.'),
    }),
    errors: ['field_unknown', 'origin_refused', 'storage_unavailable', 'internal_error'],
  },
})
