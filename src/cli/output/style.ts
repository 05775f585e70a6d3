import { Chalk, type ChalkInstance } from 'chalk'
import type { Host } from '../run/host.ts'

import type { ColorChoice } from '../settings/table.ts'

/** Colours, and the width of the terminal; undefined where the text goes somewhere else. */
export type Style = ChalkInstance & { columns?: number | undefined }

/** The style of one stream: colours when it is a terminal that wants them, or when told so. */
export function styleOf(stream: Host['stdout'], choice: ColorChoice, env: Host['env']): Style {
  const chalk: Style = new Chalk({ level: isColored(stream, choice, env) ? 1 : 0 })
  chalk.columns = stream.is_terminal ? stream.columns : undefined
  return chalk
}

function isColored(stream: Host['stdout'], choice: ColorChoice, env: Host['env']): boolean {
  if (choice !== 'auto') return choice === 'always'
  if (env.NO_COLOR) return false
  if (env.FORCE_COLOR !== undefined) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false'
  return stream.is_terminal && env.TERM !== 'dumb'
}
