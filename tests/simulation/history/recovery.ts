/** Ends of a simulated process, and its next start: from what is left of its files, or from nothing. */
import { freshKnown, replaceState } from '../acknowledged.ts'
import type { End } from '../virtual/disk.ts'
import type { Run } from './run.ts'

/** Longer than any response may take, milliseconds: the longest poll is 5 s, and a drain 10 s. */
export const longestMs = 40_000

/** Opens the stream of events, where the last one ended. */
export function follow({ network, follower, add }: Run): void {
  follower.connect()
  network.open(
    readEvents(follower.seq),
    (text) => add('events', follower.read(text)),
    () => {},
  )
}

const readEvents = (seq: number) =>
  ({ method: 'GET', path: `/_sandbox/events?since_seq=${seq}`, headers: {}, body: '' }) as const

/** A process that has died in the middle of something, or between two things: what was durable is there again. */
export async function recover(run: Run): Promise<void> {
  const { process: simulated, open, scheduler, disk, flushed } = run
  disk.fault = null
  const { end } = simulated
  await simulated.bury()
  await Promise.all([...open].map((work) => scheduler.until(work, longestMs, 'a request of a dead process')))
  run.lines.push(`  starts again at ${scheduler.now_ms} ms after a ${end}`)
  if (end === 'power loss') await startAfterPowerLoss(run)
  else await simulated.start()
  // The start flushes what the power loss has left, which is less than clients know.
  if (end === 'power loss') run.flushed = flushed
  if (run.isInMemory) startFromNothing(run)
  else if (end === 'power loss') losePower(run)
  goOn(run)
}

export async function restart(run: Run): Promise<void> {
  const { process: simulated, learner, disk } = run
  run.count('restart')
  learner.mayFail = true
  // A sandbox that cannot write its file does not start, and says so; its user has made room.
  if (disk.fault?.kind === 'full') disk.fault = null
  await simulated.stop()
  if (simulated.isDead) return
  disk.fault = null
  await simulated.start()
  if (run.isInMemory) startFromNothing(run)
  goOn(run)
}

function goOn(run: Run): void {
  run.learner.forgetBuckets()
  run.acknowledged.clocks++
  run.receiver.forget()
  follow(run)
}

/** The lock file holds no data: where the power loss has torn it, its user is told to remove it. */
async function startAfterPowerLoss({ process: simulated, disk, count }: Run): Promise<void> {
  try {
    await simulated.start()
  } catch (error) {
    if (!(error instanceof Error && /\.lock is damaged, as by a power loss/.test(error.message))) throw error
    count('torn lock file')
    disk.removeLock()
    await simulated.start()
  }
}

/** A database in memory ends with its process: what clients know is gone, and a follower is told. */
function startFromNothing({ acknowledged, follower, count }: Run): void {
  count('lost memory')
  replaceState(acknowledged, freshKnown())
  acknowledged.saved.clear()
  follower.mayStartOver()
}

/** What was committed since the last flush may be there or not: everything up to it is. */
function losePower(run: Run): void {
  const { acknowledged, flushed, follower, network } = run
  const isSame = flushed.generation === acknowledged.generation && !flushed.isMixed && acknowledged.replacing === 0
  replaceState(acknowledged, isSame ? flushed.known : null)
  const gone = { seq: follower.seq, isTold: false }
  run.gone = gone
  // A follower that goes on from its number; ours begins again, since numbers may be used again.
  let text = ''
  const onText = (piece: string) => {
    text += piece
    gone.isTold ||= text.includes('"seq":0,')
  }
  network.open(readEvents(gone.seq), onText, () => {})
  follower.startOver()
}

/** The power goes in the middle of a checkpoint, or at any other time. */
export function losePowerNow(run: Run, isInCheckpoint: boolean): void {
  const end: End = 'power loss'
  run.count(end)
  if (isInCheckpoint && !run.isInMemory) run.disk.checkpoint(false)
  run.process.die(end)
}
