/** For each rule an integration that violates it. The type requires one for every rule but that about failures of the sandbox. */
import type { JournalRuleId } from '#diagnosis/rules/index.ts'
import {
  activate,
  ask,
  beacon,
  call,
  client_id,
  consent,
  fault,
  frame,
  granted,
  job,
  liveKey,
  newSession,
  now,
  pageOrigin,
  pass,
  sandbox,
  scenario,
  show,
  strictKey,
  view,
} from './integration.ts'

export interface Violation {
  commit(): Promise<unknown>
  /** Other rules that the same requests cannot avoid violating. */
  also?: readonly JournalRuleId[]
}

const minutes = 60_000
/** A placement without anything to show. */
const noFill = { test_outcome: 'no_fill' }

export const violations: Readonly<Record<Exclude<JournalRuleId, 'service-failed'>, Violation>> = {
  'secret-key-in-browser': { commit: () => ask(noFill, { origin: pageOrigin }) },
  'credential-refused': { commit: () => ask(noFill, { key: 'sk_test_sandbox_unknown' }) },
  'origin-refused': { commit: () => activate({ origin: 'https://shop.example' }) },
  'local-network': {
    commit: () => call('GET', '/v1/render.js', undefined, { key: null, origin: 'https://shop.example' }),
  },
  'wrong-project': { commit: () => ask({ ...noFill, client_id: 'proj_other' }) },
  'test-outcome-live': { commit: () => ask(noFill, { key: liveKey }), also: ['live-key'] },
  'live-key': { commit: async () => show(await ask({}, { key: liveKey }), { key: liveKey }) },
  'config-not-found': { commit: () => call('GET', '/v1/projects/proj_old/config') },
  'config-stale': {
    commit: async () => {
      await call('GET', `/v1/projects/${client_id}/config`)
      await sandbox('PATCH', `/projects/${client_id}`, { allowed_origins: ['http://localhost:3000'] })
    },
  },
  'path-unknown': { commit: () => call('POST', '/v1/placement', { client_id, session_id: newSession() }) },
  'unknown-fields': { commit: () => ask({ ...noFill, sessionId: 'a' }) },
  'request-refused': { commit: () => ask({ ...noFill, job_type: 'poem' }) },
  'content-type': {
    commit: async () => {
      const answer = await ask()
      await show(answer)
      await beacon(answer, 'heartbeat', {}, { content_type: 'text/plain;charset=UTF-8' })
    },
  },
  'old-names': {
    commit: async () => {
      const answer = await ask()
      await frame(answer)
      await beacon(answer, 'rendered')
    },
  },
  'deprecated-route': {
    commit: async () => {
      const answer = await ask()
      await show(answer)
      await call('POST', '/public/wrapper/v1/beacons', {
        contract_version: 'csl_wrapper_beacon/v1',
        beacon_id: 'mount_a:heartbeat',
        asset_token: answer.body.decision.asset_token,
        beacon_type: 'heartbeat',
        occurred_at_ms_client: now(),
      })
    },
  },
  'consent-missing': {
    commit: () => ask({ ...noFill, client_id: 'proj_strict', consent: undefined }, { key: strictKey }),
  },
  'asked-after-denial': {
    commit: async () => {
      const session_id = newSession()
      await consent(session_id, 'denied')
      await ask({ session_id, consent: undefined })
    },
  },
  'shown-after-withdrawal': {
    commit: async () => {
      const session_id = newSession()
      const answer = await ask({ session_id })
      await show(answer)
      await consent(session_id, 'withdrawn')
      await beacon(answer, 'heartbeat')
    },
  },
  'text-without-consent': {
    commit: () => ask({ ...noFill, consent: undefined, prompt: { text: 'my knee hurts' } }),
  },
  'text-not-shared': {
    commit: () => ask({ ...noFill, consent: { ...granted, prompt_shared: false }, prompt: { text: 'my knee hurts' } }),
  },
  'personal-data-sent': { commit: () => ask({ ...noFill, prompt: { topic: 'reset password for ann@example.org' } }) },
  'session-missing': {
    commit: async () => {
      const { body } = await call('POST', '/v1/jobs', { client_id, job_type: 'chat', prompt: { topic: 'coffee' } })
      await show(await call('GET', `/v1/decisions/${body.slot_ids[0]}?wait_ms=2000`))
    },
  },
  'session-for-all': { commit: () => ask({ ...noFill, session_id: 'undefined' }) },
  'activation-per-request': {
    commit: async () => {
      const session_id = newSession()
      for (let turn = 0; turn < 3; turn++) {
        const { body } = await activate()
        await show(await ask({ session_id }, { key: body.activation_token, origin: pageOrigin }))
      }
    },
  },
  'token-shared': {
    commit: async () => {
      const { body } = await activate()
      const options = { key: body.activation_token, origin: pageOrigin }
      for (let person = 0; person < 2; person++) await show(await ask({}, options), options)
    },
  },
  'token-mixed': {
    commit: async () => {
      const [one, two] = [await ask(), await ask()]
      await show(one)
      await show(two)
      await beacon(one, 'heartbeat', { slot_id: two.body.slot_id })
    },
  },
  'pending-given-up': {
    commit: async () => {
      await scenario('pending_forever')
      await ask({ wait_ms: 0 })
    },
  },
  'polled-once': {
    commit: async () => {
      await scenario('pending_forever')
      const { body } = await ask({ wait_ms: 0 })
      await call('GET', `/v1/decisions/${body.slot_id}?wait_ms=50`)
    },
  },
  'busy-polling': {
    commit: async () => {
      await scenario('pending_forever')
      const { body } = await ask({ wait_ms: 0 })
      for (let poll = 0; poll < 6; poll++) await call('GET', `/v1/decisions/${body.slot_id}`)
    },
  },
  'polled-after-ready': {
    commit: async () => {
      const answer = await ask()
      await show(answer)
      for (let poll = 0; poll < 2; poll++) await call('GET', `/v1/decisions/${answer.body.slot_id}`)
    },
  },
  // Nothing listens on the port for discarded data.
  'callback-failing': { commit: () => job('http://127.0.0.1:9/decided') },
  'no-fill-retried': {
    commit: async () => {
      const session_id = newSession()
      for (let attempt = 0; attempt < 3; attempt++) await ask({ ...noFill, session_id })
    },
  },
  'retry-after-ignored': {
    commit: async () => {
      const session_id = newSession()
      await fault({ path: '/v1/placements', status: 429, retry_after_s: 2 })
      await ask({ ...noFill, session_id })
      await ask({ ...noFill, session_id })
    },
  },
  'retry-without-backoff': {
    commit: async () => {
      const session_id = newSession()
      await fault({ path: '/v1/placements', status: 500, times: 2 })
      for (let attempt = 0; attempt < 3; attempt++) await ask({ ...noFill, session_id })
    },
  },
  'retried-in-vain': {
    commit: async () => {
      for (let attempt = 0; attempt < 2; attempt++) await call('GET', '/v1/decisions/slot_00000000000')
    },
  },
  'fill-unused': {
    commit: async () => {
      await show(await ask())
      await ask()
    },
  },
  'expired-ad': {
    commit: async () => {
      const answer = await ask()
      await pass(11 * minutes)
      await frame(answer)
    },
    also: ['fill-unused'],
  },
  'shown-twice': {
    commit: async () => {
      const answer = await ask()
      for (const render_instance_id of ['mount_a', 'mount_b']) {
        await frame(answer)
        await beacon(answer, 'render', { render_instance_id })
      }
    },
  },
  'slot-hint-misfit': {
    commit: () => ask({ slot_hint: { max_width: 10, max_height: 10 } }),
  },
  'beacon-missing': {
    commit: async () => {
      await frame(await ask())
      await pass(6_000)
    },
  },
  'beacon-doubled': {
    commit: async () => {
      const answer = await ask()
      await show(answer)
      await beacon(answer, 'render')
    },
  },
  'beacon-repeated': {
    commit: async () => {
      const answer = await ask()
      await frame(answer)
      const same = { beacon_id: 'mount_a:render', occurred_at_ms: now() }
      await beacon(answer, 'render', same)
      await beacon(answer, 'render', same)
    },
  },
  'beacon-before-render': {
    commit: async () => {
      const answer = await ask()
      await frame(answer)
      await beacon(answer, 'visible', view())
      await beacon(answer, 'render')
    },
  },
  'beacon-clock': {
    commit: async () => {
      const answer = await ask()
      await show(answer)
      await beacon(answer, 'heartbeat', { occurred_at_ms: Math.round(Date.now() / 1_000) })
    },
  },
  'beacon-expired': {
    commit: async () => {
      const answer = await ask()
      await show(answer)
      await pass(31 * minutes)
      await beacon(answer, 'heartbeat')
    },
  },
  'view-not-counted': {
    commit: async () => {
      const answer = await ask()
      await frame(answer)
      await beacon(answer, 'render')
      await beacon(answer, 'visible')
    },
  },
  'beacon-lost': {
    commit: async () => {
      const answer = await ask()
      await frame(answer)
      const mount = { render_instance_id: 'mount_b' }
      await beacon(answer, 'render', { ...mount, seq: 0 })
      await beacon(answer, 'heartbeat', { ...mount, seq: 2 })
    },
  },
  'ads-never-seen': {
    // Below the fold, and never scrolled to.
    commit: async () => {
      const answer = await ask()
      await frame(answer)
      const measurements = { width_px: 300, height_px: 250, visible_ratio: 0, visible_ms: 0, page_visible: true }
      await beacon(answer, 'render', { measurements })
      await pass(16_000)
    },
  },
  'frame-without-room': {
    commit: async () => {
      const answer = await ask()
      await frame(answer)
      await beacon(answer, 'render', { measurements: { width_px: 0, height_px: 0, visible_ratio: 0 } })
    },
  },
  'turn-asked-again': {
    // A stored conversation whose page is reloaded.
    commit: async () => {
      const session_id = newSession()
      const turn = { metadata: { turn_id: 'm1' } }
      await show(await ask({ session_id }), {}, turn)
      const again = await ask({ session_id })
      await frame(again)
      await beacon(again, 'render', turn)
    },
  },
  'counted-twice': {
    commit: async () => {
      const answer = await ask()
      for (const render_instance_id of ['mount_a', 'mount_b']) await show(answer, {}, { render_instance_id })
    },
    also: ['shown-twice'],
  },
  'lost-on-remount': {
    // A list whose rows ask each time they are drawn, and are scrolled past.
    commit: async () => {
      const session_id = newSession()
      for (let row = 0; row < 3; row++) {
        const answer = await ask({ session_id })
        await frame(answer)
        await beacon(answer, 'render')
        await pass(20_000)
        if (row === 2) await beacon(answer, 'heartbeat')
      }
    },
  },
  'two-in-one-slot': {
    commit: async () => {
      const session_id = newSession()
      const turn = { metadata: { turn_id: 'm1' } }
      for (let copy = 0; copy < 2; copy++) await show(await ask({ session_id }), {}, turn)
    },
    also: ['turn-asked-again', 'counted-twice'],
  },
}
