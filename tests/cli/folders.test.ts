/** A sandbox belongs to a folder (contract A105): which folder that is, what is kept for it, and which one a command addresses. */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { System } from '#cli/run/system.ts'
import { findRoot, folderState, keepPort, readKeptPort } from '#cli/settings/sandbox-folder.ts'
import { resolveSettings } from '#cli/settings/settings.ts'
import { runInProcess } from './in-process.ts'
import { connect, mcpHere } from './mcp-agent.ts'
import { spawnSvc } from './process.ts'
import { realProcesses, svc, temporaryDirectory } from './test-cli.ts'

/** Creates a folder with files, and one below it. Returns that one. */
function project(files: readonly string[], below = 'src/deep'): { root: string; inner: string } {
  const root = temporaryDirectory()
  mkdirSync(join(root, below), { recursive: true })
  for (const file of files) writeFileSync(join(root, file), '')
  return { root, inner: join(root, below) }
}

describe('the folder of a working directory', () => {
  test('is the root of its git worktree, also of a linked one, whose .git is a file', () => {
    const { root, inner } = project(['.git'])
    writeFileSync(join(inner, 'package.json'), '')
    expect(findRoot(inner)).toBe(root)
  })

  test.each(['package.json', 'svc.config.json'])('is else the nearest one with a %s', (name) => {
    const { root, inner } = project(['package.json'], 'packages/shop/src')
    const shop = join(root, 'packages/shop')
    writeFileSync(join(shop, name), '')
    expect(findRoot(inner)).toBe(shop)
    expect(findRoot(join(root, 'packages'))).toBe(root)
  })

  test('is else itself, whatever lies beside it', () => {
    const { inner } = project([])
    writeFileSync(join(inner, 'README.md'), '')
    expect(findRoot(inner)).toBe(inner)
  })

  test('is the same through a link, and of a folder that is gone', () => {
    const { root, inner } = project(['package.json'])
    const link = join(temporaryDirectory(), 'link')
    symlinkSync(inner, link)
    expect(findRoot(link)).toBe(root)
    expect(findRoot('/gone/for/good')).toBe('/gone/for/good')
  })

  test('has a part of the state directory of its own, also beside one of the same name', () => {
    const home = temporaryDirectory()
    const [one, two] = [0, 1].map(() => {
      const cwd = join(temporaryDirectory(), 'my shop')
      mkdirSync(cwd)
      return folderState({ cwd, env: { SVC_HOME: home }, home: '', platform: process.platform })
    })
    expect(one!.directory).toMatch(new RegExp(`^${join(home, 'folders')}/my_shop-[0-9a-f]{12}$`))
    expect(one!.directory).not.toBe(two!.directory)
    keepPort(one!, 4012)
    keepPort(one!, 4013, 'review')
    expect([readKeptPort(one!), readKeptPort(one!, 'review'), readKeptPort(two!)]).toEqual([4012, 4013, undefined])
    writeFileSync(join(one!.directory, 'folder.json'), '{"ports":{"sandbox":"4012"}}')
    expect(readKeptPort(one!)).toBeUndefined()
  })
})

/** Sandboxes of several folders, started in this process as if each had one. */
class Stage {
  readonly home = temporaryDirectory()
  readonly running = new Set<number>()
  #pid = 5_000

  system(pid: number): Partial<System> {
    return { pid, isRunning: (each) => this.running.has(each), readProcessStart: async () => null }
  }

  /** Starts a sandbox in a folder; it ends with the test, or before. */
  async start(folder: string, flags = '--port 0') {
    const pid = this.#pid++
    this.running.add(pid)
    const options = { env: { SVC_HOME: this.home }, cwd: folder, system: this.system(pid) }
    const sandbox = await runInProcess(`start -o json ${flags}`, options)
    const end = async () => {
      const ended = await sandbox.end()
      this.running.delete(pid)
      return ended
    }
    onTestFinished(async () => void (await end()))
    const { url, database } = JSON.parse(sandbox.firstLine) as { url: string; database: string }
    return { url, database, end, notes: () => sandbox.printed().stderr }
  }

  svc(args: string, folder: string) {
    return svc(args, { env: { SVC_HOME: this.home }, cwd: folder, system: this.system(1) })
  }

  async count(folder: string): Promise<number> {
    const { code, stdout, stderr } = await this.svc('placements list -o json', folder)
    expect({ code, isOther: stderr.includes('Using the sandbox of') }).toEqual({ code: 0, isOther: false })
    return (JSON.parse(stdout) as { items: unknown[] }).items.length
  }
}

