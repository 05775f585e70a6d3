/**
 * A recording, replayed: the files at any moment of it, as a kill and as a power loss leave them, opened and compared with
 * the states that were committed and with what had been acknowledged by then.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createDice } from '#tests/reliability/dice.ts'
import { type Cursor, createCursor } from './cursor.ts'
import { findMissing, type Known, type State } from './known.ts'
import { createOpener, type OpenedState } from './opened-state.ts'
import type { Loss } from './recorded-files.ts'
import type { Recording } from './recording.ts'
import { memoryFolder } from './shim.ts'

export interface Image {
  /** Records that were applied. */
  place: number
  /** What of the rest is lost; null: the process was killed, and nothing of it is. */
  loss: Loss | null
  /** Of the dice of the loss. */
  seed: number
}

export interface Finding {
  image: Image
  problem: string
}

export interface Replay {
  findings: Finding[]
  /** Images that were opened. */
  opened: number
  /** Commits that the worst power loss took, and acknowledgements among them. */
  most_lost: number
}

/** A state that was committed. */
interface CommittedState {
  digest: string
  state: State
}

export interface Replayer {
  /** Opened while the states were collected. */
  readonly states: number
  /** What was found then: a commit without what had been acknowledged. */
  readonly findings: Finding[]
  /** Opens images, whose places must not go down. */
  run(images: Iterable<Image>): Replay
  /** Writes the files as a kill leaves them. Returns what had been acknowledged by then. */
  write(place: number, folder: string): Known
  close(): void
}

/** The states of recordings that were collected before. */
const knownStates = new WeakMap<Recording['records'], { states: CommittedState[]; key: string | null }>()

/** Stops after so many: the rest follows from them. */
const mostFindings = 5

/** @param ignoredFlush the file whose flushes the disk ignores; null: it ignores none */
export function createReplayer(recording: Recording, ignoredFlush: string | null = null): Replayer {
  const folder = mkdtempSync(join(memoryFolder, 'svc-disk-'))
  const open = createOpener()
  // What a kill leaves is the same whatever is flushed.
  const cached = knownStates.get(recording.records)
  const states: CommittedState[] = cached?.states ?? []
  let key: string | null = cached?.key ?? null
  const findings = collectStates()
  if (findings.length === 0) knownStates.set(recording.records, { states, key })
  const byDigest = Map.groupBy(states.keys(), (index) => states[index]!.digest)

  return {
    states: states.length,
    findings,
    run,
    write(place, to) {
      const cursor = createCursor(recording, ignoredFlush)
      while (cursor.place < place) cursor.next()
      cursor.files.writeAsKilled(to)
      return cursor.known()
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  }

  /** Opens what a kill leaves after each commit, and before the first. */
  function collectStates(): Finding[] {
    const cursor = createCursor(recording, ignoredFlush)
    const found: Finding[] = []
    for (let place = 0; place <= recording.records.length && found.length < mostFindings; place++) {
      const image: Image = { place, loss: null, seed: 0 }
      if (states.length <= cursor.commits) {
        const opened = openImage(cursor, image)
        if (typeof opened === 'string') found.push({ image, problem: opened })
        else found.push(...opened.problems.map((problem) => ({ image, problem })))
        states.push(typeof opened === 'string' ? states.at(-1)! : opened)
        if (typeof opened !== 'string') key = opened.key
      }
      const missing = findLost(cursor)
      if (missing !== null) found.push({ image, problem: `acknowledged, and not committed: ${missing}` })
      if (place < recording.records.length) cursor.next()
    }
    return found
  }

  /** Returns what was acknowledged and is not in the last commit. */
  function findLost(cursor: Cursor): string | null {
    const found = states[cursor.commits]!.state
    const missing = cursor.known().states.map((state) => findMissing(state, found))
    return missing.includes(null) ? null : (missing[0] ?? null)
  }

  function run(images: Iterable<Image>): Replay {
    const cursor = createCursor(recording, ignoredFlush)
    const replay: Replay = { findings: [], opened: 0, most_lost: 0 }
    for (const image of images) {
      while (cursor.place < image.place) cursor.next()
      const opened = openImage(cursor, image)
      replay.opened++
      const problems = typeof opened === 'string' ? [opened] : [...opened.problems, ...judge(cursor, image, opened)]
      replay.findings.push(...problems.map((problem) => ({ image, problem })))
      if (typeof opened !== 'string') replay.most_lost = Math.max(replay.most_lost, countLost(cursor, opened))
      if (replay.findings.length >= mostFindings) break
    }
    return replay
  }

  /** Returns what is in the files, or the sentence by which they are refused. */
  function openImage({ files }: Cursor, { loss, seed }: Image): OpenedState | string {
    if (loss === null) files.writeAsKilled(folder)
    else files.writeAsLost(folder, loss, createDice(seed))
    const opening = open(folder)
    return opening.status === 'opened' ? opening.opened : `refused as ${opening.sentence.replaceAll(folder, '')}`
  }

  function countLost({ commits }: Cursor, { digest }: OpenedState): number {
    const last = byDigest.get(digest)?.findLast((index) => index <= commits)
    return last === undefined ? 0 : commits - last
  }

  function judge({ commits, durable, known }: Cursor, { loss }: Image, opened: OpenedState): string[] {
    const problems: string[] = []
    const least = loss === null ? commits : durable
    const found = byDigest.get(opened.digest) ?? []
    if (found.length === 0) problems.push('its rows are those of no commit')
    else if (!found.some((index) => index >= least && index <= commits)) {
      problems.push(`it is commit ${found.at(-1)}, of ${least} to ${commits}`)
    }
    const { tokens, snapshots } = known()
    if (opened.state.facts.size > 0 && opened.key !== key) problems.push('the key of its asset tokens is another one')
    for (const [name, isRevoked] of tokens) {
      const token = opened.tokens.get(name)
      if (token === undefined) problems.push(`token ${name} was acknowledged, and is missing`)
      else if (isRevoked && !token) problems.push(`token ${name} was revoked, and is valid`)
    }
    for (const [name, state] of snapshots) {
      const digest = opened.snapshots.get(name)
      const copied = states[byDigest.get(digest ?? '')?.[0] ?? -1]
      if (digest === undefined) problems.push(`snapshot ${name} was acknowledged, and is missing`)
      else if (copied === undefined) problems.push(`the rows of snapshot ${name} are those of no commit`)
      else if (findMissing(state, copied.state) !== null) problems.push(`snapshot ${name} is older than acknowledged`)
    }
    return problems
  }
}
