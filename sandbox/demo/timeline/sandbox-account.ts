/** What the sandbox answers when it is asked: its account of a slot, and what its codes mean. */
import type { PlacementDetail } from '../../../src/contract/control/placements.ts'
import type { Meanings } from './wording.ts'

/** Events of one moment are asked about once, milliseconds. */
const moment_ms = 80

/** Asks for the account of a slot soon after it is named; `told` gets it when it is one of ours. */
export function createAccounts(isOurs: (slot_id: string) => boolean, told: (detail: PlacementDetail) => void) {
  const waiting = new Map<string, ReturnType<typeof setTimeout>>()
  const ask = async (slot_id: string): Promise<void> => {
    waiting.delete(slot_id)
    if (!isOurs(slot_id)) return
    const response = await fetch(`/_sandbox/placements/${slot_id}`).catch(() => null)
    if (response?.ok) told((await response.json()) as PlacementDetail)
  }
  return (slot_id: string): void => {
    clearTimeout(waiting.get(slot_id))
    waiting.set(
      slot_id,
      setTimeout(() => void ask(slot_id), moment_ms),
    )
  }
}

interface CodeListing {
  reason_codes: { reason_code: string; message: string }[]
  no_fill_reasons: { no_fill_reason: string; meaning: string }[]
}

/** Every code in the words of the contract that this sandbox serves. Without an answer, codes stand for themselves. */
export async function readMeanings(): Promise<Meanings> {
  const response = await fetch('/_sandbox/contract').catch(() => null)
  if (!response?.ok) return new Map()
  const { reason_codes, no_fill_reasons } = (await response.json()) as CodeListing
  return new Map([
    ...reason_codes.map(({ reason_code, message }) => [reason_code, message] as const),
    ...no_fill_reasons.map(({ no_fill_reason, meaning }) => [no_fill_reason, meaning] as const),
  ])
}