describe('two folders', () => {
  test('have a sandbox each, with its own data: nothing crosses, in any order', async () => {
    const stage = new Stage()
    const [a, b] = [project(['.git']), project(['.git'])]
    const first = await stage.start(a.root)
    const second = await stage.start(b.inner)
    expect(first.database).not.toBe(second.database)
    for (const folder of [a.inner, a.root, b.inner]) {
      expect(await stage.svc('placements create -o none', folder)).toMatchObject({ code: 0, stderr: '' })
    }
    expect([await stage.count(a.root), await stage.count(b.root)]).toEqual([2, 1])
    expect((await stage.svc('sandbox reset -o none', b.root)).code).toBe(0)
    expect([await stage.count(a.inner), await stage.count(b.inner)]).toEqual([2, 0])
    expect((await stage.svc('beacons send --event render -o none', a.root)).stderr).toContain('of the last fill')

    await first.end()
    const { code, stdout, stderr } = await stage.svc('placements list -q -o json', a.root)
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('"items":[]') })
    expect(stderr).toBe(`Using the sandbox of ${b.inner} (${second.url}): this folder has none.\n`)
    await stage.start(a.inner)
    expect([await stage.count(a.root), await stage.count(b.root)]).toEqual([2, 0])
  })

  test('a fourth folder beside three sandboxes gets the list, and starts its own', async () => {
    const stage = new Stage()
    const folders = [0, 1, 2, 3].map(() => project(['package.json']).root)
    const started = []
    for (const folder of folders.slice(0, 3)) started.push(await stage.start(folder, '--port 0 --ephemeral'))
    const fourth = folders[3]!
    for (const command of ['placements create', 'sandbox env', 'open', 'qa run', 'sandbox status']) {
      const { code, stdout, stderr } = await stage.svc(command, fourth)
      expect({ command, code, stdout }).toEqual({ command, code: 2, stdout: '' })
      expect(stderr).toContain('error: 3 sandboxes are running, and nothing says which one is meant: ')
      for (const [index, { url }] of started.entries()) expect(stderr).toContain(`${url} in ${folders[index]}`)
    }
    await stage.start(fourth, '--port 0 --ephemeral')
    expect(await stage.count(fourth)).toBe(0)
    const listed = JSON.parse((await stage.svc('sandbox ps -o json', fourth)).stdout) as {
      folder: string
      used: boolean
    }[]
    expect(listed.map(({ folder, used }) => [folder, used]).toSorted()).toEqual(
      folders.map((folder) => [folder, folder === fourth]).toSorted(),
    )
  })

  test('stop ends that of its folder', async () => {
    const home = temporaryDirectory()
    const folders = [0, 1].map(() => project(['.git']).root)
    const processes = []
    for (const cwd of folders) {
      const started = spawnSvc(['start', '--port', '0', '--ephemeral', '-o', 'json'], { SVC_HOME: home }, cwd)
      onTestFinished(() => void started.child.kill('SIGKILL'))
      await started.firstLine
      processes.push(started)
    }
    const run = (args: string) => svc(args, { env: { SVC_HOME: home }, cwd: folders[0]!, system: realProcesses })
    const { code, stdout } = await run('sandbox stop -o json')
    expect({ code, stopped: JSON.parse(stdout) }).toMatchObject({
      code: 0,
      stopped: [{ pid: processes[0]!.child.pid }],
    })
    expect((await processes[0]!.ended).code).toBe(0)
    expect((await run('sandbox stop')).stderr).toContain(`Using the sandbox of ${folders[1]} `)
    expect((await processes[1]!.ended).code).toBe(0)
  })
})

describe('the port of a folder', () => {
  test('is the next free one while another folder has it, and stays that', async () => {
    const stage = new Stage()
    const [a, b] = [project(['.git']).root, project(['.git']).root]
    const first = await stage.start(a, '--port 0 --ephemeral')
    const port = Number(new URL(first.url).port)
    const state = (cwd: string) =>
      folderState({ cwd, env: { SVC_HOME: stage.home }, home: '', platform: process.platform })
    keepPort(state(b), port)
    const second = await stage.start(b, '--ephemeral')
    const next = Number(new URL(second.url).port)
    expect(next).toBeGreaterThan(port)
    expect(second.notes()).toMatch(
      new RegExp(
        `^Port ${port} is taken by another sandbox, .* in ${a}: using ${next}\\. A page names it too, where it loads render\\.js\\.\n`,
      ),
    )
    await Promise.all([first.end(), second.end()])
    expect(readKeptPort(state(b))).toBe(next)
    expect((await stage.start(b, '--ephemeral')).url).toBe(second.url)
  })
})

