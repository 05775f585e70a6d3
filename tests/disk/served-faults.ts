/** Faults of calls under a sandbox that serves: what it is asked meanwhile, and what each response may be. */
import { createKnown, findMissing, type Known, type StateChange } from './known.ts'
import { createOpener } from './opened-state.ts'
import { type Answer, createVisitor } from './visitor.ts'

export interface Judge {
  readonly known: Known
  /** What was wrong with a response. */
  readonly problems: string[]
  /** Responses by status. */
  readonly statuses: Map<number, number>
  /** Makes the turns of every kind. Resolves to false when the sandbox has gone. */
  ask(url: string, round: number): Promise<boolean>
  /** Makes one turn. Resolves to whether all of it was served. */
  probe(url: string, round: number): Promise<boolean>
}

/** The responses of a sandbox under faults, over all of its processes. */
export function createJudge(): Judge {
  const memory = createKnown()
  const problems: string[] = []
  const statuses = new Map<number, number>()

  return {
    get known() {
      return memory.known()
    },
    problems,
    statuses,
    ask,
    async probe(url, round) {
      const refused = statuses.get(503) ?? 0
      const visitor = createVisitor(url, judge)
      const isThere = await visitor.turn(`session-${round}`)
      await visitor.close()
      return isThere && (statuses.get(503) ?? 0) === refused
    },
  }

  async function ask(url: string, round: number): Promise<boolean> {
    const visitor = createVisitor(url, judge)
    const session = `session-${round}`
    const turns = [
      () => visitor.turn(session),
      () => visitor.consent(session, true),
      () => visitor.settings('proj_other'),
      () => visitor.token(`token-${round}`, round % 2 === 0),
      () => read(visitor),
      () => change(visitor, { kind: 'snapshot', name: 'first' }),
      () => visitor.turn(`${session}-later`),
      // Each of them replaces the whole state, which takes what the rounds before have acknowledged.
      () => (round % 4 === 1 ? change(visitor, { kind: 'restore', name: 'first' }) : true),
      () => (round % 4 === 3 ? change(visitor, { kind: 'reset' }) : true),
      () => read(visitor),
    ]
    try {
      for (const turn of turns) if (!(await turn())) return false
      return true
    } finally {
      await visitor.close()
    }
  }

  function judge({ method, path, status, text, acknowledged }: Answer): void {
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    if (acknowledged !== null) memory.learn(acknowledged)
    if (status < 300) return
    const { message = '', hint = '', reason_code = '' } = readError(text)
    const isExplained =
      status === 503 && reason_code === 'storage_unavailable' && message.length > 10 && hint.length > 10
    // A snapshot that could not be saved is not there to restore.
    const isMissing = status === 404 && path.endsWith('/restore') && !memory.known().snapshots.has('first')
    if (!isExplained && !isMissing) problems.push(`${method} ${path} is answered with ${status}: ${text.slice(0, 400)}`)
  }

  async function change(visitor: ReturnType<typeof createVisitor>, next: StateChange): Promise<boolean> {
    const paths = { snapshot: 'snapshots/first', restore: 'snapshots/first/restore', reset: 'reset' }
    const body = next.kind === 'snapshot' ? { replace: true } : {}
    const answer = await visitor.send('POST', `/_sandbox/${paths[next.kind]}`, { body, learn: () => next })
    // Nobody knows whether it was done.
    if (answer === null) memory.learn({ kind: 'begin', next })
    if (answer?.status === 503 && next.kind === 'snapshot') memory.learn({ kind: 'doubt', name: next.name })
    return answer !== null
  }

  /** A list that is answered has every placement that was acknowledged. */
  async function read(visitor: ReturnType<typeof createVisitor>): Promise<boolean> {
    const answer = await visitor.send('GET', '/_sandbox/placements?limit=1000')
    if (answer?.status !== 200) return answer !== null
    const { items } = JSON.parse(answer.text) as { items: { slot_id: string; fill: boolean }[] }
    const listed = new Set(items.map(({ slot_id, fill }) => `placement ${slot_id} ${fill}`))
    const isThere = ({ facts }: { facts: ReadonlySet<string> }) =>
      [...facts].every((fact) => listed.has(fact) || !fact.startsWith('placement'))
    if (!memory.known().states.some(isThere)) problems.push('a list is answered without what was acknowledged')
    return true
  }
}

function readError(text: string): { message?: string; hint?: string; reason_code?: string } {
  try {
    return JSON.parse(text) as object
  } catch {
    return {}
  }
}

/** Returns what was acknowledged and is not in the files of a sandbox that has ended. */
export function findLost(folder: string, { known }: Judge): string[] {
  const opening = createOpener()(folder)
  if (opening.status === 'refused') return [`the files are refused as ${opening.sentence}`]
  const { state, tokens, problems } = opening.opened
  const missing = known.states.map((required) => findMissing(required, state))
  const lostTokens = [...known.tokens].filter(([name, isRevoked]) => isRevoked && tokens.get(name) !== true)
  return [
    ...problems,
    ...(missing.includes(null) ? [] : [`it was acknowledged, and is missing: ${missing[0]}`]),
    ...lostTokens.map(([name]) => `token ${name} was revoked, and is not`),
  ]
}
