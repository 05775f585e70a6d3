/** Operators: settings, faults, the clock, and the whole state. */
import { credential, type RequestStep, type Sender } from './sender.ts'

export interface Operator {
  perform(step: RequestStep): Promise<void>
}

export function createOperator(sender: Sender): Operator {
  const { acknowledged, call, control, now } = sender
  /** Each change of settings has a text of its own, so that it is one. */
  let changes = 0

  return { perform }

  async function perform(step: RequestStep): Promise<void> {
    switch (step.kind) {
      case 'burst':
        return burst(step)
      case 'settings':
        return changeSettings(step)
      case 'fault': {
        const { effect, served, times } = step
        const isServed = effect === 'drop' || effect === 'reset' || effect === 'truncate' ? { served } : {}
        await control(step, 'faults', { effect, times, ...isServed, ...(effect === 'delay' ? { latency_ms: 50 } : {}) })
        return
      }
      case 'clear_faults':
        await control(step, 'faults', undefined, 'DELETE')
        return
      case 'clock':
        return moveClock(step)
      case 'save':
        await control(step, `snapshots/snap-${step.name}`, { replace: true })
        return
      case 'restore':
        await control(step, `snapshots/snap-${step.name}/restore`, {})
        return
      case 'forget':
        await control(step, `snapshots/snap-${step.name}`, undefined, 'DELETE')
        return
      case 'reset':
        await control(step, 'reset', {})
        return
      case 'export':
        await control(step, 'export', undefined, 'GET')
        return
      case 'import':
        return importFile(step)
      default:
        throw new Error(`no client does ${step.kind}`)
    }
  }

  /** Reads of one key, all at once; where they were too many, another one when the sandbox has said that it may come. */
  async function burst(step: Extract<RequestStep, { kind: 'burst' }>): Promise<void> {
    const { project, rate } = step
    if (rate !== null) {
      const terms = { project, latency_ms: null, rate, view_ms: null, hasRival: false }
      await changeSettings({ kind: 'settings', ...terms, travel: step.travel })
    }
    const read = () =>
      call(step, { method: 'GET', path: `/v1/projects/${project}/config`, headers: credential(project, null) })
    const outcomes = await Promise.all(Array.from({ length: step.count }, read))
    const waits = outcomes.flatMap((outcome) =>
      outcome !== 'lost' && outcome.status === 429 ? [Number(outcome.headers['retry-after'] ?? 1)] : [],
    )
    if (waits.length === 0) return
    await sender.wait(1_000 * Math.min(20, Math.max(...waits) + 2))
    await read()
  }

  async function changeSettings(step: Extract<RequestStep, { kind: 'settings' }>): Promise<void> {
    const { project, latency_ms, rate, view_ms } = step
    const own = control(
      step,
      `projects/${project}`,
      {
        label_text: `Ad ${++changes}`,
        ...(latency_ms === null ? {} : { decision_latency_ms: latency_ms }),
        ...(rate === null ? {} : { rate_limits: { default: rate } }),
        ...(view_ms === null ? {} : { viewability: { duration_ms: view_ms } }),
      },
      'PATCH',
    )
    const rival = { ...step, latency_ms: null, rate: null, view_ms: null }
    if (step.hasRival) {
      await control(rival, `projects/${project}`, { heartbeat_interval_ms: 10_000 + ++changes }, 'PATCH')
    }
    await own
  }

  async function importFile(step: Extract<RequestStep, { kind: 'import' }>): Promise<void> {
    const file = step.file % Math.max(1, acknowledged.files.length)
    const archive = acknowledged.files[file]
    if (archive === undefined) return
    const headers = { 'content-type': 'application/gzip' }
    const travel = { ...step.travel, again_ms: null, loses: null, leaves_ms: null }
    await call({ ...step, file, travel }, { method: 'POST', path: '/_sandbox/import', headers, body: archive.bytes })
  }

  async function moveClock(step: Extract<RequestStep, { kind: 'clock' }>): Promise<void> {
    const { move, by_ms } = step
    if (move === 'advance') await control(step, 'clock/advance', { by_ms })
    else if (move === 'back') await control(step, 'clock/set', { to_ms: Math.floor(now() - by_ms) })
    else if (move === 'system') await control(step, 'clock/set', { to_ms: null })
    else await control(step, `clock/${move}`, {})
  }
}
