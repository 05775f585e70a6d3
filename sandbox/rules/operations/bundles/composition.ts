/** Composes bundles (A117): a turn, or the newest turns of a session, as one signed value. */

import type { Bundle, BundleEvidence, BundleMedia, BundleTurn } from '#contract/bundles/bundle.ts'
import { bundleText, hashParts, type UnsignedBundle } from '#contract/bundles/proof.ts'
import { ApiError } from '#contract/errors.ts'
import { decodeId, encodeId } from '#contract/ids.ts'
import { genesis } from '#contract/resources/evidence.ts'
import { defaultSettings } from '#contract/resources/projects.ts'
import { isObject } from '#foundation/json.ts'
import { plainLine } from '#foundation/unsafe-text.ts'
import type { BeaconRow, EvidenceRow, SlotRow } from '#store/store.ts'
import { findBoundConsent } from '../consent-list.ts'
import { type Context, defined, fullPage, projectFilter, type Services } from '../context.ts'
import { entryItem } from '../evidence/evidence.ts'
import { findRowProblem } from '../evidence/verify-rows.ts'
import { explainPlacement } from '../placements/placement-explanation.ts'
import { type FrameCreative, previewFrame } from '../render.ts'
import { requestDetail } from '../requests.ts'
import { withoutPersonalData } from './privacy.ts'

/** Turns of a session in one bundle. */
const maxTurns = 20
/** Exchanges of a turn in a bundle. */
const maxRequests = 1_000
/** Turns of a session that are counted at a time. */
const countedAtOnce = 1_000

interface BundleQuery {
  slot_id?: string | undefined
  session_id?: string | undefined
  client_id?: string | undefined
  media?: 'true' | 'false' | undefined
}

/** Resolves to a file that the sandbox serves, by the URL of a creative; null when it has none there. */
export type ReadMedia = (url: string) => Promise<{ body: Buffer; media_type: string } | null>

/**
 * Composes and signs a bundle.
 * @throws ApiError 404 when there is no such placement, 400 for broken evidence
 */
export async function composeBundle(
  services: Services,
  context: Context,
  query: BundleQuery,
  readMedia: ReadMedia,
): Promise<Bundle> {
  const { platform, version } = services
  const { slots, left_out } = await findSlots(services, context, query)
  const turns: BundleTurn[] = []
  for (const slot of slots)
    turns.push(await composeTurn({ services, context, readMedia }, slot, query.media === 'true'))
  const { project } = slots[0]!
  const unsigned: UnsignedBundle = {
    kind: 'svc_bundle',
    v: 1,
    svc_version: version,
    at_ms: context.now_ms,
    clock_offset_ms: platform.clock.offset_ms,
    client_id: project.client_id,
    session_id: turns[0]!.placement.session_id,
    settings: listChanges('', project.settings, defaultSettings),
    scenario: services.faults.scenario,
    fault_rules: services.faults.list().length,
    left_out,
    turns,
  }
  const parts = hashParts(unsigned, platform.sha256Hex)
  return { ...unsigned, parts, ...platform.signPublicly(bundleText(unsigned, parts)) }
}

/** Resolves to the slots that a query names, oldest first; without a name to the newest one. @throws ApiError 404 */
async function findSlots(services: Services, context: Context, { slot_id, session_id, client_id }: BundleQuery) {
  const project_id = await projectFilter(services, client_id)
  if (slot_id !== undefined) {
    const slot = await services.store.findSlot(decodeId('slot', slot_id) ?? -1)
    const isMeant =
      slot !== null &&
      (session_id === undefined || slot.job.session_id === session_id) &&
      (project_id === undefined || slot.project.id === project_id)
    if (!isMeant) throw new ApiError('not_found', { message: 'No such slot in this sandbox.' })
    return { slots: [slot], left_out: 0 }
  }
  const newest = (limit: number, before: number | null, project_id: number | undefined) =>
    fullPage(context, { limit, before }, (part) =>
      services.store.listSlots({ ...part, ...defined({ session_id, project_id }) }),
    )
  const [first] = (await newest(1, null, project_id)).rows
  if (first === undefined) throw new ApiError('not_found', { message: 'No such placement in this sandbox.' })
  if (session_id === undefined) return { slots: [first], left_out: 0 }
  // A session may have the same name in two projects: the newest one is meant.
  const { rows, next } = await newest(maxTurns, null, first.project.id)
  let left_out = 0
  for (let before = next; before !== null; ) {
    const part = await newest(countedAtOnce, before, first.project.id)
    left_out += part.rows.length
    before = part.next
  }
  return { slots: rows.reverse(), left_out }
}

interface TurnContext {
  services: Services
  context: Context
  readMedia: ReadMedia
}

async function composeTurn(turn: TurnContext, slot: SlotRow, withClip: boolean): Promise<BundleTurn> {
  const { services, context } = turn
  const slot_id = encodeId('slot', slot.id)
  const placement = await explainPlacement(services, context, { params: { slot_id }, query: {}, body: undefined })
  const accepted = await services.store.listSlotBeacons(slot.id)
  return withoutPersonalData({
    placement: { ...placement, evidence: [] },
    evidence: await listEvidence(services, slot, accepted),
    requests: await listRequests(turn, slot),
    measurements: accepted.flatMap(({ beacon_id, measurements }) =>
      measurements === null ? [] : { beacon_id, measurements },
    ),
    media: await listMedia(turn, slot_id, withClip),
  })
}

