/** How far a recording has been played, in sentences: at the end of `svc start`, and in `svc sandbox status`. */

import type { PlaybackInfo } from '#contract/resources/sandbox/sandbox.ts'
import { plural } from '#text/text.ts'

type Progress = Pick<PlaybackInfo, 'exchanges' | 'played' | 'not_recorded' | 'refused' | 'fallback' | 'unplayed'>

/** Returns one sentence for each fact; none without a recording. */
export function playbackNotes(progress: Progress | null): string[] {
  if (progress === null) return []
  const { not_recorded, refused, fallback } = progress
  const unplayed = unplayedText(progress)
  return [
    `Played ${progressText(progress)}.`,
    ...(unplayed === null ? [] : [`Never asked for: ${unplayed}.`]),
    ...(not_recorded === 0
      ? []
      : [
          `${plural(not_recorded, 'request was', 'requests were')} not recorded: ${fallback ? 'the emulator responded' : 'refused with not_recorded'}.`,
        ]),
    ...(refused === 0
      ? []
      : [
          `The emulator refused ${plural(refused, 'request')} that the service accepted: svc requests list --status-class 4xx`,
        ]),
  ]
}

export function progressText({ played, exchanges }: Pick<Progress, 'played' | 'exchanges'>): string {
  return `${played} of ${plural(exchanges, 'recorded exchange')}`
}

/** Returns the exchanges that no request has asked for, by endpoint; null when there is none. */
export function unplayedText({ unplayed }: Pick<Progress, 'unplayed'>): string | null {
  return unplayed.length === 0
    ? null
    : unplayed.map(({ method, path, count }) => `${count} x ${method} ${path}`).join(', ')
}
