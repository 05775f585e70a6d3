/** `svc completion`: the script of bash runs in bash; those of the other shells, which are on few machines, are read. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { type CompletionSlot, listCompletionSlots } from '#cli/completion/slots.ts'
import { commandTree } from '#cli/run/help.ts'
import { outputFormats } from '#cli/settings/table.ts'
import { formats, jobTypes, nativeTemplates } from '#contract/fields.ts'
import { commands } from '#src/program.ts'
import { root } from './process.ts'
import { startTestCli, svc, temporaryDirectory } from './test-cli.ts'

const home = temporaryDirectory()
const scriptOf = async (shell: string) => {
  const { code, stdout, stderr } = await svc(`completion ${shell}`, { env: { SVC_HOME: home } })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}

let places: CompletionSlot[]
beforeAll(async () => {
  places = listCompletionSlots(await commandTree(commands))
})

describe('bash', () => {
  const file = join(home, 'svc.bash')
  beforeAll(async () => writeFileSync(file, await scriptOf('bash')))

  /** Returns what bash suggests at the end of a line, which is split into words as bash does. */
  function complete(...words: string[]): string[] {
    const script = `
      source "$1"; shift
      COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
      _svc
      printf '%s\\n' "\${COMPREPLY[@]}"`
    const offered = execFileSync('bash', ['--norc', '-c', script, 'bash', file, 'svc', ...words], { encoding: 'utf8' })
    return offered.split('\n').filter((line) => line !== '')
  }

  /** The same, with a `svc` that the script can call. */
  function ask(state: string, ...words: string[]): string[] {
    const script = `
      svc() { "$NODE" "$BIN" "$@"; }
      source "$1"; shift
      COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
      _svc
      printf '%s\\n' "\${COMPREPLY[@]}"`
    const env = { PATH: process.env.PATH, NODE: process.execPath, BIN: join(root, 'bin/svc.js'), SVC_HOME: state }
    const given = ['--norc', '-c', script, 'bash', file, 'svc', ...words]
    const offered = execFileSync('bash', given, { encoding: 'utf8', env, cwd: state })
    return offered.split('\n').filter((line) => line !== '')
  }

  test('commands, by their first letters', () => {
    expect(complete('')).toEqual([...commands.map(({ name }) => name), 'help'])
    expect(complete('pla')).toEqual(['placements'])
    expect(complete('help', 'exit')).toEqual(['exit-codes'])
  })

  test('verbs, and verbs of nouns within nouns', () => {
    for (const { path, words } of places) {
      if (path !== '' && words.length > 0)
        expect(complete(...path.split(' '), ''), path).toEqual(words.map(({ name }) => name))
    }
    expect(complete('placements', 'cr')).toEqual(['create'])
  })

  test('flags of the command, and those of every command', () => {
    expect(complete('placements', 'create', '--native')).toEqual(['--native-template'])
    expect(complete('placements', 'list', '--base')).toEqual(['--base-url'])
    expect(complete('--vers')).toEqual(['--version'])
  })

  test('values from the contract', () => {
    expect(complete('placements', 'create', '--format', '')).toEqual([...formats])
    expect(complete('placements', 'create', '--native-template', '')).toEqual([...nativeTemplates])
    expect(complete('jobs', 'create', '--job-type', '')).toEqual([...jobTypes])
    expect(complete('placements', 'create', '--expect', '')).toEqual(['fill', 'no_fill', 'pending'])
    expect(complete('beacons', 'list', '--verdict', 'rej')).toEqual(['rejected'])
    expect(complete('placements', 'list', '-o', '')).toEqual([...outputFormats])
  })

  test('values after an equals sign', () => {
    expect(complete('placements', 'create', '--format', '=', 'cl')).toEqual(['clip'])
    expect(complete('placements', 'create', '--format', '=')).toEqual([...formats])
  })

  test('values of arguments, and formats that only one command has', () => {
    expect(complete('completion', '')).toEqual(['bash', 'zsh', 'fish', 'powershell'])
    expect(complete('config', 'get', 'base')).toEqual(['base_url'])
    expect(complete('env', '-o', 'd')).toEqual(['dotenv'])
    expect(complete('placements', 'list', '-o', 'd')).toEqual([])
  })

  test('the value of a flag is not taken for a command', () => {
    expect(complete('placements', '--profile', 'list', 'cre')).toEqual(['create'])
    expect(complete('placements', 'create', '--topic', '')).toEqual([])
  })

  test('names that only this machine knows', () => {
    const state = temporaryDirectory()
    writeFileSync(join(state, 'profiles.json'), '{"profiles":{"staging":{},"local":{}}}')
    expect(ask(state, 'config', 'use', '')).toEqual(['staging', 'local'])
    expect(ask(state, 'placements', 'list', '--profile', 'st')).toEqual(['staging'])
    expect(ask(state, 'sandbox', 'scenario', 'use', 'banner')).toEqual(['banner_ok'])
    expect(ask(state, 'start', '--scenario', '=', 'clip')).toEqual(['clip_ok'])
    expect(ask(state, 'config', 'use', '--lo')).toEqual([])
    expect(ask(state, 'sandbox', 'snapshot', 'restore', '')).toEqual([])
  })

  test('every flag of every command, with its values', () => {
    const script = `
      source "$1"
      while IFS=';' read -r path flag; do
        if _svc_value "$path" "$flag"; then printf '%s;%s;%s;%s\\n' "$path" "$flag" "$values" "$ask"; fi
      done`
    const uses = places.flatMap(({ path, flags }) =>
      flags.flatMap((flag) =>
        [flag.short, flag.long].filter((name) => name !== null).map((name) => ({ path, name, flag })),
      ),
    )
    const input = uses.map(({ path, name }) => `${path};${name}\n`).join('')
    const printed = execFileSync('bash', ['--norc', '-c', script, 'bash', file], { encoding: 'utf8', input })
    const expected = uses
      .filter(({ flag }) => flag.takes !== 'nothing')
      .map(({ path, name, flag: { values, names } }) =>
        [path, name, values.join(' '), names === null ? '' : `svc completion --names ${names}`].join(';'),
      )
    expect(printed.trimEnd().split('\n')).toEqual(expected)
  })

  test('files only where one is taken, and flags where nothing else may follow', () => {
    const script = `
      source "$1"; shift
      compopt() { echo "$@"; }
      COMP_WORDS=(svc "$@"); COMP_CWORD=$#
      _svc 2>/dev/null
      true`
    const forbidden = (...words: string[]) =>
      execFileSync('bash', ['--norc', '-c', script, 'bash', file, ...words], { encoding: 'utf8' }) !== ''
    const files = [
      ['sandbox', 'import', ''],
      ['beacons', 'lint', ''],
      ['evidence', 'verify', ''],
      ['qa', 'validate', ''],
      ['start', '--tls-cert', ''],
      ['qa', 'run', '--reporter', ''],
      ['exec', '--', 'cat', ''],
    ]
    for (const words of files) expect(forbidden(...words), words.join(' ')).toBe(false)
    const others = [
      ['placements', 'create', ''],
      ['placements', 'explain', ''],
      ['placements', 'create', '--topic', ''],
      ['placements', 'create', '--profile', ''],
      ['sandbox', 'clock', 'advance', ''],
    ]
    for (const words of others) expect(forbidden(...words), words.join(' ')).toBe(true)
    expect(complete('placements', 'create', '')).toEqual(expect.arrayContaining(['--format', '--base-url']))
  })

  test('programs after --', () => {
    expect(complete('exec', '--', 'bas')).toContain('bash')
    expect(complete('exec', '--', 'npm', '')).toEqual([])
  })
})

