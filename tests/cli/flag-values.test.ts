/**
 * No flag takes a wrong value in silence: each has choices or a form and refuses anything else before it is sent, or is
 * free text and named here. A new flag is one of the two.
 */
import { InvalidArgumentError, type Option } from 'commander'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { endpoints } from '#cli/endpoint/facts.ts'
import { loadAll, tableOptions } from '#cli/run/command.ts'
import { commonOptions } from '#cli/run/common-options.ts'
import { keptCommands, renamedCommands } from '#cli/run/renamed-commands.ts'
import { mapTable } from '#foundation/table-entry.ts'
import { commands } from '#src/program.ts'
import { startTestCli, type TestCli } from './test-cli.ts'

let cli: TestCli
beforeAll(async () => {
  cli = await startTestCli()
})
afterAll(() => cli?.[Symbol.asyncDispose]())

/** Flags whose value may be any text, with what it is. */
const freeText: Readonly<Record<string, string>> = {
  '--agent': 'a name, which the command knows or refuses',
  '--asset-token': 'opaque: the service knows it or refuses it',
  '--beacon-id': 'chosen by the integration',
  '--browser-path': 'a file',
  '--callback-url': 'an address, which the service judges by its network',
  '--campaign': 'an identifier that the sandbox looks up',
  '--chat-session-id': 'chosen by the integration',
  '--config': 'a file',
  '--control-token': 'a credential',
  '--cursor': 'opaque: the sandbox refuses any other',
  '--db': 'a file',
  '--demand': 'a file',
  '--filter-list': 'a file',
  '--gpp-string': 'stored as it is',
  '--grep': 'a regular expression',
  '--html': 'a file',
  '--key-id': 'an identifier that the sandbox looks up',
  '--label-text': 'a label',
  '--locale': 'stored as it is',
  '--model-id': 'stored as it is',
  '--out': 'a file',
  '--overrides': 'a file',
  '--playback': 'a file',
  '--prompt': 'prose',
  '--publishable-key': 'a credential',
  '--render-instance-id': 'chosen by the integration',
  '--secret-key': 'a credential',
  '--serve-dir': 'a folder',
  '--session-id': 'chosen by the integration',
  '--slot-ids': 'those that the sandbox does not have match nothing',
  '--ssp-partner-id': 'stored as it is',
  '--steps': 'a file',
  '--tcf-string': 'stored as it is',
  '--tls-cert': 'a file',
  '--tls-key': 'a file',
  '--topic': 'prose',
  '--with': 'a file or an address',
  '--write-overrides': 'a file',
  'beacons send --slot-id': 'must be the slot of the asset token: the service compares',
  'sandbox faults add --key': 'the beginning of any key or token',
  'team migrate --namespace': 'a name that the database has, or not',
}

/** Flags that are checked when their command runs, with the command. Each is refused as a usage error. */
const checkedLater: Readonly<Record<string, string>> = {
  '--allowed-host': 'start --port 0',
  '--base-url': 'placements list',
  '--body': 'requests list',
  '--browser': 'observe',
  '--client-id': 'placements list',
  '--color': 'placements list',
  '--delimiter': 'placements list -o csv',
  '--compare-with': 'qa run',
  '--data': 'api consent.set',
  '--except': 'qa hosts',
  '--header': 'requests list',
  '--jq': 'placements list',
  '--map': 'beacons reconcile README.md',
  '--not-tag': 'qa run --tag nothing',
  '--now': 'beacons lint README.md',
  '--only': 'qa hosts',
  '--origin': 'api browser.activate',
  '--output': 'placements list',
  '--profile': 'placements list',
  '--public-url': 'start --port 0',
  '--reporter': 'qa run',
  '--scenario': 'start --port 0',
  '--set': 'api consent.set',
  '--tag': 'qa run',
  '--time': 'placements list',
  '--url': 'observe',
  '--host': 'start --port 0',
}

const wrong = '~ no such value ~'

function isRefused(option: Option): boolean {
  if (option.parseArg === undefined) return false
  try {
    option.parseArg(wrong, undefined as never)
    return false
  } catch (error) {
    if (error instanceof InvalidArgumentError) return true
    throw error
  }
}

test('a flag refuses a wrong value, or is free text', async () => {
  const own = (await loadAll(commands)).flatMap(({ command, path }) =>
    [...(command.options ?? []), ...tableOptions(command)].map((option) => ({ option, path })),
  )
  const all = [...own, ...commonOptions().map((option) => ({ option, path: 'svc' }))]
  const open = all.filter(({ option }) => (option.required || option.optional) && !isRefused(option))
  const names = open.map(({ option, path }) => {
    const { long = option.flags } = option
    return `${path} ${long}` in freeText ? `${path} ${long}` : long
  })
  const known = [...Object.keys(freeText), ...Object.keys(checkedLater)]
  expect([...new Set(names)].toSorted()).toEqual(known.toSorted())
  expect(all.length).toBeGreaterThan(300)
})

test.each(Object.entries(checkedLater))('%s refuses a wrong value before anything is sent', async (flag, command) => {
  const { code, stdout, stderr } = await cli.svc(`${command} ${flag} '${wrong}'`)
  expect({ code, stdout }, stderr).toEqual({ code: 2, stdout: '' })
})

/** Commands with the filter of a project that are no endpoint, or not of its name. */
const renamed: Readonly<Record<string, string>> = {
  ...mapTable({ ...renamedCommands, ...keptCommands }, (now) => now.replace('svc ', '')),
  'consent list': 'api consent.list',
  'bundles page': 'bundle create',
}
const composed = ['beacons tail', 'sandbox logs', 'requests verify', 'evidence export']

test('a project that the sandbox does not have is refused, not searched in vain', async () => {
  const filtered = Object.entries(endpoints).flatMap(([id, { path, query, body }]) => {
    const hasProject = [query, body].some((fields) => fields?.properties?.client_id !== undefined)
    return path.startsWith('/_sandbox/') && hasProject && id !== 'projects.create' ? [id.replace('.', ' ')] : []
  })
  expect(filtered).toContain('billing report')
  for (const path of [...filtered.map((path) => renamed[path] ?? path), ...composed]) {
    const { code, stdout, stderr } = await cli.svc(`${path} --client-id proj_dmeo`)
    expect([path, code, stdout]).toEqual([path, 2, ''])
    expect(stderr, path).toContain('Did you mean proj_demo?')
  }
})

test('what is probably meant is named, and a choice may be in any case', async () => {
  for (const [line, near] of [
    ['sandbox events --type beacon.acepted', 'beacon.accepted'],
    ['sandbox events --type beacons.*', 'beacon.*'],
    ['requests list --method PSOT', 'POST'],
    ['sandbox faults add --method gte', 'GET'],
    ['beacons list --event visble', 'visible'],
    ['beacons list --event impression', 'render'],
    ['beacons send --event impression', 'render'],
    ['beacons send --event viewable_impression', 'visible'],
  ] as const) {
    const { code, stderr } = await cli.svc(line)
    expect([line, code, stderr]).toEqual([line, 2, expect.stringContaining(`Did you mean ${near}?`)])
  }
  expect((await cli.svc('requests list --method post')).code).toBe(0)
  expect((await cli.svc('sandbox events --type beacon.accepted,nothing.at_all')).code).toBe(2)
})
