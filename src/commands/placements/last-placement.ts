/**
 * The last placement that this command line got, so that the next command can leave its identifiers out: `svc placements
 * create`, then `svc beacons send --event render`. One small file in the state directory, readable by its owner only.
 */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { CliError } from '../../cli/run/errors.ts'
import type { Session } from '../../cli/run/session.ts'
import { stateDirectory } from '../../cli/settings/files.ts'
import type { ResponseMeta } from '../../client/response.ts'
import type { PlacementResponse } from '../../contract/v1/placements.ts'

const LastPlacement = z.object({
  base_url: z.string(),
  slot_id: z.string(),
  asset_token: z.string().nullable(),
  request_id: z.string().nullable(),
})
type LastPlacement = z.infer<typeof LastPlacement>

export async function rememberPlacement(
  { host, settings }: Session,
  { slot_id, decision }: Pick<PlacementResponse, 'slot_id' | 'decision'>,
  { request_id }: Pick<ResponseMeta, 'request_id'>,
): Promise<void> {
  const path = pathOf(host)
  const last: LastPlacement = {
    base_url: settings.base_url,
    slot_id,
    asset_token: decision?.asset_token ?? null,
    request_id,
  }
  await mkdir(stateDirectory(host), { recursive: true, mode: 0o700 })
  await writeFile(`${path}.${host.pid}`, `${JSON.stringify(last)}\n`, { mode: 0o600 })
  await rename(`${path}.${host.pid}`, path)
}

/** A member of the last placement of this service. Throws CliError when there is none. */
export async function recallPlacement(
  { host, settings, out }: Session,
  member: 'slot_id' | 'asset_token' | 'request_id',
): Promise<string> {
  const last = await readLast(pathOf(host))
  const known = last?.base_url === settings.base_url ? last : null
  const value = known?.[member] ?? null
  if (value !== null) {
    out.note(`${member} of the last placement: ${value}`)
    return value
  }
  throw new CliError(
    'usage',
    'argument_missing',
    known === null
      ? `${member} is missing, and no placement is remembered.`
      : `${member} is missing, and the last placement, ${known.slot_id}, has none.`,
    'Give it, or get a placement first: svc placements create',
  )
}

async function readLast(path: string): Promise<LastPlacement | null> {
  try {
    return LastPlacement.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch {
    return null
  }
}

function pathOf(host: Session['host']): string {
  return join(stateDirectory(host), 'last-placement.json')
}
