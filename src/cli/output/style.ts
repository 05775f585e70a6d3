import { Chalk, type ChalkInstance } from 'chalk'
import type { Host } from '../run/host.ts'

import type { ColorChoice } from '../settings/table.ts'

/** Colours, and the columns of the terminal; undefined where the text does not go to one. */
export type Style = ChalkInstance & { columns?: number | undefined }

/** Returns the style of a stream: with colours when it is a terminal that has them, or when `choice` says so. */
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
