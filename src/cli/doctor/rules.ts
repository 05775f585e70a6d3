/** This computer and the sandbox that runs on it, for `svc doctor`. Ids are the names of its checks. */

import { describeNoHome } from '#cli/settings/state-directory.ts'
import { settingsTable } from '#cli/settings/table.ts'
import { clockWarnings, isCertificateWarning, type SandboxInfo } from '#contract/resources/sandbox/sandbox.ts'
import type { Rule, RuleFinding } from '#diagnosis/rule.ts'
import { formatDuration } from '#foundation/duration.ts'
import { isLoopback } from '#foundation/http.ts'
import { mapTable, tableNames } from '#foundation/table-entry.ts'
import type { Machine, SandboxReport } from './machine.ts'

/** The oldest Node that runs svc; a test compares it with package.json. */
export const oldestNode = '22.19'

/** Returns a function that gives rules about these facts their ids. */
function defineRuleSet<Given>() {
  return <Id extends string>(bodies: Readonly<Record<Id, Omit<Rule<Given>, 'id'>>>) =>
    mapTable(bodies, (body, id): Rule<Given> => ({ id, ...body }))
}

const machineRuleSet = defineRuleSet<Machine>()
const sandboxRuleSet = defineRuleSet<SandboxReport>()

export const machineRules = machineRuleSet({
  node: {
    severity: 'error',
    fix: 'Install a current Node: nvm install --lts, or from https://nodejs.org.',
    judge({ node_version }) {
      const [major = 0, minor = 0] = node_version.split('.').map(Number)
      const [oldestMajor = 0, oldestMinor = 0] = oldestNode.split('.').map(Number)
      const isRecent = major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)
      const message = `Node ${node_version} is too old: svc needs ${oldestNode} or later.`
      return found(isRecent ? [] : [{ message }], `Node ${node_version}.`)
    },
  },
  'state directory': {
    severity: 'error',
    fix: 'Make it writable by you, or set SVC_HOME to a directory that is.',
    judge({ state_directory: { path, problem } }) {
      const message = describeNoHome(path) ?? `${path} cannot be written: ${problem}.`
      return found(problem === null ? [] : [{ message }], `${path} can be written.`)
    },
  },
  'config file': {
    severity: 'error',
    fix: 'Correct it; see svc help settings.',
    judge({ config: { path, problem } }) {
      const holds = path === null ? 'No svc.config.json, and none is needed.' : `${path} is valid.`
      if (problem === null) return found([], holds)
      const { message, hint } = problem
      return found([{ message, ...(hint === null ? {} : { fix: hint }) }], holds)
    },
  },
  /** Key type, the first point to check when migrating, in the settings. Keys themselves are never printed. */
  keys: {
    severity: 'error',
    fix: 'Set SVC_SECRET_KEY to the key that begins with sk_test_.',
    judge: ({ settings }) =>
      found(
        [...secretKey(settings), ...publishableKey(settings), ...keyOfOther(settings)],
        settings.secret_key === null ? 'No key is set.' : 'Each key is of the right kind.',
      ),
  },
  settings: {
    severity: 'warning',
    fix: 'Remove the setting.',
    judge({ settings, proxy = null, running_urls: [running] }) {
      const { base_url, source, sandbox } = settings
      if (proxy !== null && takesProxy(new URL(base_url).hostname, proxy.no_proxy)) {
        const message = `${proxy.variable} is set, and NO_PROXY does not name ${new URL(base_url).hostname}: programs may send the proxy what is for the sandbox.`
        return found([{ message, fix: 'Set NO_PROXY=localhost,127.0.0.1,::1, as svc exec does for its command.' }], '')
      }
      if (sandbox !== null)
        return found(foreignSettings(settings), `Keys and project belong to the sandbox at ${sandbox.url}.`)
      const isElsewhere = running !== undefined && source.base_url !== 'default'
      const finding = {
        message: `base_url (${source.base_url}) is ${base_url}; a sandbox is running at ${running}.`,
        fix:
          source.base_url === 'flag'
            ? `Leave --base-url out, or give --base-url ${running}`
            : `Set ${settingsTable.base_url.env}=${running}, or remove the setting.`,
      }
      return found(isElsewhere ? [finding] : [], 'No setting points to another service.')
    },
  },
  browser: {
    severity: 'warning',
    fix: 'Install one, or put it on the PATH. Only commands that open a browser need it.',
    judge: ({ browser }) =>
      found(browser === null ? [{ message: 'No Chrome or Chromium was found.' }] : [], `${browser}.`),
  },
  port: {
    severity: 'error',
    fix: 'Start one: svc start',
    judge(machine) {
      const { base_url, source } = machine.settings
      const isOwn = machine.service === 'sandbox' && source.base_url !== 'default'
      return found(isOwn ? [] : [serviceMissing(machine)], `A sandbox responds at ${base_url}.`)
    },
  },
})

