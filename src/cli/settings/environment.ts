/** The SVC_* variables by which another program finds a service: what `svc exec` sets and `svc env` prints. */
import { type Settings, settingsTable } from './settings.ts'

const exported = ['base_url', 'client_id', 'secret_key', 'publishable_key', 'origin'] as const

/** By the name of the variable; without what is not set. */
export function environmentOf(values: Pick<Settings, (typeof exported)[number]>): Record<string, string> {
  return Object.fromEntries(
    exported.flatMap((name) => {
      const value = values[name]
      return value === null ? [] : [[settingsTable[name].env, value]]
    }),
  )
}
