/** The services of a start, connected with plain calls. */
import { decisionText } from '#compat/decisions.ts'
import { createImportedBundles } from '#operations/bundles/imported-bundles.ts'
import type { Caller, Services } from '#operations/context.ts'
import type { Rates } from '#pipeline/rates.ts'
import type { SandboxServer } from '#pipeline/server.ts'
import { watchDescriptors } from '#platform/descriptors.ts'
import { type Platform, sha256Hex } from '#platform/platform.ts'
import { readProcessFigures } from '#platform/process-figures.ts'
import { createAccess } from '#runtime/access.ts'
import { createCallbacks } from '#runtime/callbacks/callbacks.ts'
import type { NetworkOptions } from '#runtime/callbacks/network.ts'
import type { CallbackNetwork } from '#runtime/callbacks/request.ts'
import { createConsoleGrants } from '#runtime/console-grants.ts'
import { createDrainLock } from '#runtime/drain-lock.ts'
import { createFaults } from '#runtime/faults.ts'
import { createMarkets } from '#runtime/markets.ts'
import type { NodeMetrics } from '#runtime/metrics/node-metrics.ts'
import { createPendingDecisions } from '#runtime/pending-decisions.ts'
import type { OpenedRecording } from '#runtime/playback/recording-file.ts'
import { createScenarios } from '#runtime/scenarios.ts'
import { createSharedTickets, createTickets, type Tickets } from '#runtime/tickets.ts'
import type { Tracing } from '#runtime/traces/tracing.ts'
import { createWaiters } from '#runtime/waiters.ts'
import type { SharedStore } from '#store/nodes.ts'
import type { Store } from '#store/store.ts'
import { createTokenText } from './admin-token.ts'
import { type Demand, joinDemand, packageVersion, readFixture, readScenarios, type SeededProject } from './fixtures.ts'
import type { SandboxOptions, StartOptions } from './options.ts'
import type { OwnDemand } from './rules/demand/read-demand.ts'
import { createVerificationThread } from './verification-thread.ts'

/** What everything else is built from. */
export interface Parts {
  options: SandboxOptions
  start: StartOptions
  seeded: SeededProject[]
  /** With the files that were read for it. */
  demand: Demand & Pick<OwnDemand, 'read'>
  /** Null when nothing is played. */
  recording: OpenedRecording | null
  store: Store
  platform: Platform
  metrics: NodeMetrics
  /** Null without --otlp. */
  tracing: Tracing | null
  report(error: unknown): void
}

type DemandTaking = Pick<Services, 'replaceDemand' | 'takeDemand'>

/** Puts demand in force while the sandbox runs. @param find returns the services; called by requests, which come later */
function createDemandTaking({ options }: Parts, find: () => Services): DemandTaking {
  const taking: DemandTaking = {
    async replaceDemand(own) {
      const { text, data } = joinDemand(own, options.only ?? false)
      const { drainLock, markets } = find()
      const replace = () => markets.replace({ sha256: sha256Hex(text), text, data })
      await drainLock.runExclusive(replace, () => {})
    },
    async takeDemand(files, given) {
      // Its readers are loaded with the first files.
      const { takeSentDemand } = await import('./sent-demand.ts')
      return takeSentDemand({ files, ...given, replace: taking.replaceDemand })
    },
  }
  return taking
}

/** @param findServer returns the server; called by requests, which come later */
export function createServices(parts: Parts, rates: Rates, findServer: () => SandboxServer): Services {
  const { options, start, seeded, store, platform, metrics, tracing, report } = parts
  const { address } = start
  const faults = createFaults({ store, hash: sha256Hex, report })
  const markets = createMarkets({
    store,
    demand: parts.demand.data,
    topics: () => readFixture('topics.json'),
    safety: () => readFixture('content-safety.json'),
  })
  const decisions = {
    store,
    platform,
    markets,
    scenarios: createScenarios(readScenarios, faults, (name) => markets.current.positions.has(name)),
    decision_latency_ms: options.decision_latency_ms ?? null,
  }
  const waiters = createWaiters()
  const callbacks = createCallbacks({
    store,
    platform,
    readMessage: async (slot_id) => (await services.drainLock.run(() => decisionText(services, slot_id))) ?? null,
    metrics,
    tracing,
    network: loadNetwork({ own_port: () => findServer().port, isPublic: address.isPublic }),
    report,
  })
  const services: Services = {
    ...decisions,
    descriptors: watchDescriptors(report),
    metrics,
    tracing,
    readProcess: readProcessFigures,
    verifyOnThread: createVerificationThread(),
    waiters,
    pendingDecisions: createPendingDecisions({
      ...{ ...decisions, waiters, callbacks, metrics, tracing, report },
      postToBidder: async (...request) => (await import('#runtime/bidders/network.ts')).postToBidder(...request),
    }),
    callbacks,
    tickets: store.shared === null ? createTickets(platform.newSecret) : createNodeTickets(store.shared, parts),
    faults,
    drainLock: createDrainLock(),
    ...createDemandTaking(parts, () => services),
    access: createAccess({ store, platform, newToken: createTokenText, report }),
    consoleGrants: createConsoleGrants({
      platform,
      now: () => platform.clock.now() - platform.clock.offset_ms,
      newToken: createTokenText,
    }),
    importedBundles: createImportedBundles(platform),
    get url() {
      return findServer().url
    },
    get base_url() {
      return address.public_url ?? findServer().url
    },
    version: packageVersion(),
    pid: process.pid,
    player: parts.recording?.player ?? null,
    warnings: [...address.warnings, ...store.notes, ...(parts.recording?.warnings ?? [])],
    spotWarnings: [],
    strict: options.strict ?? false,
    overrides: start.overrides,
    isDraining: false,
    stop: options.stop ?? null,
    localKeys: new Set(
      address.isPublic && options.allow_known_keys !== true ? seeded.flatMap(({ keys }) => Object.values(keys)) : [],
    ),
    resend: (request, signal) => findServer().replay(request, signal),
    hasStartRate: start.rate !== null,
    clearRates: rates.clear,
    report,
  }
  return services
}

/** The network is loaded with the first callback. */
function loadNetwork(options: NetworkOptions): CallbackNetwork {
  let loading: Promise<CallbackNetwork> | undefined
  const load = () => {
    loading ??= import('#runtime/callbacks/network.ts').then(({ createCallbackNetwork }) =>
      createCallbackNetwork(options),
    )
    return loading
  }
  return {
    findProblem: async (url) => (await load()).findProblem(url),
    post: async (...request) => (await load()).post(...request),
  }
}

/** Tickets that every node redeems: the store has only identifiers of their holders. */
function createNodeTickets(
  shared: SharedStore,
  { store, platform }: Pick<Services, 'store' | 'platform'>,
): Tickets<Caller> {
  return createSharedTickets<Caller>({
    shared,
    newSecret: platform.newSecret,
    sha256: platform.sha256,
    write: ({ project, ...holder }) => JSON.stringify({ ...holder, project: project.client_id }),
    async read(text) {
      const { project, ...holder }: Omit<Caller, 'project'> & { project: string } = JSON.parse(text)
      const found = await store.findProject(project)
      return found === null ? null : { ...holder, project: found }
    },
  })
}
