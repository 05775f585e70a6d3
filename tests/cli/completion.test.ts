/** `svc config completion`: the script of bash runs in bash; those of the other shells, which are on few machines, are read. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { type CompletionSlot, listCompletionSlots } from '#cli/completion/slots.ts'
import { commandTree } from '#cli/run/help.ts'
import { outputFormats } from '#cli/settings/table.ts'
import { formats, jobTypes, nativeTemplates } from '#contract/fields.ts'
import { commands } from '#src/program.ts'
import { startTestCli, svc, temporaryDirectory } from './test-cli.ts'

const home = temporaryDirectory()
const readScript = async (shell: string) => {
  const { code, stdout, stderr } = await svc(`config completion ${shell}`, { env: { SVC_HOME: home } })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}

let places: CompletionSlot[]
beforeAll(async () => {
  places = listCompletionSlots(await commandTree(commands))
})

describe('bash', () => {
  const file = join(home, 'svc.bash')
  beforeAll(async () => writeFileSync(file, await readScript('bash')))

  /** Returns what each of these scripts prints, in one bash that has read the script of svc. */
  function inBash(scripts: readonly string[], prelude = ''): string[] {
    const input = ['source "$1"', prelude, scripts.join("\nprintf '\\x1e'\n")].join('\n')
    return execFileSync('bash', ['--norc', '-s', file], { encoding: 'utf8', input }).split('\u001e')
  }

  /** Completes the last word of a line, which is split into words as bash does. */
  const complete = (line: string) => {
    const words = ['svc', ...line.split(' ')]
    return `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; COMPREPLY=(); _svc`
  }

  /** Returns what bash suggests at the end of each line. */
  function offered(lines: readonly string[], prelude?: string): Record<string, string[]> {
    const scripts = lines.map((line) => `${complete(line)}; printf '%s\\n' "\${COMPREPLY[@]}"`)
    const suggestions = inBash(scripts, prelude).map((text) => text.split('\n').filter((word) => word !== ''))
    return Object.fromEntries(lines.map((line, index) => [line, suggestions[index] ?? []]))
  }

  test('commands, verbs, flags, and values from the contract', () => {
    const verbs = places.filter(({ path, words }) => path !== '' && words.length > 0)
    const expected: Record<string, readonly string[]> = {
      '': [...commands.map(({ name }) => name), 'help'],
      pla: ['placements'],
      'help exit': ['exit-codes'],
      ...Object.fromEntries(verbs.map(({ path, words }) => [`${path} `, words.map(({ name }) => name)])),
      'placements cr': ['create'],
      // Flags of the command, and those of every command.
      'placements create --native': ['--native-template'],
      'placements list --base': ['--base-url'],
      '--vers': ['--version'],
      'placements create --format ': formats,
      'placements create --native-template ': nativeTemplates,
      'api jobs.create --job-type ': jobTypes,
      'placements create --expect ': ['fill', 'no_fill', 'pending'],
      'beacons list --verdict rej': ['rejected'],
      'placements list -o ': outputFormats,
      // Bash takes an equals sign for a word.
      'placements create --format = cl': ['clip'],
      'placements create --format =': formats,
      // Arguments, and formats that only one command has.
      'config completion ': ['bash', 'zsh', 'fish', 'powershell'],
      'config get base': ['base_url'],
      'sandbox env -o d': ['dotenv'],
      'placements list -o d': [],
      // The value of a flag is not taken for a command.
      'placements --profile list cre': ['create'],
      'placements create --topic ': [],
      'exec -- npm ': [],
    }
    expect(offered(Object.keys(expected))).toEqual(expected)
  })

  test('programs after --, and after a command without arguments its flags', () => {
    const lines = offered(['exec -- bas', 'placements create '])
    expect(lines['exec -- bas']).toContain('bash')
    expect(lines['placements create ']).toEqual(expect.arrayContaining(['--format', '--base-url']))
  })

  test('names that only this machine knows', async () => {
    const state = temporaryDirectory()
    writeFileSync(join(state, 'profiles.json'), '{"profiles":{"staging":{},"local":{}}}')
    const named = ['profiles', 'scenarios', 'snapshots'].map(async (kind) => {
      const { stdout } = await svc(`config completion --names ${kind}`, { env: { SVC_HOME: state } })
      return `'config completion --names ${kind}') printf '%s' '${stdout}';;`
    })
    const prelude = `svc() { case "$*" in ${(await Promise.all(named)).join(' ')} esac; }`
    const expected = {
      'config use ': ['staging', 'local'],
      'placements list --profile st': ['staging'],
      'sandbox scenario use banner': ['banner_ok'],
      'start --scenario = clip': ['clip_ok'],
      'config use --lo': [],
      'sandbox snapshot restore ': [],
    }
    expect(offered(Object.keys(expected), prelude)).toEqual(expected)
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
        [path, name, values.join(' '), names === null ? '' : `svc config completion --names ${names}`].join(';'),
      )
    expect(printed.trimEnd().split('\n')).toEqual(expected)
  })

  test('files only where one is taken, and flags where nothing else may follow', () => {
    const files = [
      'sandbox import ',
      'beacons lint ',
      'evidence verify ',
      'qa validate ',
      'start --tls-cert ',
      'qa run --reporter ',
      'exec -- cat ',
    ]
    const others = [
      'placements create ',
      'explain ',
      'placements create --topic ',
      'placements create --profile ',
      'sandbox clock advance ',
    ]
    const scripts = [...files, ...others].map((line) => `${complete(line)} 2>/dev/null`)
    const printed = inBash(scripts, 'compopt() { echo "$@"; }')
    const forbidden = [...files, ...others].filter((_, index) => printed[index] !== '')
    expect(forbidden).toEqual(others)
  })
})

