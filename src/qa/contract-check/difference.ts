/** What a check of a live service finds, endpoint by endpoint. */
import type { v1 } from '../../contract/index.ts'
import type { Provenance } from '../../contract/provenance.ts'

export type V1Id = keyof typeof v1

/**
 * Where the fact comes from that does not hold; `addition` is what the contract does not know of, which a service may
 * add within v1. Only differences of documented facts fail a check.
 */
export type Weight = Provenance | 'addition'

export interface Difference {
  endpoint: V1Id
  weight: Weight
  /** The request in a few words: `a banner`; `openapi` for the document. */
  check: string
  /** `status`, `header content-type`, `response placement.width`, `error.reason_code`. */
  what: string
  expected: string
  observed: string
}

/** What could not be looked at, and why. */
export interface NotChecked {
  check: string
  why: string
}

/** A field of the contract, as the answers showed it. */
export interface FieldVerdict {
  path: string
  provenance: Provenance
  verdict: 'ok' | 'differs' | 'not seen'
}

export interface EndpointReport {
  endpoint: V1Id
  method: string
  path: string
  verdict: 'ok' | 'differs' | 'not checked'
  checks: { check: string; ok: boolean; request_id: string | null }[]
  not_checked: NotChecked[]
  fields: FieldVerdict[]
}