/** Whether requests to a host of this computer go to the proxy, as curl, Python and Node read NO_PROXY. */
function takesProxy(hostname: string, no_proxy: string): boolean {
  if (!isLoopback(hostname)) return false
  const host = hostname.replace(/^\[|\]$/g, '')
  const excepted = no_proxy
    .split(/[\s,]+/)
    .map((entry) => entry.replace(/^\.|^\*\.|:\d+$/g, '').replace(/^\[|\]$/g, ''))
  return !excepted.some(
    (entry) => entry === '*' || entry === host || (/^127\..*\//.test(entry) && host.startsWith('127.')),
  )
}

/** For a project that has files of `svc agent setup`. */
export const agentFileRules = machineRuleSet({
  'agent files': {
    severity: 'warning',
    fix: 'Update them: svc agent setup',
    judge({ agent_files, command_name }) {
      if (agent_files === null) return found([], 'There are no files of svc agent setup.')
      if ('problem' in agent_files) {
        const { problem, hint } = agent_files
        return found([{ message: problem, ...(hint === null ? {} : { fix: hint }) }], '')
      }
      const { written_by, installed } = agent_files
      const order = compareVersions(written_by, installed)
      const holds = `The files of svc agent setup are of this version, ${installed}.`
      if (order === 0) return found([], holds)
      const message = `The files of svc agent setup are of svc ${written_by}, ${order < 0 ? 'older' : 'newer'} than this ${installed}.`
      const fix = order < 0 ? `Update them: ${command_name} agent setup` : 'Update svc to that version.'
      return found([{ message, fix }], holds)
    },
  },
})

/** Returns a negative number when the first version is older, and 0 when they are the same release. */
function compareVersions(one: string, other: string): number {
  const numbers = (text: string) => text.split(/[.-]/).slice(0, 3).map(Number)
  const [others, ones] = [numbers(other), numbers(one)]
  return ones.map((number, index) => number - (others[index] ?? 0)).find((difference) => difference !== 0) ?? 0
}

function found(findings: readonly RuleFinding[], holds: string) {
  return { sample_size: 1, findings, holds }
}

function secretKey({ secret_key, source }: Machine['settings']): RuleFinding[] {
  if (secret_key === null || secret_key.startsWith('sk_test_') || secret_key.startsWith('at_')) return []
  const where = `secret_key (${source.secret_key})`
  if (secret_key.startsWith('sk_live_')) {
    const message = `${where} is a production key: its requests are not test requests.`
    return [{ severity: 'warning', message, fix: 'Use a key that begins with sk_test_.' }]
  }
  if (!secret_key.startsWith('pk_')) return [{ message: `${where} is not a key of this service.` }]
  const fix = 'Set SVC_SECRET_KEY to the key that begins with sk_test_, and this one as SVC_PUBLISHABLE_KEY.'
  return [{ message: `${where} is a publishable key; servers send a secret key.`, fix }]
}

function publishableKey({ publishable_key, source }: Machine['settings']): RuleFinding[] {
  if (publishable_key === null || publishable_key.startsWith('pk_')) return []
  const where = `publishable_key (${source.publishable_key})`
  if (publishable_key.startsWith('sk_')) {
    const message = `${where} is a secret key, which would be given to browsers.`
    return [{ message, fix: 'Revoke that key, and set SVC_PUBLISHABLE_KEY to the one that begins with pk_.' }]
  }
  const fix = 'Set SVC_PUBLISHABLE_KEY to the key that begins with pk_.'
  return [{ message: `${where} is not a publishable key.`, fix }]
}

/** Finds a key whose project is not client_id, when the sandbox knows the key. */
function keyOfOther({ client_id, secret_key, sandbox }: Machine['settings']): RuleFinding[] {
  const owner = sandbox?.projects.find((project) =>
    [project.secret_key, project.live_secret_key].includes(secret_key ?? ''),
  )
  if (owner === undefined || client_id === null || owner.client_id === client_id) return []
  const fix = `Set SVC_CLIENT_ID=${owner.client_id}, or use a key of ${client_id}.`
  return [{ message: `secret_key belongs to ${owner.client_id}, but client_id is ${client_id}.`, fix }]
}

function foreignSettings(settings: Machine['settings']): RuleFinding[] {
  const { source, sandbox } = settings
  if (sandbox === null) return []
  const { projects } = sandbox
  const known = {
    secret_key: projects.flatMap(({ secret_key, live_secret_key }) => [secret_key, live_secret_key]),
    publishable_key: projects.map(({ publishable_key }) => publishable_key),
    client_id: projects.map(({ client_id }) => client_id),
  }
  const foreign = tableNames(known).filter((name) => {
    const value = settings[name]
    return value !== null && source[name] !== 'sandbox' && !known[name].includes(value)
  })
  return foreign.map((name) => ({
    message: `${name} (${source[name]}) is unknown to the sandbox at ${sandbox.url}.`,
    fix: `Remove ${settingsTable[name].env} to use the sandbox's own, or create it there.`,
  }))
}

/** Describes what responds at the base URL instead of a sandbox that commands use. */
function serviceMissing({
  service,
  settings: { base_url, source, several },
  port,
  command_name,
}: Machine): RuleFinding {
  const start = `Start one: ${command_name} start`
  if (source.base_url === 'default' && several.length > 1) {
    return {
      severity: 'warning',
      message: `${several.length} sandboxes are running, and none is of this folder: ${several.map(({ url }) => url).join(', ')}.`,
      fix: `Name one, --base-url ${several[0]!.url}, or start one for this folder: ${command_name} start`,
    }
  }
  if (service === 'sandbox') {
    return {
      severity: 'warning',
      message: `The sandbox at ${base_url} belongs to another user or another SVC_HOME, so commands do not use it automatically.`,
      fix: `Give them --base-url ${base_url}, or start your own: ${command_name} start`,
    }
  }
  if (typeof service === 'object') {
    return {
      severity: service.is_failure ? 'error' : 'unknown',
      message: `The sandbox at ${base_url} cannot be read: ${service.message}`,
      ...(service.hint === null ? {} : { fix: service.hint }),
    }
  }
  if (service === 'other') {
    return source.base_url === 'default'
      ? {
          severity: 'warning',
          message: `No sandbox is running, and port ${port.number} is taken by ${port.holder ?? 'another program'}.`,
          fix: `Start one on the next free port: ${command_name} start`,
        }
      : {
          severity: 'unknown',
          message: `What responds at ${base_url} is not a sandbox, so there is no journal to check${port.holder === null ? '' : `: ${port.holder}`}.`,
          fix: `Point the integration at a sandbox: ${command_name} start`,
        }
  }
  if (port.holder !== null) {
    return {
      message: `Port ${port.number} is taken by ${port.holder}, which does not respond as the service.`,
      fix: `Stop it, or start the sandbox on another port: ${command_name} start --port ${port.number + 1}`,
    }
  }
  if (source.base_url === 'default') {
    return { severity: 'warning', message: `No sandbox is running; port ${port.number} is free.`, fix: start }
  }
  return { message: `Nothing responds at ${base_url} (${source.base_url}).`, fix: `${start}, or correct the address.` }
}

/** Returns a sentence about the nodes of a shared store; empty for a file. */
function nodesText({ nodes }: SandboxInfo): string {
  if (nodes == null) return ''
  const list = nodes.map(({ url, host }) => `${url} (${host})`).join(', ')
  return nodes.length === 1 ? ` One node shares it: ${list}.` : ` ${nodes.length} nodes share it: ${list}.`
}

/** A smaller offset than this is only the time a request takes. */
const negligibleMs = 1_000
/** The clocks of two computers can differ by less than this, and a response can take half of it. */
const negligibleBetweenComputersMs = 10_000

export const sandboxRules = sandboxRuleSet({
  version: {
    severity: 'warning',
    fix: 'Restart it.',
    judge({ info, version, command_name }) {
      const finding = {
        message: `The sandbox is svc ${info.version}, this command line is ${version}.`,
        fix: `Restart it: ${command_name} sandbox stop, then ${command_name} start`,
      }
      return found(info.version === version ? [] : [finding], `The sandbox is svc ${version}.`)
    },
  },
  database: {
    severity: 'error',
    fix: 'Start with another --db.',
    judge({ integrity, info, command_name }) {
      const isFile = info.nodes == null
      const emptyIt = `or empty it: ${command_name} sandbox reset`
      const ofFile = `Keep the file if you need it, then start with another --db, ${emptyIt}`
      if ('failure' in integrity) {
        const fix = isFile ? ofFile : `Check that PostgreSQL runs there, then: ${command_name} sandbox status`
        return found([{ message: `${info.database} could not be checked: ${integrity.failure}`, fix }], '')
      }
      const fix = isFile ? ofFile : `Restore a snapshot of the namespace, ${emptyIt}`
      const { database, evidence } = integrity
      const [first] = database.problems
      const broken = evidence.chains.filter(({ broken_at }) => broken_at !== null)
      return found(
        [
          ...(first === undefined ? [] : [{ message: `${info.database} is damaged: ${first}.`, fix }]),
          ...broken.map(({ client_id, broken_at, problem }) => ({
            message: `The evidence of ${client_id} is broken at entry ${broken_at}: ${problem ?? 'it is not intact'}.`,
            fix: `The database was changed by hand: ${command_name} evidence verify, then ${command_name} sandbox reset`,
          })),
        ],
        `${info.database} and ${evidence.chains.length} evidence chains are intact.${nodesText(info)}`,
      )
    },
  },
  certificate: {
    severity: 'warning',
    fix: 'Correct it, then start the sandbox again.',
    judge({ info: { url, warnings } }) {
      const findings = warnings.filter(isCertificateWarning).map((warning) => {
        const message = `${warning.charAt(0).toUpperCase()}${warning.slice(1)}.`
        return { message }
      })
      const isServed = url.startsWith('https:')
      const holds = 'The certificate is valid.'
      return { ...found(findings, holds), sample_size: isServed ? 1 : 0 }
    },
  },
  clock: {
    severity: 'warning',
    fix: 'Set it to the system time.',
    judge({ info: { clock, nodes }, now_ms: here_ms, command_name }) {
      const [differing] = clockWarnings(nodes ?? [])
      if (differing !== undefined) {
        const fix = 'Set the computers of all nodes to network time, then restart the nodes that differ.'
        return found([{ message: differing, fix }], '')
      }
      const { frozen, now_ms, offset_ms } = clock
      if (frozen) {
        const message = `The sandbox clock is frozen at ${new Date(now_ms).toISOString()}.`
        const fix = `Beacons stamped by a browser may be stale or in the future. Resume it: ${command_name} sandbox clock resume`
        return found([{ message, fix }], '')
      }
      const ahead_ms = now_ms - offset_ms - here_ms
      if (Math.abs(ahead_ms) > negligibleBetweenComputersMs) {
        const message = `The computer of the sandbox is ${spanText(Math.abs(ahead_ms))} ${ahead_ms > 0 ? 'ahead of' : 'behind'} this one.`
        const fix = 'Set both to network time: beacons stamped here may be stale or in the future there.'
        return found([{ message, fix }], '')
      }
      const finding = {
        message: `The sandbox clock is ${spanText(Math.abs(offset_ms))} ${offset_ms > 0 ? 'ahead of' : 'behind'} the system clock.`,
        fix: `Set it to the time on this machine: ${command_name} sandbox clock set now`,
      }
      return found(Math.abs(offset_ms) < negligibleMs ? [] : [finding], 'The sandbox clock is the system clock.')
    },
  },
})

/** Returns the two largest units of a span: `2 h 5 min`. */
export function spanText(span_ms: number): string {
  const seconds_ms = Math.round(span_ms / 1_000) * 1_000
  return formatDuration(seconds_ms, 2)
    .replaceAll(/(\d{1,9})([a-z])/g, '$1 $2')
    .replaceAll(/m\b/g, 'min')
}
