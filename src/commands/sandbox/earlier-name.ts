/** Commands that stay for those who know them: each shows a part of what another shows, as before. */
import type { Command } from '#cli/run/command.ts'

/** How the summary of such a command begins. */
export const earlierName = 'Earlier name of svc '

/** Returns a command, described as the earlier name of another: `sandbox status`. */
export function asEarlierName(now: string, command: Command): Command {
  return { ...command, summary: `${earlierName}${now}` }
}