describe.each(['bash', 'zsh', 'fish', 'powershell'])('the script of %s', (shell) => {
  test('has every command, every flag and every value', async () => {
    const script = await readScript(shell)
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
    const script = await readScript(shell)
    expect([...script.matchAll(/(?:--|-l )allow-http\b/g)]).toHaveLength(1)
    expect(script.length).toBeLessThan(shell === 'fish' ? 100_000 : 50_000)
  })
})

test('the keys of a table of PowerShell differ in more than their case', async () => {
  const tables = (await readScript('powershell')).split(/^ {4}\$\w+ = @\{$/m).slice(1)
  const listKeys = (table: string) =>
    [...table.matchAll(/^ {8}'([^']*)' = /gm)].map(([, key = '']) => key.toLowerCase())
  for (const keys of tables.map(listKeys)) {
    expect(keys.length).toBeGreaterThan(1)
    expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([])
  }
})

test('the script of fish knows which flags take a value, and completes the program after --', async () => {
  const lines = (await readScript('fish')).split('\n')
  const valued = lines.find((line) => line.startsWith('set -g __svc_valued '))!.split(' ')
  for (const flag of ['--profile', '-o', '--output', '--topic']) expect(valued).toContain(flag)
  for (const flag of ['--json', '-q', '--help', '--detach']) expect(valued).not.toContain(flag)
  expect(lines).toContain("complete -c svc -n 'contains -- -- (commandline -opc)' -x -a '(__svc_program)'")
})

test('the script of zsh loads compinit itself, and only where nothing has', async () => {
  const script = await readScript('zsh')
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
  writeFileSync(file, await readScript('bash'))
  const registered = execFileSync('bash', ['--norc', '-c', 'source "$1"; complete -p svc svc-sandbox', 'bash', file])
  expect(`${registered}`).toBe('complete -o default -F _svc svc\ncomplete -o default -F _svc svc-sandbox\n')
  expect((await readScript('fish')).split('\n')).toContain('complete -c svc-sandbox -w svc')
  expect(await readScript('powershell')).toContain('-CommandName svc, svc-sandbox -ScriptBlock')
})

describe('the script of fish', () => {
  /** Returns the lines that apply where one of these commands has been typed. */
  const linesAt = async (path: string) =>
    (await readScript('fish')).split('\n').filter((line) => line.includes('__svc_at ') && line.includes(`'${path}'`))

  test('offers no files unless a line says so', async () => {
    expect((await readScript('fish')).split('\n')).toContain('complete -c svc -f')
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
  expect((await svc('config completion bash', { env: { SVC_HOME: home }, cwd })).code).toBe(0)
})

test('names are printed one a line, also those of a running sandbox; without --names the shell is required', async () => {
  await using cli = await startTestCli()
  await cli.svc('sandbox snapshot save before')
  expect(await cli.svc('config completion --names snapshots')).toEqual({ code: 0, stdout: 'before\n', stderr: '' })
  const { slot_id } = JSON.parse((await cli.svc('placements create -o json')).stdout) as { slot_id: string }
  expect((await cli.svc('config completion --names slots')).stdout).toBe(`${slot_id}\n`)
  expect((await cli.svc('config completion --names requests')).stdout).toMatch(/^req_\w+\n$/)
  expect((await cli.svc('config completion --names keys')).stdout).toMatch(/^(key_\w+\n){3}$/)
  expect((await cli.svc('config completion --names projects')).stdout.split('\n')).toContain('proj_strict')
  expect((await cli.svc('config completion --names faults')).stdout).toBe('')
  expect((await cli.svc('config completion --names tokens')).stdout).toBe('')
  expect((await cli.svc('config completion --names suites')).stdout).toContain('formats\n')
  expect((await cli.svc('config completion --names scenarios -o jsonl')).stdout).toContain('"banner_ok"\n')
  expect(await cli.svc('config completion')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('bash, zsh, fish'),
  })
})
