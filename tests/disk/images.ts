/** Which images of a recording are opened: some by dice until the time is up, or all of them. */
import type { Dice } from '#tests/reliability/dice.ts'
import { losses } from './recorded-files.ts'
import type { Recording } from './recording.ts'
import type { Finding, Image, Replayer } from './replay.ts'

export interface Figures {
  opened: number
  findings: Finding[]
  /** Commits that the worst power loss took. */
  most_lost: number
}

/** One pass through the recording, of so many images. */
const imagesPerPass = 40

/** Opens images at places by dice until the time is up. */
export function openSome(
  recording: Recording,
  replayer: Replayer,
  dice: Dice,
  limit_ms: number,
  isLoss: boolean,
): Figures {
  const total: Figures = { opened: 0, findings: [], most_lost: 0 }
  for (const started = performance.now(); performance.now() - started < limit_ms; ) {
    const images = Array.from({ length: imagesPerPass }, () => chooseImage(recording, dice, isLoss))
    add(total, replayer.run(images.toSorted((a, b) => a.place - b.place)))
    if (total.findings.length > 0) break
  }
  return total
}

/** Opens what a kill leaves after each record. */
export function openEvery(recording: Recording, replayer: Replayer): Figures {
  const places = Array.from({ length: recording.records.length + 1 }, (_, place) => place)
  return replayer.run(places.map((place) => ({ place, loss: null, seed: 0 })))
}

function chooseImage({ records }: Recording, dice: Dice, isLoss: boolean): Image {
  return { place: dice.below(records.length + 1), loss: isLoss ? dice.pick(losses) : null, seed: dice.below(1e9) }
}

function add(total: Figures, { opened, findings, most_lost }: Figures): void {
  total.opened += opened
  total.findings.push(...findings)
  total.most_lost = Math.max(total.most_lost, most_lost)
}
