/** `svc agent setup` in real folders: what it writes, what it leaves alone, and that nothing of it stays. */

import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { type CommandNode, commandTree } from '#cli/run/help.ts'
import { commands } from '#src/program.ts'
import { version } from '#text/version.ts'
import { type Result, type RunOptions, svc, temporaryDirectory } from './test-cli.ts'

/** Creates a project of files by their paths; a path that ends with a slash is a folder. */
function project(files: Readonly<Record<string, string>>): string {
  const folder = temporaryDirectory()
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path.endsWith('/') ? path : dirname(path)), { recursive: true })
    if (!path.endsWith('/')) writeFileSync(join(folder, path), text)
  }
  return folder
}

/** Every file, link and folder of a project, with the texts. */
function tree(folder: string): Record<string, string> {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted()
  return Object.fromEntries(
    paths.map((path) => {
      const stats = lstatSync(join(folder, path))
      if (stats.isSymbolicLink()) return [path, readlinkSync(join(folder, path))]
      return [path, stats.isDirectory() ? '/' : readFileSync(join(folder, path), 'utf8')]
    }),
  )
}

function setup(cwd: string, args = '', more: RunOptions = {}): Promise<Result> {
  // Its PATH has svc, unless the test gives another.
  const env = { SVC_HOME: temporaryDirectory(), PATH: project({ svc: '' }) }
  return svc(`agent setup ${args}`, { cwd, ...more, env: { ...env, ...more.env } })
}

const skill = '.agents/skills/svc-placements/SKILL.md'
const record = '.agents/skills/svc-placements/installed.json'

const full = {
  'AGENTS.md': '# Ours\n',
  '.mcp.json': '{\n  "mcpServers": {\n    "db": { "command": "db-mcp" }\n  }\n}\n',
  '.claude/settings.json': '{}',
  '.cursor/rules/ours.md': 'ours',
  '.vscode/mcp.json':
    '{\n\t// of the team\n\t"servers": {\n\t\t"db": { "type": "stdio", "command": "db-mcp" }, // the database\n\t},\n\t"inputs": []\n}\n',
  '.gemini/settings.json': '{"theme":"dark"}',
  'opencode.jsonc': '{\n  "model": "x" // ours\n}\n',
}

test('each agent that is found gets its files; they are named before, merged, and the same after a second run', async () => {
  const folder = project(full)
  const before = tree(folder)
  const { code, stdout, stderr } = await setup(folder)
  expect({ code, stdout, stderr }).toMatchInlineSnapshot(`
    {
      "code": 0,
      "stderr": "create  .agents/skills/svc-placements/SKILL.md        the skill
    create  .claude/skills/svc-placements/SKILL.md        the skill
    update  .mcp.json                                     the MCP server svc
    create  .cursor/mcp.json                              the MCP server svc
    update  .vscode/mcp.json                              the MCP server svc
    update  .gemini/settings.json                         the MCP server svc
    update  opencode.jsonc                                the MCP server svc
    update  AGENTS.md                                     the block between the marks of svc
    create  .agents/skills/svc-placements/installed.json  the record for --remove
    ",
      "stdout": "Set up agents, claude, cursor, vscode, gemini, opencode: 9 files. Restart the agent, and commit the files.
    ",
    }
  `)
  const written = tree(folder)
  expect(written['.mcp.json']).toMatchInlineSnapshot(`
    "{
      "mcpServers": {
        "db": { "command": "db-mcp" },
        "svc": {
          "command": "svc",
          "args": [
            "agent",
            "mcp",
            "--start"
          ]
        }
      }
    }
    "
  `)
  expect(written['.vscode/mcp.json']).toMatchInlineSnapshot(`
    "{
    	// of the team
    	"servers": {
    		"db": { "type": "stdio", "command": "db-mcp" }, // the database
    		"svc": {
    			"type": "stdio",
    			"command": "svc",
    			"args": [
    				"agent",
    				"mcp",
    				"--start"
    			]
    		}
    	},
    	"inputs": []
    }
    "
  `)
  expect(written['.gemini/settings.json']).toMatchInlineSnapshot(
    `"{"theme":"dark", "mcpServers": {"svc":{"command":"svc","args":["agent","mcp","--start"]}}}"`,
  )
  expect(written['opencode.jsonc']).toMatchInlineSnapshot(`
    "{
      "model": "x", // ours
      "mcp": {
        "svc": {
          "type": "local",
          "command": [
            "svc",
            "agent",
            "mcp",
            "--start"
          ]
        }
      }
    }
    "
  `)
  expect(written['.cursor/mcp.json']).toMatchInlineSnapshot(`
    "{
      "mcpServers": {
        "svc": {
          "command": "svc",
          "args": [
            "agent",
            "mcp",
            "--start"
          ]
        }
      }
    }
    "
  `)
  expect(written['.claude/skills/svc-placements/SKILL.md']).toBe(written[skill])
  for (const [path, text] of Object.entries(before)) {
    if (path !== 'AGENTS.md' && !/mcp\.json|settings\.json|opencode/.test(path))
      expect([path, written[path]]).toEqual([path, text])
  }

  const again = await setup(folder)
  expect(again.stdout).toBe('Nothing to change for agents, claude, cursor, vscode, gemini, opencode.\n')
  expect(tree(folder)).toEqual(written)

  const removed = await setup(folder, '--remove')
  expect(removed.stdout).toBe('Took away 9 files and entries.\n')
  expect(tree(folder)).toEqual(before)
  expect((await setup(folder, '--remove')).stdout).toBe('Nothing to take away: svc agent setup wrote nothing here.\n')
})