describe.each(['bash', 'zsh', 'fish', 'powershell'])('the script of %s', (shell) => {
  test('has every command, every flag and every value', async () => {
    const script = await scriptOf(shell)
    for (const { path, words, flags } of places) {
      expect(script).toContain(`'${path}'`)
      for (const { name } of words) expect(script).toMatch(new RegExp(`\\b${name}\\b`))
      for (const { long, values } of flags) {
        expect(script).toContain(shell === 'fish' ? `-l ${long.slice(2)}` : long)
        if (values.length > 0) {
          const listed = shell === 'powershell' ? `@('${values.join("', '")}')` : `'${values.join(' ')}'`
          expect(script).toContain(listed)
        }
      }
    }
  })

  test('has what all commands share once: a shell reads the script at each start', async () => {
    const script = await scriptOf(shell)
    expect([...script.matchAll(/(?:--|-l )allow-http\b/g)]).toHaveLength(1)
    expect(script.length).toBeLessThan(shell === 'fish' ? 100_000 : 50_000)
  })
})

test('the keys of a table of PowerShell differ in more than their case', async () => {
  const tables = (await scriptOf('powershell')).split(/^ {4}\$\w+ = @\{$/m).slice(1)
  const keysOf = (table: string) => [...table.matchAll(/^ {8}'([^']*)' = /gm)].map(([, key = '']) => key.toLowerCase())
  for (const keys of tables.map(keysOf)) {
    expect(keys.length).toBeGreaterThan(1)
    expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([])
  }
})

test('the script of fish knows which flags take a value, and completes the program after --', async () => {
  const lines = (await scriptOf('fish')).split('\n')
  const valued = lines.find((line) => line.startsWith('set -g __svc_valued '))!.split(' ')
  for (const flag of ['--profile', '-o', '--output', '--topic']) expect(valued).toContain(flag)
  for (const flag of ['--json', '-q', '--help', '--detach']) expect(valued).not.toContain(flag)
  expect(lines).toContain("complete -c svc -n 'contains -- -- (commandline -opc)' -x -a '(__svc_program)'")
})

test('the script of zsh loads compinit itself, and only where nothing has', async () => {
  const script = await scriptOf('zsh')
  expect(script).toMatch(/^#compdef svc svc-sandbox\n/)
  expect(script.slice(script.lastIndexOf('\nif '))).toBe(`
if [[ \${funcstack[1]} == _svc ]]; then
  _svc "$@"
else
  if (( ! $+functions[compdef] )); then
    autoload -Uz compinit
    compinit -i
  fi
  compdef _svc svc svc-sandbox
fi
`)
})

test('both names of the command complete', async () => {
  const file = join(home, 'both.bash')
  writeFileSync(file, await scriptOf('bash'))
  const registered = execFileSync('bash', ['--norc', '-c', 'source "$1"; complete -p svc svc-sandbox', 'bash', file])
  expect(`${registered}`).toBe('complete -o default -F _svc svc\ncomplete -o default -F _svc svc-sandbox\n')
  expect((await scriptOf('fish')).split('\n')).toContain('complete -c svc-sandbox -w svc')
  expect(await scriptOf('powershell')).toContain('-CommandName svc, svc-sandbox -ScriptBlock')
})

describe('the script of fish', () => {
  /** Returns the lines that apply where one of these commands has been typed. */
  const linesAt = async (path: string) =>
    (await scriptOf('fish')).split('\n').filter((line) => line.includes('__svc_at ') && line.includes(`'${path}'`))

  test('offers no files unless a line says so', async () => {
    expect((await scriptOf('fish')).split('\n')).toContain('complete -c svc -f')
  })

  test('offers files where an argument or a flag is one', async () => {
    expect(await linesAt('beacons lint')).toContainEqual(expect.stringMatching(/" -F$/))
    expect(await linesAt('start')).toContainEqual(expect.stringMatching(/" -l tls-cert .* -r -F$/))
    expect(await linesAt('qa run')).toContainEqual(
      expect.stringMatching(/" -l reporter .* -r -F -a '[^']*junit=qa\.xml[^']*'$/),
    )
  })

  test('offers none after another flag, or where nothing follows', async () => {
    expect(await linesAt('placements create')).toContainEqual(expect.stringMatching(/" -l topic .* -x$/))
    for (const path of ['placements create', 'sandbox clock advance'])
      expect((await linesAt(path)).filter((line) => line.endsWith(' -F'))).toEqual([])
  })
})

test('a script is printed although a config file is invalid', async () => {
  const cwd = temporaryDirectory()
  writeFileSync(join(cwd, 'svc.config.json'), '{')
  expect((await svc('completion bash', { env: { SVC_HOME: home }, cwd })).code).toBe(0)
})

test('names are printed one a line, also those of a running sandbox; without --names the shell is required', async () => {
  await using cli = await startTestCli()
  await cli.svc('sandbox snapshot save before')
  expect(await cli.svc('completion --names snapshots')).toEqual({ code: 0, stdout: 'before\n', stderr: '' })
  const { slot_id } = JSON.parse((await cli.svc('placements create -o json')).stdout) as { slot_id: string }
  expect((await cli.svc('completion --names slots')).stdout).toBe(`${slot_id}\n`)
  expect((await cli.svc('completion --names requests')).stdout).toMatch(/^req_\w+\n$/)
  expect((await cli.svc('completion --names keys')).stdout).toMatch(/^(key_\w+\n){3}$/)
  expect((await cli.svc('completion --names projects')).stdout.split('\n')).toContain('proj_strict')
  expect((await cli.svc('completion --names faults')).stdout).toBe('')
  expect((await cli.svc('completion --names tokens')).stdout).toBe('')
  expect((await cli.svc('completion --names suites')).stdout).toContain('formats\n')
  expect((await cli.svc('completion --names scenarios -o jsonl')).stdout).toContain('"banner_ok"\n')
  expect(await cli.svc('completion')).toMatchObject({ code: 2, stderr: expect.stringContaining('bash, zsh, fish') })
})
