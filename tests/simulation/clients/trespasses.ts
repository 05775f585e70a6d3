/**
 * Requests that must be refused. Each prepares what it needs, such as a fill with its frame, and then does what is not
 * permitted. What is refused only for a while, such as a token before it has expired, is judged by the date of the response.
 */
import type { KnownSlot } from '../acknowledged.ts'
import type { Project, Trespass } from '../steps/steps.ts'
import { atOnce, type Outcome } from '../virtual/network.ts'
import { type Beacons, frameCredential } from './beacons.ts'
import { credential, findOrigin, publishableKey, type RequestStep, readJson, type Sender, secretKey } from './sender.ts'
import { plainTerms, type Turns } from './turns.ts'

type TrespassStep = Extract<RequestStep, { kind: 'trespass' }>

interface Trespasser {
  sender: Sender
  step: TrespassStep
  project: Project
  /** Another one than `project`. */
  other: Project
  send(method: string, path: string, headers: Record<string, string>, body?: object | string): Promise<Outcome>
  /** A fill of the project; null without one. */
  fill(): Promise<KnownSlot | null>
  /** A fill, and the beacon token of its frame. */
  frame(): Promise<{ slot: KnownSlot; token: string } | null>
  activate(origin: string): Promise<Outcome>
  /** A beacon of a fill that nothing speaks against. */
  beacon(slot: KnownSlot, changes?: object): Record<string, unknown>
  /** It must have been refused, with one of the codes if there are any. */
  refused(outcome: Outcome, ...codes: string[]): void
}

export async function trespass(
  sender: Sender,
  { turns, beacons }: { turns: Turns; beacons: Beacons },
  sent: TrespassStep,
): Promise<void> {
  const step = { ...sent, travel: atOnce }
  const { project, session } = step
  const send = (method: string, path: string, headers: Record<string, string>, body?: object | string) =>
    sender.call(step, { method, path, headers, ...(body === undefined ? {} : { body }) })
  const fill = async () => {
    const slot = await turns.place({ kind: 'place', ...plainTerms, project, session, consent: true, travel: atOnce })
    return slot?.asset_token == null ? null : slot
  }
  await ways[step.way]({
    ...{ sender, step, project, send, fill },
    other: project === 'proj_demo' ? 'proj_other' : 'proj_demo',
    async frame() {
      const slot = await fill()
      if (slot === null) return null
      const loaded = await send('GET', `/v1/render/${slot.asset_token}`, {})
      const token = loaded === 'lost' ? null : /bt_[A-Za-z0-9_-]+/.exec(loaded.body.toString('utf8'))
      return token === null ? null : { slot, token: token[0] }
    },
    activate: (origin) =>
      send('POST', '/v1/browser/activate', { origin }, { publishable_key: publishableKey(project) }),
    beacon(slot, changes = {}) {
      const terms = { event: 'heartbeat', occurred_in_ms: 0, view: 'good', repeats: null, activation: null } as const
      const body = beacons.create({ kind: 'beacon', ...terms, slot: 0, changes: 'nothing', travel: atOnce }, slot)
      return { ...body, ...changes }
    },
    refused: (outcome, ...codes) => checkRefused(sender, step, outcome, codes),
  })
}

function checkRefused({ report }: Sender, { way }: TrespassStep, outcome: Outcome, codes: readonly string[]): void {
  if (outcome === 'lost' || outcome.headers['x-sandbox-fault'] !== undefined) return
  const { status } = outcome
  if (status === 429 || status === 503) return
  const reason = readJson<{ reason_code?: string }>(outcome)?.reason_code ?? 'none'
  if (status >= 400 && (codes.length === 0 || codes.includes(reason))) return
  report({ check: 'refusals', text: `${way} is answered with ${status}, reason ${reason}` })
}

const isAccepted = (outcome: Outcome) => outcome !== 'lost' && outcome.status === 200