const program = ['/opt/node', '/opt/svc-sandbox/bin/svc.js']
const npm = { npm_execpath: '/usr/lib/npm.js' }

test.each<[string, Record<string, string>, Record<string, string>, command: string[], note: string]>([
  ['the package, called by npx', { 'node_modules/svc-sandbox/package.json': '{}' }, npm, ['npx', 'svc'], ''],
  ['the package, called by its path', { 'node_modules/svc-sandbox/bin': '' }, {}, ['npx', '--no', 'svc-sandbox'], ''],
  ['no package, svc on the PATH', { 'go.mod': '' }, {}, ['svc'], ''],
  ['no package, called by npx', { 'pyproject.toml': '' }, npm, ['svc'], ''],
  ['neither', { 'go.mod': '' }, { PATH: '/nowhere' }, program, 'Install it, then run this again.'],
  [
    'only a PATH of npx',
    { 'go.mod': '' },
    { ...npm, PATH: '/c/node_modules/.bin' },
    program,
    '/opt/svc-sandbox/bin/svc.js, ',
  ],
])('a project with %s gets a command that exists there', async (_what, files, env, command, note) => {
  const folder = project({ 'AGENTS.md': '', ...files })
  const { stderr } = await setup(folder, '', { env, system: { program } })
  const { mcpServers } = JSON.parse(readFileSync(join(folder, '.mcp.json'), 'utf8'))
  expect(mcpServers.svc).toEqual({ command: command[0], args: [...command.slice(1), 'agent', 'mcp', '--start'] })
  expect(readFileSync(join(folder, skill), 'utf8')).toContain(`${command.join(' ')} `)
  expect(stderr.includes('on this computer alone')).toBe(note !== '')
  expect(stderr).toContain(note)
})

test('on Windows the PATH has svc as a command file, too', async () => {
  const folder = project({ 'AGENTS.md': '' })
  const env = { PATH: project({ 'svc.cmd': '' }) }
  await setup(folder, '', { env, system: { program, platform: 'win32' } })
  expect(readFileSync(join(folder, '.mcp.json'), 'utf8')).toContain('"command": "svc"')
})

test('a dry run names the same files and writes nothing', async () => {
  const folder = project(full)
  const before = tree(folder)
  const { stdout } = await setup(folder, '--dry-run -o json')
  expect(tree(folder)).toEqual(before)
  const { stdout: real } = await setup(folder, '-o json')
  expect({ ...JSON.parse(real), dry_run: true }).toEqual(JSON.parse(stdout))
  expect(JSON.parse(stdout)).toMatchObject({ dry_run: true, changed: 9, agents: expect.arrayContaining(['cursor']) })
})

test('without a sign of an agent it asks for one, by name', async () => {
  const folder = project({ '.vscode/settings.json': '{}' })
  const { code, stderr } = await setup(folder)
  expect(code).toBe(2)
  expect(stderr).toContain('No coding agent was found by its files')
  expect(stderr).toContain('svc agent setup --agent agents')
  expect((await setup(folder, '--agent curser')).stderr).toContain('Did you mean cursor?')
  expect((await setup(folder, '--agent vscode --agent agents')).code).toBe(0)
  expect(Object.keys(tree(folder))).toEqual(expect.arrayContaining(['.vscode/mcp.json', '.mcp.json', skill, record]))
  await setup(folder, '--remove')
  expect(tree(folder)).toEqual({ '.vscode': '/', '.vscode/settings.json': '{}' })
})

