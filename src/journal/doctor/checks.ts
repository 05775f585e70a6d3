/** Every check, in the order of the report. */

import type { Traffic } from '../exchanges.ts'
import { allowedOrigins } from './allowed-origins.ts'
import { beaconFields } from './beacon-fields.ts'
import { browser } from './browser.ts'
import { clock } from './clock.ts'
import { configFile } from './config-file.ts'
import { environment } from './environment.ts'
import { errorEnvelopes } from './error-envelopes.ts'
import { type Check, type Finding, runChecks, unknown } from './finding.ts'
import { expiredDecisions, renderBeacons, unusedFills } from './frames.ts'
import { integrity } from './integrity.ts'
import { keyType } from './key-type.ts'
import { keys } from './keys.ts'
import { localNetwork } from './local-network.ts'
import type { Machine } from './machine.ts'
import { noFill } from './no-fill.ts'
import { nodeVersion } from './node-version.ts'
import { polling } from './polling.ts'
import type { SandboxFacts } from './sandbox-facts.ts'
import { type ServedPlace, servedFiles } from './served-files.ts'
import { service } from './service.ts'
import { stateDirectoryCheck } from './state-directory.ts'
import { storedConfig } from './stored-config.ts'
import { versionMatch } from './version-match.ts'

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
