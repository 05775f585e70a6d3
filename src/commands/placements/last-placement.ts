/**
 * Your last placement, so that the next command can leave its identifiers out: `svc placements create`, then `svc beacons
 * send --event render`. It is one small file in the state directory that only its owner can read.
 */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { CliError } from '../../cli/run/errors.ts'
import type { Session } from '../../cli/run/session.ts'
import { stateDirectory } from '../../cli/settings/files.ts'
import { isSameService } from '../../cli/settings/settings.ts'
import type { ResponseMeta } from '../../client/response.ts'
import type { PlacementResponse } from '../../contract/v1/placements.ts'

const LastPlacement = z.object({
  base_url: z.string(),
  slot_id: z.string(),
  asset_token: z.string().nullable(),
  request_id: z.string().nullable(),
})
type LastPlacement = z.infer<typeof LastPlacement>

export async function savePlacement(
  { host, settings: { base_url } }: Session,
  { slot_id, decision }: Pick<PlacementResponse, 'slot_id' | 'decision'>,
  { request_id }: Pick<ResponseMeta, 'request_id'>,
): Promise<void> {
  const path = pathOf(host)
  const last: LastPlacement = { base_url, slot_id, asset_token: decision?.asset_token ?? null, request_id }
  await mkdir(stateDirectory(host), { recursive: true, mode: 0o700 })
  await writeFile(`${path}.${host.pid}`, `${JSON.stringify(last)}\n`, { mode: 0o600 })
  await rename(`${path}.${host.pid}`, path)
}

/** Returns a field of the last placement of this service, and notes it. Throws CliError when there is none. */
export async function lastPlacement(
  { host, settings, out }: Session,
  field: 'slot_id' | 'asset_token' | 'request_id',
): Promise<string> {
  const saved = await readSaved(pathOf(host))
  const last = saved !== null && isSameService(saved.base_url, settings.base_url) ? saved : null
  const value = last?.[field] ?? null
  if (value !== null) {
    out.note(`${field} of the last placement: ${value}`)
    return value
  }
  const reason = last === null ? 'there is no last placement' : `the last placement, ${last.slot_id}, has none`
  const hint = 'Give it, or get a placement first: svc placements create'
  throw new CliError('usage', 'argument_missing', `${field} is missing, and ${reason}.`, hint)
}

async function readSaved(path: string): Promise<LastPlacement | null> {
  try {
    return LastPlacement.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch {
    return null
  }
}

function pathOf(host: Session['host']): string {
  return join(stateDirectory(host), 'last-placement.json')
}
