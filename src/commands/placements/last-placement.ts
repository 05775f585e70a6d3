/**
 * Your last placement, so that the next command can leave its identifiers out: `svc placements create`, then `svc beacons
 * send --event render`. It is one small file in the state directory that only its owner can read.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Session } from '../../cli/run/command.ts'
import { CliError, noSandbox } from '../../cli/run/errors.ts'
import { isSameService } from '../../cli/settings/settings.ts'
import { stateDirectory } from '../../cli/settings/state-directory.ts'
import type { ResponseMeta } from '../../client/client.ts'
import type { PlacementResponse } from '../../contract/v1/placements.ts'
import { ownerOnly, replaceFile } from '../../foundation/file-system.ts'
import { hasTypes, parseJson } from '../../foundation/json.ts'

interface LastPlacement {
  base_url: string
  slot_id: string
  /** Of the last fill, which may be an earlier placement. */
  asset_token: string | null
  request_id: string | null
}

const types = { base_url: 'string', slot_id: 'string', asset_token: 'string|null', request_id: 'string|null' }

export async function savePlacement(
  { host, settings: { base_url }, out }: Session,
  { slot_id, decision }: Pick<PlacementResponse, 'slot_id' | 'decision'>,
  { request_id }: Pick<ResponseMeta, 'request_id'>,
): Promise<void> {
  const asset_token = decision?.asset_token ?? (await readSaved(host, base_url))?.asset_token ?? null
  const last: LastPlacement = { base_url, slot_id, asset_token, request_id }
  try {
    replaceFile(pathOf(host), `${JSON.stringify(last)}\n`, ownerOnly)
  } catch (error) {
    // There is a placement, so that the command has succeeded.
    out.note(`Not saved as the last placement: ${error instanceof Error ? error.message : error}`)
  }
}

/** Returns a field of the last placement of this service, and notes it. Throws CliError when there is none. */
export async function lastPlacement(
  { host, settings, out }: Session,
  field: 'slot_id' | 'asset_token' | 'request_id',
): Promise<string> {
  if (settings.source.base_url === 'default') throw noSandbox()
  const last = await readSaved(host, settings.base_url)
  const value = last?.[field] ?? null
  if (value !== null) {
    out.note(`${field} of the last ${field === 'asset_token' ? 'fill' : 'placement'}: ${value}`)
    return value
  }
  const reason = last === null ? 'there is no last placement' : 'there is no last fill'
  const hint = `Give it${sources[field]}, or get a placement first: svc placements create`
  throw new CliError('usage', 'argument_missing', `${field} is missing, and ${reason}.`, hint)
}

/** Where an identifier is found that another program received. */
const sources = {
  slot_id: ' (svc placements list shows them)',
  request_id: ' (svc requests list shows them)',
  asset_token: '',
}

/** Returns the saved placement of a service; null when there is none, or it is of another service. */
async function readSaved(host: Session['host'], base_url: string): Promise<LastPlacement | null> {
  const saved = parseJson(await readFile(pathOf(host), 'utf8').catch(() => ''))
  if (!hasTypes(saved, types)) return null
  const last = saved as unknown as LastPlacement
  return URL.canParse(last.base_url) && isSameService(last.base_url, base_url) ? last : null
}

function pathOf(host: Session['host']): string {
  return join(stateDirectory(host), 'last-placement.json')
}
