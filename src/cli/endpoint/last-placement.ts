/**
 * The last placement, which lets commands leave out its identifiers: `svc placements create`, then `svc beacons send
 * --event render`. It is the one that this command line created or polled last; if there is none in a running sandbox,
 * it is the newest of the project there, which your app has created. What only reads follows the app: it takes that newest
 * one also where your own is older. A token stays your own, since it loads the frame and sends beacons.
 */

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ResponseMeta } from '#client/client.ts'
import { ServiceError } from '#client/errors.ts'
import { isProductionKey } from '#client/exchange.ts'
import type { PlacementItem, PlacementResponse } from '#contract/resources/placements.ts'
import { replaceFile } from '#foundation/file-system.ts'
import { isSameService } from '#foundation/http.ts'
import { hasTypes, parseJson } from '#foundation/json.ts'
import { ownerOnly } from '#foundation/permissions.ts'
import { readMessage } from '#foundation/system-error.ts'
import { CliError } from '#text/cli-error.ts'
import type { CommandContext } from '../run/command.ts'
import { noSandboxFor } from '../run/errors.ts'
import type { System } from '../run/system.ts'
import { folderState } from '../settings/sandbox-folder.ts'
import type { Settings } from '../settings/settings.ts'
import { callEndpoint } from './endpoint-command.ts'

interface LastPlacement {
  base_url: string
  /** When the sandbox started, if it is in memory: the next one on its port may have a slot of the same name. */
  in_memory_since_ms: number | null
  slot_id: string
  /** The last fill, which may be an earlier placement. */
  fill_slot_id: string | null
  asset_token: string | null
  request_id: string | null
}

type Field = 'slot_id' | 'asset_token' | 'request_id'

const lastTypes = {
  base_url: 'string',
  in_memory_since_ms: 'number|null',
  slot_id: 'string',
  fill_slot_id: 'string|null',
  asset_token: 'string|null',
  request_id: 'string|null',
}

/**
 * Saves a placement as the last one. A polled decision has no `meta`: its placement came from another request, which is
 * kept if it is known.
 */
export async function savePlacement(
  context: CommandContext,
  { slot_id, decision }: Pick<PlacementResponse, 'slot_id' | 'decision'>,
  meta: Pick<ResponseMeta, 'request_id'> | null,
): Promise<void> {
  const { system, settings, out } = context
  const before = await readSaved(context)
  const isFill = decision?.fill === true
  const last: LastPlacement = {
    base_url: settings.base_url,
    in_memory_since_ms: inMemorySince(settings),
    slot_id,
    fill_slot_id: isFill ? slot_id : (before?.fill_slot_id ?? null),
    asset_token: isFill ? decision.asset_token : (before?.asset_token ?? null),
    request_id: meta?.request_id ?? (before?.slot_id === slot_id ? before.request_id : null),
  }
  try {
    replaceFile(lastPath(system), `${JSON.stringify(last)}\n`, ownerOnly)
  } catch (error) {
    // There is a placement, so the command has succeeded.
    out.note(`Not saved as the last placement: ${readMessage(error)}`)
  }
}

/**
 * Returns a field of your last placement at this service, or of the newest of the project in a running sandbox, and notes
 * which. Throws CliError when there is none.
 */
export async function lastPlacement(context: CommandContext, field: Field): Promise<string> {
  const { settings } = context
  if (settings.source.base_url === 'default') throw noSandboxFor(settings)
  const noun = field === 'asset_token' ? 'fill' : 'placement'
  const saved = await readSaved(context)
  const stored = saved === null ? null : await storedPlacement(context, saved, field)
  const last = settings.sandbox === null || stored !== null ? saved : null
  const own = last?.[field] ?? null
  const newer = stored === null ? null : await newerPlacement(context, stored, field)
  const value = await newerField(context, newer, field)
  if (value !== null) return value
  if (own !== null) {
    const than = newer === null ? '' : `, which is older than ${newer.slot_id}`
    context.out.note(`${field} of the last ${noun}${otherKey(settings, stored)}${than}: ${own}`)
    return own
  }
  const isMissing = last === null || field !== 'request_id'
  const others = isMissing ? await newestField(context, field, noun) : null
  if (others !== null) return others
  throw missingField(field, isMissing ? `there is no last ${noun}` : 'the last placement has none')
}

/** Returns a field of a placement that is newer than your own, and notes it; null for a token, which stays your own. */
async function newerField(context: CommandContext, newer: PlacementItem | null, field: Field): Promise<string | null> {
  if (newer === null || field === 'asset_token') return null
  const value = await readField(context, newer, field)
  const named = field === 'slot_id' ? '' : `, ${newer.slot_id}`
  if (value !== null) context.out.note(`${field} of the newest placement${named}; your last one is older: ${value}`)
  return value
}

