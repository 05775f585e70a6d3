/** Every check, in the order of the report. */

import { beaconFields } from './doctor/beacon-fields.ts'
import { browser } from './doctor/browser.ts'
import { clock } from './doctor/clock.ts'
import { configFile } from './doctor/config-file.ts'
import { environment } from './doctor/environment.ts'
import { errorEnvelopes } from './doctor/error-envelopes.ts'
import { type Check, type Finding, runChecks, unknown } from './doctor/finding.ts'
import { expiredDecisions, renderBeacons, unusedFills } from './doctor/frames.ts'
import { integrity } from './doctor/integrity.ts'
import { keyType } from './doctor/key-type.ts'
import { localNetwork } from './doctor/local-network.ts'
import type { Machine } from './doctor/machine.ts'
import { noFill } from './doctor/no-fill.ts'
import { nodeVersion } from './doctor/node-version.ts'
import { polling } from './doctor/polling.ts'
import type { SandboxFacts } from './doctor/sandbox-facts.ts'
import { type ServedPlace, servedFiles } from './doctor/served-files.ts'
import { service } from './doctor/service.ts'
import { stateDirectoryCheck } from './doctor/state-directory.ts'
import { storedConfig } from './doctor/stored-config.ts'
import { versionMatch } from './doctor/version-match.ts'
import type { Traffic } from './exchange.ts'
import { keys } from './rules/machine.ts'
import { allowedOrigins } from './rules/origins.ts'

export interface Facts {
  machine: Machine
  /** Null when no sandbox answers. */
  sandbox: SandboxFacts | null
  traffic: Traffic | null
  /** Empty when no place was named. */
  served: readonly ServedPlace[]
}

export const machineChecks: readonly Check<Machine>[] = [
  nodeVersion,
  stateDirectoryCheck,
  configFile,
  keys,
  environment,
  browser,
  service,
]
export const sandboxChecks: readonly Check<SandboxFacts>[] = [versionMatch, integrity, clock]

/** The five points to check when migrating first. */
export const trafficChecks: readonly Check<Traffic>[] = [
  keyType,
  allowedOrigins,
  storedConfig,
  beaconFields,
  errorEnvelopes,
  polling,
  noFill,
  expiredDecisions,
  renderBeacons,
  unusedFills,
  localNetwork,
]

export const groups = ['This machine', 'The sandbox', "The integration's traffic", 'Served files'] as const

/** Runs every check for which there are facts, and says so of the others. */
export function diagnose({ machine, sandbox, traffic, served }: Facts): Finding[] {
  const [ofMachine, ofSandbox, ofTraffic, ofFiles] = groups
  return [
    ...runChecks(ofMachine, machineChecks, machine),
    ...(sandbox === null ? [] : runChecks(ofSandbox, sandboxChecks, sandbox)),
    ...(traffic === null || traffic.exchanges.length === 0
      ? [{ group: ofTraffic, check: 'journal', ...nothingSeen(sandbox, machine) }]
      : runChecks(ofTraffic, trafficChecks, traffic)),
    ...(served.length === 0 ? [] : runChecks(ofFiles, [servedFiles], served)),
  ]
}

function nothingSeen(sandbox: SandboxFacts | null, { command_name }: Machine) {
  if (sandbox === null) {
    return unknown('No sandbox answers, so its journal cannot be read.', `Start one: ${command_name} start`)
  }
  const { journal, url } = sandbox.info
  return journal.enabled
    ? unknown('The journal holds no request.', `Point the integration at ${url}, use it once, and look again.`)
    : unknown('The journal is off.', 'Start the sandbox without --journal-limit 0.')
}
