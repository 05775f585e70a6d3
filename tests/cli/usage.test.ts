import { stripVTControlCharacters } from 'node:util'
import { Option } from 'commander'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Command, type CommandGroup, findProvenance, loadAll, tableOptions } from '#cli/run/command.ts'
import { parseCommandLine } from '#cli/run/command-line.ts'
import { type CommandNode, commandHelp, commandTree, describeCommand } from '#cli/run/help.ts'
import { topics } from '#cli/run/help-topics.ts'
import { settingNames, settingsTable } from '#cli/settings/table.ts'
import { errorCodes } from '#contract/errors.ts'
import { builtinNames } from '#qa/suite/builtin.ts'
import { commands } from '#src/program.ts'
import { exitCodes } from '#text/cli-error.ts'
import { plainStyle } from '#text/terminal.ts'
import { keptStream, startTestCli, svc, type TestCli, temporaryDirectory } from './test-cli.ts'

let cli: TestCli
beforeAll(async () => {
  cli = await startTestCli()
})
afterAll(() => cli?.[Symbol.asyncDispose]())

describe('svc --help', () => {
  test('fits a terminal of 80 by 24, with twelve commands in words; svc help commands has every one', async () => {
    const { code, stdout, stderr } = await cli.svc('--help')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const lines = stdout.trimEnd().split('\n')
    expect(lines.length).toBeLessThanOrEqual(24)
    expect(lines.filter((line) => line.length > 80)).toEqual([])
    const named = [...stdout.matchAll(/^ {2}svc (\S+)/gm)].map(([, name]) => name)
    expect(named).toHaveLength(12)
    expect(named.filter((name) => name !== 'help' && !commands.some((command) => command.name === name))).toEqual([])
    const all = (await cli.svc('help commands')).stdout
    for (const { name } of commands) expect(all).toMatch(new RegExp(`^  ${name} `, 'm'))
    for (const flag of ['--jq', '--time', '--base-url', '-o text|json']) expect(stdout).toContain(flag)
  })

  test('nor is the help of any command or topic wider, whose examples go on with a backslash', async () => {
    const style = { ...plainStyle, columns: 80 }
    const wide: string[] = []
    const check = (text: string) => wide.push(...text.split('\n').filter((line) => line.length > 80))
    const walk = (nodes: readonly CommandNode[], words: readonly string[]): void => {
      for (const node of nodes) {
        check(commandHelp(tree, [...words, node.name], { command_name: 'svc', columns: 80, style }))
        walk(node.commands ?? [], [...words, node.name])
      }
    }
    const tree = await commandTree(commands)
    walk(tree, [])
    for (const topic of Object.values(topics)) check((await topic(style)).join('\n'))
    expect(wide).toEqual([])
    const send = commandHelp(tree, ['beacons', 'send'], { command_name: 'svc', columns: 80, style })
    expect(send).toContain('measurements.visible_ratio=1 \\\n      --set measurements.visible_ms=1000\n')
    expect(send).toContain('  --slot-id <text>             Must be the slot of the asset token\n')
  })

  test('is what svc -h and svc help print', async () => {
    const { stdout } = await cli.svc('--help')
    for (const args of ['-h', 'help']) expect(await cli.svc(args)).toEqual({ code: 0, stdout, stderr: '' })
  })

  test('is printed with other flags too, and on stderr when a command is missing', async () => {
    const { stdout } = await cli.svc('--help')
    expect(await cli.svc('-q --help')).toEqual({ code: 0, stdout, stderr: '' })
    expect(await cli.svc('-o json')).toEqual({ code: 2, stdout: '', stderr: stdout })
  })

  test('shows npx svc under npm', async () => {
    const { stdout } = await cli.svc('--help', { env: { npm_execpath: 'npm' } })
    expect(stdout).toMatch(/^ {2}npx svc start( |$)/m)
  })
})

