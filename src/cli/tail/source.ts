/** The source of a tail: it defines how its items are filtered, counted, shown and sent again. The rest is shared. */

import type { Client } from '#client/client.ts'
import type { PlacementDetail } from '#contract/resources/placements.ts'
import type { RequestDetail } from '#contract/resources/requests.ts'
import type { Style } from '#text/terminal.ts'

export interface TailItem {
  /** Grows with each item that arrives. */
  seq: number
  slot_id: string | null
}

export interface Arrival {
  item: TailItem
  /** False for an item from before the connection. */
  is_live: boolean
}

/** The selected item, and what has been loaded about it. */
export interface Details<Item extends TailItem = TailItem> {
  item: Item
  slot: SlotState
  request: RequestState
}

export type SlotState =
  | { status: 'none' }
  | { status: 'loading' }
  | { status: 'failed'; reason: string }
  | { status: 'loaded'; detail: PlacementDetail }

/** The exchange of an item, from the journal. */
export type RequestState =
  | { status: 'loading' }
  | { status: 'missing' }
  | { status: 'failed'; reason: string }
  | { status: 'loaded'; detail: RequestDetail }

export interface TailSource<Item extends TailItem = TailItem> {
  /** The fields of the filter that can be chosen, with their values. */
  choices: Readonly<Record<string, readonly string[]>>
  /** The groups that are counted. */
  groups: readonly string[]
  /** Further counts, in the order of the screen. */
  tallies: readonly string[]
  findGroup(item: Item): string | null
  /** Returns the tallies that an item counts for. */
  listTallies(item: Item): readonly string[]
  /** Returns the value of a field of the filter. */
  readValue(item: Item, field: string): string | null
  /** Returns the texts that a search looks through. */
  listSearched(item: Item): readonly (string | null)[]
  /** Returns the names of the columns. */
  renderHead(columns: number, style: Style): string
  /** Returns the line of an item. The selected one is marked by a sign as well as by colour. */
  renderLine(item: Item, columns: number, style: Style, isSelected: boolean): string
  details(details: Details<Item>, style: Style): string[]
  /** Returns the identifier of an item; null when it has none. */
  readId(item: Item): string | null
  /** Returns the identifier that has a page in the inspector, or null. */
  readPageId(item: Item): string | null
  /** Returns the id of the request that brought an item; null when the journal no longer has it. */
  findRequestId(item: Item, client: Client, signal: AbortSignal): Promise<string | null>
  /** Returns the outcome of a replayed request, in words. */
  describeOutcome(exchange: RequestDetail): string
}
