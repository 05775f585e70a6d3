/** Every kind of step, in the order of the documentation. A new kind is added here, and nowhere else. */
import { browser, page } from '../browser/steps.ts'
import { beacon, frame, job, ledger, placement, poll } from './placement.ts'
import { activate, call, config, consent, request } from './request.ts'
import { clock, evidence, fault, reset, scenario, waitFor } from './sandbox.ts'
import type { StepKind } from './step-kind.ts'

export const stepKinds: readonly StepKind[] = [
  placement,
  job,
  poll,
  frame,
  beacon,
  consent,
  activate,
  config,
  call,
  request,
  waitFor,
  browser,
  page,
  ledger,
  evidence,
  clock,
  fault,
  scenario,
  reset,
]

const byName = new Map(stepKinds.map((kind) => [kind.name, kind]))

/** Returns the kind of a name, or undefined: the kind of a step is named by one of its fields. */
export function kindNamed(name: string): StepKind | undefined {
  return byName.get(name)
}