test('a second sandbox of a folder has a name, data and a port of its own, and is addressed by its URL', async () => {
  const stage = new Stage()
  const { root } = project(['.git'])
  const own = await stage.start(root)
  const second = await stage.start(root, '--port 0 --name review')
  expect(second.database).toMatch(/\/review\.db$/)
  expect((await stage.svc('placements create -o none', root)).code).toBe(0)
  expect(await stage.count(root)).toBe(1)
  const other = await stage.svc(`placements list -o json --base-url ${second.url}`, root)
  expect(JSON.parse(other.stdout)).toMatchObject({ items: [] })
  expect((await stage.svc('sandbox ps', root)).stdout).toContain('(review)')
  await own.end()
  expect(await stage.count(root)).toBe(0)
})

test('the data of before, when there was one sandbox for everything, are named as long as a folder has none', async () => {
  const stage = new Stage()
  const earlier = join(stage.home, 'sandbox.db')
  writeFileSync(earlier, '')
  const { root } = project(['.git'])
  const first = await stage.start(root)
  expect(first.notes()).toContain(`The data of before: svc start --db ${earlier}\n`)
  await first.end()
  expect((await stage.start(root)).notes()).not.toContain(earlier)
  expect(readFileSync(earlier, 'utf8')).toBe('')
})

describe('an agent', () => {
  test('has the sandbox of its folder: a reset of another does not reach it, nor does its end', async () => {
    const stage = new Stage()
    const env = { SVC_HOME: stage.home }
    const agentIn = (cwd: string, pid: number) => {
      stage.running.add(pid)
      return connect(mcpHere('--start', env, { cwd, system: stage.system(pid) }))
    }
    const [a, b] = [project(['.git']).root, project(['.git']).root]
    const [one, two] = [await agentIn(a, 701), await agentIn(b, 702)]
    for (const agent of [one, two]) await agent.use('create_placement', { session_id: 's1' })
    await two.use('reset_sandbox')
    const count = async (agent: typeof one) =>
      (await agent.use<{ items: unknown[] }>('list_placements', {})).items.length
    expect([await count(one), await count(two)]).toEqual([1, 0])

    // A second one in the same folder shares the first one's, and goes on with its own when that has ended.
    const third = await agentIn(a, 703)
    expect(await count(third)).toBe(1)
    await one.client.close()
    stage.running.delete(701)
    await expect.poll(() => count(third)).toBe(0)
    await third.use('create_placement', { session_id: 's2' })
    expect([await count(third), await count(two)]).toEqual([1, 0])
  })
})

test('between several, the one that has the usual port is not meant either', () => {
  const locator = (port: number, folder: string) => ({
    ...{ url: `http://127.0.0.1:${port}`, inspector_url: '', database: ':memory:', version: '', projects: [], folder },
    ...{ pid: port, started_at_ms: 0 },
  })
  const layers = { flags: {}, environment: {}, config: {}, profile: {}, root: '/third' }
  const two = [locator(4010, '/one'), locator(4011, '/two')]
  const settings = resolveSettings({ ...layers, sandboxes: two })
  expect([settings.sandbox, settings.several.length, settings.source.base_url]).toEqual([null, 2, 'default'])
  expect(resolveSettings({ ...layers, sandboxes: two.slice(0, 1) })).toMatchObject({ is_other_folder: true })
  // Nor is one that is the only one without a name.
  const named = [two[0]!, { ...two[1]!, name: 'review' }]
  expect(resolveSettings({ ...layers, sandboxes: named }).several).toHaveLength(2)
  // Nodes of one shared store are one sandbox, of which the newest answers.
  const nodes = two.map((each) => ({ ...each, database: 'postgres://127.0.0.1/svc', namespace: 'pr-7' }))
  expect(resolveSettings({ ...layers, sandboxes: nodes }).sandbox).toMatchObject({ url: nodes[0]!.url })
  const apart = nodes.map((each, index) => ({ ...each, namespace: `pr-${index}` }))
  expect(resolveSettings({ ...layers, sandboxes: apart }).several).toHaveLength(2)
})