test('what was changed since is left alone, with a sentence, by an update and by --remove', async () => {
  const folder = project({ 'AGENTS.md': '', '.cursor/': '' })
  await setup(folder)
  writeFileSync(join(folder, skill), 'mine now\n')
  const own = { mcpServers: { svc: { command: 'my-svc', args: ['mcp'] }, other: {} } }
  writeFileSync(join(folder, '.cursor/mcp.json'), JSON.stringify(own))
  const again = await setup(folder)
  expect(again.stderr).toMatch(/^leave +\.agents\/skills\/svc-placements\/SKILL\.md +the skill: it was changed since/m)
  expect(again.stderr).toMatch(/^leave +\.cursor\/mcp\.json +the MCP server svc: its svc has another command\./m)
  const { stderr } = await setup(folder, '--remove')
  expect(stderr.match(/^leave /gm)).toHaveLength(2)
  expect(tree(folder)).toMatchObject({ [skill]: 'mine now\n', '.cursor/mcp.json': JSON.stringify(own) })
  expect(existsSync(join(folder, '.mcp.json'))).toBe(false)
  expect(existsSync(join(folder, record))).toBe(false)
})

test('files of an older version are updated, and svc doctor says that they are older', async () => {
  const folder = project({ 'AGENTS.md': '' })
  await setup(folder)
  const kept = JSON.parse(readFileSync(join(folder, record), 'utf8'))
  expect(kept.version).toBe(version)
  const doctor = async () => {
    const { stdout } = await svc('doctor -o json', { cwd: folder, env: { SVC_HOME: temporaryDirectory() } })
    const { findings } = JSON.parse(stdout) as { findings: { check: string; level: string; fix: string | null }[] }
    return findings.find(({ check }) => check === 'agent files')
  }
  expect(await doctor()).toMatchObject({ level: 'ok' })
  const [major = 0] = version.split('.').map(Number)
  writeFileSync(join(folder, record), JSON.stringify({ ...kept, version: `${major + 1}.0.0` }))
  expect(await doctor()).toMatchObject({ level: 'warning', fix: 'Update svc to that version.' })
  await setup(folder)
  expect(await doctor()).toMatchObject({ level: 'ok' })
  writeFileSync(join(folder, record), '{')
  expect(await doctor()).toMatchObject({ level: 'warning', fix: expect.stringContaining('Restore it') })
})

test.each([
  ['a file', '.mcp.json'],
  ['a folder', '.agents'],
  ['a folder above', '.cursor'],
])('%s that is a symbolic link out of the project is refused, and nothing is written', async (_what, link) => {
  const outside = project({ 'mcp.json': '{}', '.mcp.json': '{}' })
  const folder = project({ 'AGENTS.md': '' })
  symlinkSync(link === '.mcp.json' ? join(outside, '.mcp.json') : outside, join(folder, link))
  const [before, away] = [tree(folder), tree(outside)]
  const { code, stderr } = await setup(folder)
  expect(code).toBe(2)
  expect(stderr).toMatch(/leads out of this project, or nowhere, by a symbolic link/)
  expect(tree(folder)).toEqual(before)
  expect(tree(outside)).toEqual(away)
})

test('a symbolic link within the project is followed, and stays one', async () => {
  const folder = project({ 'AGENTS.md': '', 'config/mcp.json': '{}' })
  symlinkSync('config/mcp.json', join(folder, '.mcp.json'))
  expect((await setup(folder)).code).toBe(0)
  expect(lstatSync(join(folder, '.mcp.json')).isSymbolicLink()).toBe(true)
  expect(readFileSync(join(folder, 'config/mcp.json'), 'utf8')).toContain('"svc"')
})

test('a broken file stops it before anything is written; a foreign record names nothing outside', async () => {
  const folder = project({ 'AGENTS.md': '', '.mcp.json': '{ "mcpServers": { "a": 1 "b": 2 } }' })
  const { code, stderr } = await setup(folder)
  expect(code).toBe(2)
  expect(stderr).toContain('.mcp.json cannot be changed: it is not JSON. Line 1, column 26: A comma is missing here.')
  expect(Object.keys(tree(folder))).toEqual(['.mcp.json', 'AGENTS.md'])
  const hostile = { version: '1.0.0', agents: [], files: { '../../.bashrc': 'x' }, entries: {}, folders: [] }
  const other = project({ [record]: JSON.stringify(hostile) })
  expect((await setup(other, '--remove')).stderr).toContain('is not a record of svc agent setup')
})

