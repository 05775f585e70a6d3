/** What the checks of this machine are told. `gather-machine.ts` looks it up. */
import type { Settings } from '../../cli/settings/settings.ts'

export interface Machine {
  node_version: string
  platform: string
  state_directory: { path: string /** Why it cannot be written; null when it can. */; problem: string | null }
  config: {
    /** The file in use; null when there is none. */
    path: string | null
    problem: { message: string; hint: string | null } | null
  }
  settings: Settings
  /** Who answers at the base URL. */
  service: 'sandbox' | 'other' | 'none'
  port: { number: number /** Who listens there; null when nobody does. */; holder: string | null }
  /** Every running sandbox of this state directory, newest first. */
  running_urls: readonly string[]
  /** Path of a Chrome or Chromium; null when none was found. */
  browser: string | null
  command_name: string
}
