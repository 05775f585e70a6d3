/** Other followers of the events: each gets those that it asked for, once and in order, as the follower of all has them. */
import { splitEvents } from '#tests/histories/event-stream.ts'
import type { SeenEvent } from '#tests/histories/history.ts'
import type { RequestStep, Sender } from './sender.ts'

type FollowStep = Extract<RequestStep, { kind: 'follow' }>

/** Resolves when the stream is open: the follower stays for as long as the step says. */
export async function followEvents(sender: Sender, step: FollowStep): Promise<void> {
  const { acknowledged, network, follower } = sender
  const { generation } = acknowledged
  const since_seq = Math.floor(follower.seq * step.from)
  const query = `since_seq=${since_seq}${step.type === null ? '' : `&type=${encodeURIComponent(step.type)}`}`
  const seen: SeenEvent[] = []
  let rest = ''
  const onText = (text: string) => {
    const read = splitEvents(rest + text)
    rest = read.rest
    seen.push(...read.events)
  }
  let isCut = false
  const onEnd = () => {
    isCut = true
  }
  const close = network.open({ method: 'GET', path: `/_sandbox/events?${query}`, headers: {}, body: '' }, onText, onEnd)
  void sender.wait(step.stays_ms).then(() => {
    // What another state, or another process, has sent is not compared.
    if (!isCut && acknowledged.generation === generation && acknowledged.replacing === 0) {
      compare(sender, { seen, since_seq, type: step.type })
    }
    close()
  })
}

interface Followed {
  seen: readonly SeenEvent[]
  since_seq: number
  type: string | null
}

/** The state may have been replaced before: only its own events are known here. */
function compare({ follower, report }: Sender, { seen, since_seq, type }: Followed): void {
  const all = follower.events()
  const first = Math.max(since_seq + 1, all[0]?.seq ?? 0)
  const last = Math.min(follower.seq, seen.at(-1)?.seq ?? 0)
  const isWanted = (event: SeenEvent) =>
    event.seq >= first && event.seq <= last && (type === null || event.type.startsWith(type.replace('*', '')))
  const describe = (events: readonly SeenEvent[]) =>
    events.filter(isWanted).map((event) => `${event.seq} ${event.type}`)
  const [expected, got] = [describe(all).join(', '), describe(seen).join(', ')]
  if (expected !== got) {
    report({
      check: 'events',
      text: `a follower from ${since_seq} got ${got || 'nothing'}, and there were ${expected || 'none'}`,
    })
  }
}