test('in the home directory it writes nothing: those files are of all projects', async () => {
  const home = project({ '.claude/': '' })
  const { code, stderr } = await svc('agent setup', { cwd: home, system: { home } })
  expect([code, stderr]).toEqual([2, expect.stringContaining('your home directory')])
})

test('the skill has a name and a description by the form of skills, and each command in it exists', async () => {
  const folder = project({ 'AGENTS.md': '' })
  await setup(folder)
  const text = readFileSync(join(folder, skill), 'utf8')
  const [, name, description = ''] = /^---\nname: (\S+)\ndescription: (.+)\n/.exec(text) ?? []
  expect(name).toBe('svc-placements')
  expect(description.length).toBeLessThanOrEqual(1024)
  expect(text).not.toContain('{{')
  const nodes = await commandTree(commands)
  const used = [...text.matchAll(/\bsvc ((?:[a-z]+ )*[a-z]+(?:\.[a-z]+)?)([^`|")]*)/g)].filter(
    ([line]) => !/^svc (?:is|says)/.test(line),
  )
  expect(used.length).toBeGreaterThan(20)
  for (const [line, words = '', rest = ''] of used) {
    const found = findCommand(nodes, words.split(' '))
    expect([line, found?.name]).toEqual([line, expect.any(String)])
    const flags = (`${words}${rest}`.split(' -- ')[0] ?? '').match(/(?<= )--[a-z-]+/g) ?? []
    const known = found?.options?.map(({ flags: own }) => own).join(' ') ?? ''
    expect([line, flags.filter((flag) => !known.includes(flag))]).toEqual([line, []])
  }
})

/** Returns the command that words begin with. */
function findCommand(nodes: readonly CommandNode[], [word, ...rest]: readonly string[]): CommandNode | undefined {
  const found = nodes.find(({ name }) => name === word)
  return found?.commands === undefined ? found : findCommand(found.commands, rest)
}

test('files of instructions get a block between two marks: what is around it stays, a damaged one is left alone', async () => {
  const block = readFileSync(join(import.meta.dirname, '../../fixtures/agent-skill/block.md'), 'utf8')
  expect(Buffer.byteLength(block)).toBeLessThan(2_000)
  const folder = project({ 'AGENTS.md': '# Ours\n\nBe kind.\n', 'CLAUDE.md': '@AGENTS.md\n' })
  const before = tree(folder)
  expect((await setup(folder)).stderr).toContain('update  AGENTS.md')
  const read = (path: string) => readFileSync(join(folder, path), 'utf8')
  expect(read('AGENTS.md')).toMatch(
    /^# Ours\n\nBe kind\.\n\n<!-- svc: begin, .*-->\n## Sponsored[\s\S]+\n<!-- svc: end -->\n$/,
  )
  expect(read('CLAUDE.md')).toMatch(/^@AGENTS\.md\n\n<!-- svc: begin/)
  expect(read('AGENTS.md')).not.toContain('{{')

  // Around it, others write.
  writeFileSync(join(folder, 'AGENTS.md'), `${read('AGENTS.md')}\n## After\n`)
  expect((await setup(folder)).stderr).toContain('keep    AGENTS.md')
  writeFileSync(join(folder, 'CLAUDE.md'), read('CLAUDE.md').replace('<!-- svc: end -->\n', ''))
  expect((await setup(folder)).stderr).toContain('leave   CLAUDE.md')
  const damaged = read('CLAUDE.md')
  const removed = await setup(folder, '--remove')
  expect(removed.stderr).toContain('its marks are damaged. It stays as it is.')
  expect(tree(folder)).toEqual({ ...before, 'AGENTS.md': '# Ours\n\nBe kind.\n\n## After\n', 'CLAUDE.md': damaged })
})

test('a block that was changed is left alone, and a link from one file to the other gets one block', async () => {
  const folder = project({ 'AGENTS.md': '# Ours\n' })
  symlinkSync('AGENTS.md', join(folder, 'CLAUDE.md'))
  await setup(folder)
  const file = join(folder, 'AGENTS.md')
  const text = readFileSync(file, 'utf8')
  expect(text.match(/svc: begin/g)).toHaveLength(1)
  writeFileSync(file, text.replace('## Sponsored placements', '## Ads'))
  expect((await setup(folder)).stderr).toContain('it was changed since svc wrote it')
  expect((await setup(folder, '--remove')).stderr).toContain('it was changed since svc wrote it')
  expect(readFileSync(file, 'utf8')).toContain('## Ads')
})