/** Returns a field of the newest placement in a running sandbox, and notes whose it is; null when there is none. */
async function newestField(context: CommandContext, field: Field, noun: string): Promise<string | null> {
  const newest = context.settings.sandbox === null ? null : await newestPlacement(context, field)
  const value = newest === null ? null : await readField(context, newest, field)
  if (newest === null || value === null) return null
  const named = field === 'slot_id' ? '' : `, ${newest.slot_id}`
  context.out.note(`You have no ${noun} here. ${field} of the newest one of ${newest.client_id}${named}: ${value}`)
  return value
}

function missingField(field: Field, reason: string): CliError {
  const hint = `Give it${sources[field]}, or get a placement first: svc placements create`
  return new CliError('usage', 'argument_missing', `${field} is missing, and ${reason}.`, hint)
}

/** Where to find an identifier that another program received. */
const sources = {
  slot_id: ' (svc placements list shows them)',
  request_id: ' (svc requests list shows them)',
  asset_token: '',
}

/** Returns the placement of a saved field; null when its sandbox no longer has it, or the service is not a sandbox. */
async function storedPlacement(
  { settings, client, signal }: CommandContext,
  { slot_id, fill_slot_id }: LastPlacement,
  field: Field,
): Promise<PlacementItem | null> {
  if (settings.sandbox === null) return null
  const params = { slot_id: field === 'asset_token' ? (fill_slot_id ?? slot_id) : slot_id }
  try {
    return await client().placements.explain({ params }, { signal })
  } catch (error) {
    if (error instanceof ServiceError && error.status === 404) return null
    throw error
  }
}

/** Returns the project and the mode of a placement, in brackets, unless they are those of the key in use. */
function otherKey({ client_id, secret_key }: Settings, stored: PlacementItem | null): string {
  if (stored === null || secret_key === null) return ''
  const isOwn = stored.client_id === client_id && (stored.mode === 'live') === isProductionKey(secret_key)
  return isOwn ? '' : ` (${stored.client_id}, ${stored.mode} key)`
}

async function newestPlacement(
  { settings, client, signal }: CommandContext,
  field: Field,
): Promise<PlacementItem | null> {
  const { client_id } = settings
  const query = {
    limit: 1,
    ...(client_id === null ? {} : { client_id }),
    ...(field === 'asset_token' ? { fill: 'true' as const } : {}),
  }
  return (await client().placements.list({ query }, { signal })).items[0] ?? null
}

/** Returns the newest placement of the project if it was made after `stored`; else null. */
async function newerPlacement(
  context: CommandContext,
  stored: PlacementItem,
  field: Field,
): Promise<PlacementItem | null> {
  const newest = await newestPlacement(context, field)
  if (newest === null || newest.slot_id === stored.slot_id) return null
  const later_ms = newest.created_at_ms - stored.created_at_ms
  // The clock of a sandbox may stand still: lists of one project have the newest first all the same.
  return later_ms > 0 || (later_ms === 0 && newest.client_id === stored.client_id) ? newest : null
}

async function readField(context: CommandContext, placement: PlacementItem, field: Field): Promise<string | null> {
  const { slot_id, session_id, created_at_ms } = placement
  if (field === 'slot_id') return slot_id
  if (field === 'asset_token') {
    return (await callEndpoint(context, 'decisions.get', { params: { slot_id } })).data.decision?.asset_token ?? null
  }
  const at = String(created_at_ms)
  const { client, signal } = context
  const { items } = await client().requests.list(
    { query: { method: 'POST', path: '/v1/', since: at, until: at } },
    { signal },
  )
  const request = items.find((item) => item.slot_id === slot_id) ?? items.find((item) => item.session_id === session_id)
  return request?.request_id ?? null
}

/** Returns the saved placement of a service; null when there is none, or it belongs to another service. */
async function readSaved({ system, settings }: CommandContext): Promise<LastPlacement | null> {
  const last = parseJson(await readFile(lastPath(system), 'utf8').catch(() => ''))
  if (!hasTypes<LastPlacement>(last, lastTypes)) return null
  const isOfService = URL.canParse(last.base_url) && isSameService(last.base_url, settings.base_url)
  return isOfService && last.in_memory_since_ms === inMemorySince(settings) ? last : null
}

function inMemorySince({ sandbox }: Settings): number | null {
  return sandbox?.database === ':memory:' ? sandbox.started_at_ms : null
}

function lastPath(system: System): string {
  return join(folderState(system).directory, 'last-placement.json')
}