const ways: Readonly<Record<Trespass, (by: Trespasser) => Promise<void>>> = {
  async activation_from_elsewhere({ activate, refused }) {
    refused(await activate('https://elsewhere.example'), 'origin_not_allowed')
  },
  async token_from_elsewhere({ activate, project, step, send, refused }) {
    const token = readJson<{ activation_token?: string }>(await activate(findOrigin(project)))?.activation_token
    if (token === undefined) return
    const headers = { authorization: `Bearer ${token}`, origin: 'http://localhost:3001' }
    refused(await send('POST', '/v1/placements', headers, plainBody(project, step)))
  },
  async key_in_a_page({ project, step, send, refused }) {
    const headers = { ...credential(project, null), origin: findOrigin(project) }
    refused(await send('POST', '/v1/placements', headers, plainBody(project, step)), 'secret_key_in_browser')
  },
  async beacon_token_for_a_placement({ frame, project, step, send, refused }) {
    const framed = await frame()
    if (framed === null) return
    const headers = frameCredential(framed.token, findOrigin(project))
    refused(await send('POST', '/v1/placements', headers, plainBody(project, step)))
  },
  async beacon_token_for_another_fill({ sender, frame, project, send, beacon, refused }) {
    const framed = await frame()
    const other = sender.filled().find((slot) => slot.project === project && slot.slot_id !== framed?.slot.slot_id)
    if (framed === null || other === undefined) return
    refused(await send('POST', '/v1/beacons', frameCredential(framed.token, findOrigin(project)), beacon(other)))
  },
  async beacon_token_from_two_origins({ sender, step, frame, send, beacon }) {
    const framed = await frame()
    if (framed === null) return
    const from = (origin: string) =>
      send('POST', '/v1/beacons', frameCredential(framed.token, origin), beacon(framed.slot))
    const [one, other] = ['http://localhost:3000', 'http://localhost:3001']
    const outcomes = step.isAtOnce ? await Promise.all([from(one), from(other)]) : [await from(one), await from(other)]
    if (outcomes.every(isAccepted)) {
      sender.report({ check: 'refusals', text: 'beacons of one frame are accepted from two origins' })
    }
  },
  async revoked_key({ sender, step, project, send, refused }) {
    const { acknowledged, control } = sender
    const { generation } = acknowledged
    const isSame = () => acknowledged.generation === generation && acknowledged.replacing === 0
    const created = readJson<{ key_id: string; key: string }>(await control(step, `projects/${project}/keys`, {}))
    if (created?.key === undefined) return
    const revoked = await control(step, `keys/${created.key_id}/revoke`, {})
    if (!isAccepted(revoked) || !isSame()) return
    const outcome = await send('GET', `/v1/projects/${project}/config`, { authorization: `Bearer ${created.key}` })
    if (isSame()) refused(outcome, 'key_revoked')
  },
  async slot_of_another_project({ fill, other, send, refused }) {
    const slot = await fill()
    if (slot !== null) refused(await send('GET', `/v1/decisions/${slot.slot_id}`, credential(other, null)), 'not_found')
  },
  async body_of_another_project({ project, other, step, send, refused }) {
    const body = plainBody(other, step)
    refused(await send('POST', '/v1/placements', credential(project, null), body), 'project_mismatch')
  },
  async forced_outcome_with_a_live_key({ project, step, send, refused }) {
    const headers = { authorization: `Bearer ${secretKey(project).replace('_test_', '_live_')}` }
    const body = { ...plainBody(project, step), test_outcome: 'no_fill' }
    refused(await send('POST', '/v1/placements', headers, body), 'test_outcome_requires_test_key')
  },
  async text_without_a_credential({ send, refused }) {
    refused(await send('POST', '/v1/placements', { 'content-type': 'text/plain' }, 'text'), 'content_type_unsupported')
  },
  async batch({ project, send, refused }) {
    const outcome = await send('POST', '/v1/beacons', credential(project, null), [{}, {}])
    refused(outcome, 'batch_not_supported')
  },
  async time_in_seconds({ fill, project, send, beacon, sender, refused }) {
    const slot = await fill()
    if (slot === null) return
    const body = beacon(slot, { occurred_at_ms: Math.floor(sender.now() / 1_000) })
    const outcome = await send('POST', '/v1/beacons', credential(project, null), body)
    refused(outcome, 'occurred_at_in_seconds', 'asset_token_invalid', 'asset_token_expired')
  },
  async fill_of_another_project({ fill, other, send, beacon, refused }) {
    const slot = await fill()
    if (slot !== null)
      refused(await send('POST', '/v1/beacons', credential(other, null), beacon(slot)), 'asset_token_invalid')
  },
  async another_beacon_of_an_id({ sender, fill, project, send, beacon, refused }) {
    const slot = await fill()
    if (slot === null) return
    const { acknowledged } = sender
    const { generation } = acknowledged
    const body = beacon(slot)
    const first = await send('POST', '/v1/beacons', credential(project, null), body)
    const second = await send('POST', '/v1/beacons', credential(project, null), { ...body, event: 'click' })
    if (isAccepted(first) && acknowledged.generation === generation && acknowledged.replacing === 0) refused(second)
  },
  async old_activation({ sender, step, activate, project, send }) {
    const token = readJson<{ activation_token?: string }>(await activate(findOrigin(project)))?.activation_token
    if (token === undefined) return
    await sender.control(step, 'clock/advance', { by_ms: 11 * minute })
    const headers = { authorization: `Bearer ${token}`, origin: findOrigin(project) }
    await send('GET', `/v1/projects/${project}/config`, headers)
  },
  async old_frame({ sender, step, fill, send }) {
    const slot = await fill()
    if (slot === null) return
    await sender.control(step, 'clock/advance', { by_ms: 36 * minute })
    await send('GET', `/v1/render/${slot.asset_token}`, {})
  },
  async old_decision({ sender, step, fill, project, send }) {
    const slot = await fill()
    if (slot === null) return
    await sender.control(step, 'clock/advance', { by_ms: 11 * minute })
    await send('GET', `/v1/decisions/${slot.slot_id}`, credential(project, null))
  },
}

const minute = 60_000

function plainBody(project: Project, { session }: TrespassStep): object {
  return { client_id: project, session_id: `session-${session}`, job_type: 'chat', prompt: { topic: 'garden tools' } }
}