/**
 * Resolves to the entries about a slot and its consent, each with the hash before it.
 * @throws ApiError for an entry that its row or its hash contradicts
 */
async function listEvidence(
  services: Services,
  slot: SlotRow,
  accepted: readonly BeaconRow[],
): Promise<BundleEvidence[]> {
  const { store } = services
  const { id, client_id } = slot.project
  const consent = await findConsentEntry(services, slot)
  const rows = [...(consent === null ? [] : [consent]), ...(await store.listSlotEvidence(slot.id))]
  const entries: BundleEvidence[] = []
  for (const row of rows.toSorted((a, b) => a.seq - b.seq)) {
    const [before] = row.seq === 1 ? [] : await store.listChainEntries(id, row.seq - 2, 1)
    const previous_hash = before?.hash ?? genesis
    const problem = await findRowProblem(services, { client_id, previous_hash }, row)
    if (problem !== null) {
      throw new ApiError('evidence_broken', { message: `The evidence of ${client_id} is not signed. ${problem}` })
    }
    entries.push({ ...entryItem(row), previous_hash })
  }
  const unproven = findUnproven(slot, accepted, rows)
  if (unproven !== null) {
    throw new ApiError('evidence_broken', {
      message: `The evidence of ${client_id} is not signed. It has no entry of ${unproven}.`,
    })
  }
  return entries
}

/** Returns what has no entry of its own: the decision of a slot, or an accepted beacon; null when everything has. */
function findUnproven(slot: SlotRow, accepted: readonly BeaconRow[], rows: readonly EvidenceRow[]): string | null {
  const slot_id = encodeId('slot', slot.id)
  if (slot.decision !== null && !rows.some(({ kind }) => kind === 'decision')) return `the decision of ${slot_id}`
  const proven = new Set(rows.flatMap(({ kind, ref }) => (kind === 'beacon' ? ref : [])))
  const unproven = accepted.find(({ id }) => !proven.has(id))
  return unproven === undefined ? null : `the beacon ${plainLine(unproven.beacon_id)} of ${slot_id}`
}

/**
 * Resolves to the entry of the consent that a decision is bound to; null when none was stored.
 * @throws ApiError when it is gone: a bundle that is verified as whole has it
 */
async function findConsentEntry(services: Services, slot: SlotRow): Promise<EvidenceRow | null> {
  const consent = await findBoundConsent(services, slot)
  const entry = consent === null ? null : await services.store.findConsentEntry(consent.id)
  if (entry !== null || slot.decision === null || slot.decision.consent.source === 'none') return entry
  const { client_id } = slot.project
  throw new ApiError('evidence_broken', {
    message: `The evidence of ${client_id} is not signed. The entry of the consent that ${encodeId('slot', slot.id)} is bound to is gone.`,
  })
}

/** Resolves to what the journal has about a slot and the consent of its session, oldest first. */
async function listRequests({ services, context }: TurnContext, slot: SlotRow): Promise<BundleTurn['requests']> {
  const { id, created_at_ms, job, project } = slot
  const filter = {
    project_id: project.id,
    turn: { slot_id: id, session_id: job.session_id },
    since_ms: created_at_ms - 60_000,
  }
  // Without headers and bodies: the whole journal is searched.
  const { rows } = await fullPage(context, { limit: Number.MAX_SAFE_INTEGER, before: null }, (part) =>
    services.store.listExchanges({ ...part, limit: maxRequests, ...filter }),
  )
  const first = await Promise.all(
    rows
      .reverse()
      .slice(0, maxRequests)
      .map((row) => services.store.findExchange(row.id)),
  )
  return Promise.all(first.filter((row) => row !== null).map((row) => requestDetail(services, row)))
}

async function listMedia(
  { services, readMedia }: TurnContext,
  slot_id: string,
  withClip: boolean,
): Promise<BundleMedia[]> {
  const frame = await previewFrame(services, slot_id)
  const media: BundleMedia[] = []
  for (const { use, url } of frame === null ? [] : listFiles(frame.creative)) {
    const file = use === 'clip' && !withClip ? null : await readMedia(url)
    if (file !== null) media.push({ use, media_type: file.media_type, base64: file.body.toString('base64') })
  }
  return media
}

interface CreativeFile {
  use: BundleMedia['use']
  url: string
}

function listFiles(creative: FrameCreative): CreativeFile[] {
  if (creative.format === 'banner') return [{ use: 'still', url: creative.image_url }]
  if (creative.format === 'native') {
    const { image_url, icon_url } = creative.assets
    return [
      { use: 'still', url: image_url },
      { use: 'icon', url: icon_url },
    ]
  }
  const { poster_url, video_url } = creative
  const poster: CreativeFile[] = poster_url === null ? [] : [{ use: 'still', url: poster_url }]
  return [...poster, { use: 'clip', url: video_url }]
}

/** Returns the settings that differ from the defaults, by path. */
function listChanges(prefix: string, own: object, defaults: object): Bundle['settings'] {
  const known = new Map<string, unknown>(Object.entries(defaults))
  return Object.entries(own).flatMap(([name, value]: [string, unknown]) => {
    const path = `${prefix}${name}`
    const normal = known.get(name)
    if (isObject(value) && isObject(normal)) return listChanges(`${path}.`, value, normal)
    return JSON.stringify(value) === JSON.stringify(normal) ? [] : [{ name: path, value, default: normal }]
  })
}
