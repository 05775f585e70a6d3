/** What commands write passes the guard of text for terminals. Apart from the system, which the first help needs alone. */
import { guardStream } from '#text/terminal.ts'
import { type System, withReplaced } from './system.ts'

/** Returns the system with guarded streams. Commands get no other. */
export function guardStreams(system: System): System {
  const stdout = guardStream(() => system.stdout)
  const stderr = guardStream(() => system.stderr)
  return withReplaced(system, { stdout, stderr })
}
