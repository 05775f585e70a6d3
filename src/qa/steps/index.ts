/** Every kind of step, in the order in which they are explained. A new kind is added here, and nowhere else. */
import { browser, page } from '../browser/steps.ts'
import { job, placement } from './placement.ts'
import { call, request } from './request.ts'
import { clock, evidence, fault, reset, scenario, waitFor } from './sandbox.ts'
import { activate, config, consent } from './session.ts'
import { beacon, frame, ledger, poll } from './slot.ts'
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

/** The kind of a step: the one whose name is among its members. */
export function kindNamed(name: string): StepKind | undefined {
  return byName.get(name)
}