test('svc alone says whether the sandbox of this folder runs, and what to type next', async () => {
  const running = await cli.svc('')
  expect(running).toMatchObject({ code: 0, stderr: '' })
  expect(running.stdout).toContain(`\nThe sandbox of this folder runs at ${cli.sandbox.url}\n\n  svc trigger  play`)
  const none = await svc('', { env: { SVC_HOME: temporaryDirectory() } })
  expect(none.stdout).toContain('\nNo sandbox is running.\n\n  svc start   start the sandbox of this folder\n')
})

describe('the help of a command', () => {
  test('has a summary of one line and at least two examples', async () => {
    for (const { command, path } of await loadAll(commands)) {
      const { code, stdout, stderr } = await cli.svc(`${path} --help`)
      expect({ code, stderr }, path).toEqual({ code: 0, stderr: '' })
      expect(command.summary.length, path).toBeLessThanOrEqual(76)
      expect(command.summary, path).not.toMatch(/\n|\.$/)
      expect(stdout.split('Examples:\n')[1]?.match(/^ {2}svc /gm)?.length, path).toBeGreaterThanOrEqual(2)
    }
  })

  test('shows at most twelve flags, and with --all every one', async () => {
    const tree = await commandTree(commands)
    const style = { ...plainStyle, columns: 80 }
    const shownBy = (path: string, isComplete: boolean) => {
      const text = commandHelp(tree, path.split(' '), { command_name: 'svc', columns: 80, style, isComplete })
      const [, flags = ''] = /\nOptions:\n(.*?)\n\n/s.exec(text) ?? []
      return { text, flags: flags.match(/^ {2}-/gm)?.length ?? 0 }
    }
    let largest = 0
    for (const { command, path } of await loadAll(commands)) {
      const [usual, all] = [shownBy(path, false), shownBy(path, true)]
      const own = [...(command.options ?? []), ...tableOptions(command)]
      // --help is one of them.
      expect([path, all.flags]).toEqual([path, own.length + 1])
      expect(usual.flags, path).toBeLessThanOrEqual(13)
      expect(usual.flags, path).toBe(Math.min(own.length, command.usualFlags?.split(' ').length ?? 12) + 1)
      const more = own.length + 1 - usual.flags
      if (more > 0) expect(usual.text, path).toContain(`\n${more} more flags: svc ${path} --help --all\n`)
      else expect(usual.text, path).not.toContain('more flags')
      largest = Math.max(largest, usual.text.split('\n').length)
    }
    expect(largest).toBeLessThanOrEqual(75)
    const { stdout } = await cli.svc('start --help --all')
    expect(stdout).toContain('  --otlp <url>')
    expect((await cli.svc('help start --all')).stdout).toBe(stdout)
    expect((await cli.svc('start --help')).stdout).not.toContain('--otlp')
  })

  test('is what svc help COMMAND prints', async () => {
    const expected = await cli.svc('placements create --help')
    for (const args of ['help placements create', '--help placements create', 'placements -h create']) {
      expect(await cli.svc(args)).toEqual(expected)
    }
  })

  test('shows the choices of each field; svc contract show tells where each of them comes from', {
    tags: 'depth',
  }, async () => {
    const { stdout } = await cli.svc('api jobs.create --help')
    expect(stdout.replace(/\s+/g, ' ')).toContain(
      '--job-type <choice> Workload category; a missing value normalizes to chat (chat, code, image, voice, agent) --slots',
    )
    expect(stdout).toContain('What a field means, and whether it is documented: svc contract show FIELD\n')
    const names = new Set<string>()
    for (const { command, path } of await loadAll(commands)) {
      for (const option of command.options ?? []) {
        expect(option.description, `${path} ${option.flags}`).not.toMatch(/\[(documented|observed|assumed)/)
        if (findProvenance(option) !== undefined) names.add(option.name())
      }
    }
    expect(names.size).toBeGreaterThan(30)
    for (const name of names) {
      const shown = await cli.svc(`contract show ${name}`)
      expect({ code: shown.code, stderr: shown.stderr }, name).toEqual({ code: 0, stderr: '' })
      expect(shown.stdout, name).toMatch(/(required|optional) {2}(documented|observed|assumed)/)
    }
  })

  test('is a usage error on stderr for a noun without a verb', async () => {
    const { code, stdout, stderr } = await cli.svc('placements')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('create      Request a placement\n')
  })
})

describe('a group within a group', () => {
  const verb = (name: string): Command => ({
    name,
    summary: `Does ${name}`,
    examples: [`box lid ${name}`, `box lid ${name} -o json`],
    run: async () => 0,
  })
  const box: CommandGroup = {
    name: 'box',
    summary: 'A box',
    commands: [{ name: 'lid', summary: 'The lid of the box', commands: [verb('open'), verb('close')] }, verb('carry')],
  }
  const parse = (args: string) => parseCommandLine([box], args.split(' '))
  const readHelp = async (args: string) => {
    const parsed = await parse(args)
    if (parsed.kind !== 'help') throw new Error(`svc ${args} prints no help`)
    const { words, isRequested } = parsed
    return {
      text: commandHelp([await describeCommand(box)], words, { command_name: 'svc', columns: 80, style: plainStyle }),
      isRequested,
    }
  }
  const readMessage = async (args: string) => {
    const parsed = await parse(args)
    return parsed.kind === 'invalid' ? parsed.error.message : null
  }

  test('has verbs of its own, and its help lists them', async () => {
    expect(await parse('box lid close')).toMatchObject({ kind: 'command', command: { name: 'close' } })
    expect(await parse('box carry')).toMatchObject({ kind: 'command', command: { name: 'carry' } })
    const { text, isRequested } = await readHelp('box lid')
    expect(isRequested).toBe(false)
    expect(text).toContain('open  ')
    expect(text).toContain('Examples:\n  svc box lid open\n  svc box lid close\n')
  })

  test('is listed in the help of the outer group, and typing errors in it are reported', async () => {
    const { text, isRequested } = await readHelp('box --help')
    expect(isRequested).toBe(true)
    expect(text).toContain('lid         The lid of the box\n')
    expect(await readMessage('box lid opne')).toBe("Unknown command 'opne'.")
    expect(await readMessage('box ldi open')).toBe("Unknown command 'ldi'.")
  })

  test('a --no-flag is true when it is not given', async () => {
    const lid = { ...verb('lid'), options: [new Option('--no-lock'), new Option('--colour <name>')] }
    expect(await parseCommandLine([lid], ['lid'])).toMatchObject({ input: { options: { lock: true } } })
    expect(await parseCommandLine([lid], ['lid', '--no-lock'])).toMatchObject({ input: { options: { lock: false } } })
  })

  test('only the command that is called is loaded', async () => {
    const loaded: string[] = []
    const lazy = (name: string) => ({
      name,
      load: async () => {
        loaded.push(name)
        return verb(name)
      },
    })
    const group: CommandGroup = { name: 'box', summary: 'A box', commands: [lazy('open'), lazy('close')] }
    expect(await parseCommandLine([group], ['--quiet', 'box', 'close', '-o', 'json'])).toMatchObject({
      kind: 'command',
      command: { name: 'close' },
      common: { quiet: true, settings: { output: 'json' } },
    })
    expect(loaded).toEqual(['close'])
  })
})

describe('help topics', () => {
  test('exit-codes has every code and every error of the contract', async () => {
    const { stdout } = await cli.svc('help exit-codes')
    for (const [category, { exit_code }] of Object.entries(exitCodes))
      expect(stdout).toMatch(new RegExp(`^ *${exit_code}  ${category} `, 'm'))
    for (const [code, { status, exit_code }] of Object.entries(errorCodes)) {
      expect(stdout).toMatch(new RegExp(`^ *${status}  ${code} +${exit_code}  `, 'm'))
    }
  })

  test('settings has every flag and variable', async () => {
    const { stdout } = await cli.svc('help settings')
    for (const name of settingNames) expect(stdout).toContain(settingsTable[name].env)
  })
})

describe('a usage error', () => {
  const following = 'svc sandbox logs follows requests, svc beacons tail follows beacons.'
  const cases: [args: string, message: string, hint: string][] = [
    ['placments list', "Unknown command 'placments'.", 'Did you mean placements?'],
    ['help placments', "Unknown command 'placments'.", 'Did you mean placements?'],
    [
      'open ast_7',
      "'ast_7' is not an asset token.",
      "To read a slot's: svc api decisions.get SLOT_ID --jq .decision.asset_token",
    ],
    ['status', "Unknown command 'status'.", 'It is svc sandbox status.'],
    ['clock', "Unknown command 'clock'.", 'It is svc sandbox clock.'],
    ['scenario', "Unknown command 'scenario'.", 'It is svc sandbox scenario.'],
    ['snapshots', "Unknown command 'snapshots'.", 'It is svc sandbox snapshot.'],
    ['logs -f', "Unknown command 'logs'.", 'It is svc sandbox logs.'],
    ['log', "Unknown command 'log'.", 'It is svc sandbox logs.'],
    ['tail --since 1h', "Unknown command 'tail'.", following],
    ['watch', "Unknown command 'watch'.", following],
    ['sandbox tail', "Unknown command 'tail'.", following],
    ['beacons watch', "Unknown command 'watch'.", following],
    ['requests list -f', "Unknown option '-f'.", following],
    ['sandbox logs --follow=x', "Unknown option '--follow=x'.", 'Did you mean --follow?'],
    ['beacons list --follow', "Unknown option '--follow'.", following],
    ['placements lst', "Unknown command 'lst'.", 'Did you mean list?'],
    ['evidence show', "Unknown command 'show'.", 'Commands of svc evidence: list, export, verify.'],
    [
      'sandbox clock forward 5m',
      "Unknown command 'forward'.",
      'Commands of svc sandbox clock: show, advance, set, freeze, resume.',
    ],
    ['sandbox frob', "Unknown command 'frob'.", 'Add --help to see what it takes.'],
    ['placements create --formt clip', "Unknown option '--formt'.", 'Did you mean --format?'],
    ['placements list --outptu json', "Unknown option '--outptu'.", 'Did you mean --output?'],
    ['start --slot x', "Unknown option '--slot'.", 'Add --help to see what it takes.'],
    ['sandbox export --file x', "Unknown option '--file'.", 'It is an argument: svc sandbox export [file]'],
    ['sandbox import --flie x', "Unknown option '--flie'.", 'Add --help to see what it takes.'],
    ['sandbox import', "Missing required argument 'file'.", 'For example: svc sandbox import sandbox.svc.gz'],
    [
      'qa show',
      "Missing required argument 'suite-or-case'.",
      `Built-in suites: ${builtinNames().join(', ')}. To list the cases of one: svc qa list NAME`,
    ],
    [
      `start --port ${'x'.repeat(10_000)}`,
      `Option '--port <n>' argument '${'x'.repeat(100)}...' is invalid. It must be a whole number.`,
      'Add --help to see what it takes.',
    ],
    ['x'.repeat(10_000), `Unknown command '${'x'.repeat(100)}...'.`, 'Add --help to see what it takes.'],
    ['--verison', "Unknown option '--verison'.", 'Did you mean --version?'],
    [
      'explain a b',
      "Too many arguments for 'explain'. Expected 1 argument but got 2: a, b.",
      'Add --help to see what it takes.',
    ],
    [
      'placements create --format poster',
      "Option '--format <format...>' argument 'poster' is invalid.",
      'Allowed choices are banner, clip, native.',
    ],
    [
      'placements list --limit 0',
      "Option '--limit <n>' argument '0' is invalid. It must be a whole number from 1 to 1000.",
      'Add --help to see what it takes.',
    ],
    [
      'placements create --expect luck',
      "Option '--expect <what>' argument 'luck' is invalid. It must be fill, no_fill, pending, format=<format> or reason=<no-fill reason>.",
      'Add --help to see what it takes.',
    ],
    ['exec sh -c true', "Unknown option '-c'.", 'Write the command after --: svc exec -- npm test'],
    ['exec --sed 1 -- true', "Unknown option '--sed'.", 'Did you mean --seed?'],
    ["placements list --jq ''", '--jq, line 1, column 1: it does not compile.', 'For example: .items[].slot_id'],
    [
      'placements create --set nonsense',
      '--set nonsense is not path=value.',
      'Write a field and its value, such as a.b=2.',
    ],
    [
      'beacons send --event render --occurred-at noon',
      "Option '--occurred-at <text>' argument 'noon' is invalid. It must be an RFC 3339 time, such as 2026-01-31T12:00:00.000Z.",
      'Add --help to see what it takes.',
    ],
    [
      'beacons send --event render --seq x',
      "Option '--seq <n>' argument 'x' is invalid. It must be a whole number, at least 0.",
      'Add --help to see what it takes.',
    ],
    [
      'observe --since soon',
      "Option '--since <span>' argument 'soon' is invalid. It must be a span such as 10m, a time such as 2027-01-31, or epoch milliseconds.",
      'Add --help to see what it takes.',
    ],
    [
      `evidence verify --public-key ${'A'.repeat(43)}`,
      '--public-key is for an export.',
      'Name its file: svc evidence verify FILE --public-key KEY',
    ],
    [
      'requests list --header x',
      '--header x is not name=value.',
      'For example: --header content-type=application/json',
    ],
    [
      'config completion fissh',
      "'fissh' is invalid for <shell>.",
      'Did you mean fish? Allowed choices are bash, zsh, fish, powershell.',
    ],
    ['observe --reporter x', "There is no reporter 'x'.", 'Reporters: list, junit, json, html, markdown, ctrf, sarif.'],
    ['observe --browser-path x', '--browser-path needs a page.', 'Name it: --url http://localhost:3000'],
    [
      'qa run nowhere.yaml',
      'nowhere.yaml: No such file. Check the path.',
      'For an example of a suite: svc qa show formats',
    ],
    [
      'placements list -o yaml',
      '--output: must be one of text, json, jsonl, csv, tsv, none.',
      'See svc help settings.',
    ],
    ['placements list -o jsno', '--output: must be one of text, json, jsonl, csv, tsv, none.', 'Did you mean json?'],
    [
      'placements create --format bannr',
      "Option '--format <format...>' argument 'bannr' is invalid.",
      'Did you mean banner? Allowed choices are banner, clip, native.',
    ],
    [
      'api consent.set --session-id s --decision grantd',
      "Option '--decision <choice>' argument 'grantd' is invalid.",
      'Did you mean granted? Allowed choices are granted, denied, withdrawn, personalized, basic, custom.',
    ],
    [
      'placements create --expect format=bannr',
      "Option '--expect <what>' argument 'format=bannr' is invalid. It must be fill, no_fill, pending, format=<format> or reason=<no-fill reason>. Did you mean format=banner?",
      'Add --help to see what it takes.',
    ],
    [
      'contract show placement.create',
      'The contract has no endpoint and no field "placement.create".',
      'Did you mean placements.create?',
    ],
    ['placements create --data @missing.json', '', ''],
    ['placements list --limit x', '', ''],
  ]
  test.each(['list', 'create'])('of the verb %s of many nouns has an example', async (verb) => {
    const { stderr } = await cli.svc(verb)
    expect(stderr).toMatch(new RegExp(`\nhint: There are \\d+, such as svc placements ${verb}\\.\n$`))
  })

  test.each(cases)('of svc %s suggests what was meant', async (args, message, hint) => {
    const { code, stdout, stderr } = await cli.svc(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).not.toMatch(/Invalid (option|input)|expected |received/)
    if (message === '') expect(stderr).toContain(hint)
    else expect(stderr).toBe(`error: ${message}\nhint: ${hint}\n`)
  })

  test('is JSON when JSON is requested, in any way', async () => {
    const ways: [string, Record<string, string>?][] = [
      ['-o json'],
      ['-ojson'],
      ['--output=json'],
      ['--json'],
      ['-o jsonl'],
      ['', { SVC_OUTPUT: 'json' }],
    ]
    for (const [flags, env = {}] of ways) {
      const { stderr } = await cli.svc(`placments list ${flags}`, { env })
      expect(JSON.parse(stderr), flags).toEqual({
        error: {
          category: 'usage',
          code: 'unknown_command',
          reason_code: null,
          message: "Unknown command 'placments'.",
          hint: 'Did you mean placements?',
          request_id: null,
        },
      })
    }
  })
})

describe('colours', () => {
  test('are used on a terminal only, unless a flag or variable says otherwise', async () => {
    const isColored = async (args: string, isTerminal: boolean, env = {}) =>
      (await cli.svc(`placements create ${args}`, { isTerminal, env })).stdout.includes('\u001b[')
    expect(await isColored('', true)).toBe(true)
    expect(await isColored('', false)).toBe(false)
    expect(await isColored('', true, { NO_COLOR: '1' })).toBe(false)
    expect(await isColored('', true, { TERM: 'dumb' })).toBe(false)
    expect(await isColored('', false, { FORCE_COLOR: '1' })).toBe(true)
    expect(await isColored('--color never', true)).toBe(false)
    expect(await isColored('--color always', false, { NO_COLOR: '1' })).toBe(true)
  })

  test('JSON has none', async () => {
    const { stdout } = await cli.svc('placements create -o json --color always', { isTerminal: true })
    expect(stdout).not.toContain('\u001b[')
    expect(stdout.split('\n').length).toBeGreaterThan(10)
  })
})

test('without a sandbox that is said before anything that only a sandbox can make good', async () => {
  const env = { SVC_HOME: temporaryDirectory() }
  const given = [
    'explain',
    'api decisions.get',
    'api browser.activate',
    'sandbox projects show',
    'sandbox keys list',
    'open frame',
  ]
  for (const line of [
    ...given,
    'requests show',
    'beacons send --event render',
    'team namespaces delete x',
    'sandbox callbacks resend',
  ])
    expect(await svc(line, { env, isTerminal: true, system: { stdin_is_terminal: true } }), line).toMatchObject({
      code: 7,
      stdout: '',
      stderr: expect.stringContaining('No sandbox is running.'),
    })
})

test('a file that cannot be read is reported in words', async () => {
  for (const line of ['beacons lint nowhere', 'evidence verify nowhere', 'evidence tamper nowhere copy'])
    expect((await cli.svc(line)).stderr).toBe(`error: ${cli.home}/nowhere cannot be read: no such file.\n`)
  expect((await cli.svc('api jobs.create --data @.')).stderr).toContain('cannot be read: it is a folder.')
})

test.each([54, 60, 79])('svc --help fits a terminal of %i columns, with all of its words', async (columns) => {
  const stdout = { ...keptStream(true), columns }
  await svc('--help', { isTerminal: true, system: { stdout } })
  const wide = await svc('--help', { isTerminal: true })
  const words = (text: string) => text.split(/\s+/).filter((word) => word !== '')
  expect(words(stdout.text)).toEqual(words(wide.stdout))
  const [, ...lines] = stripVTControlCharacters(stdout.text).split('\n')
  expect(lines.filter((line) => line.length > columns)).toEqual([])
})
