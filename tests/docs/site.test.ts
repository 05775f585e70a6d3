/** The documentation as the sandbox serves it, and as `svc docs` opens and prints it. */
import { expect, test } from 'vitest'
import { readSite } from '#build/docs/site.ts'
import { reasonCodes } from '#contract/errors.ts'
import { startSandbox } from '#sandbox/index.ts'
import { startTestCli, svc, temporaryDirectory } from '#tests/cli/test-cli.ts'

test('every page is served, with the policy of a page that loads nothing from elsewhere', async () => {
  await using sandbox = await startSandbox()
  const pages = await readSite()
  expect(pages.length).toBeGreaterThan(300)
  const hrefs = new Set<string>()
  for (const { topic, title } of pages) {
    const response = await fetch(`${sandbox.url}/_sandbox/docs/${topic === 'index' ? '' : topic}`)
    const html = await response.text()
    expect([topic, response.status, response.headers.get('content-type')]).toEqual([
      topic,
      200,
      'text/html; charset=utf-8',
    ])
    expect(html).toContain(`<title>${title} · svc</title>`)
    expect(html).not.toMatch(/<script(?! src)|<style|<[^>]*\s(?:style|onclick)=|http:\/\/127\.0\.0\.1:4010\b/)
    for (const [, href = ''] of html.matchAll(/<a [^>]*href="(\/_sandbox\/docs\/[^"#]*)/g)) hrefs.add(href)
  }
  const served = new Set(pages.map(({ topic }) => `/_sandbox/docs/${topic === 'index' ? '' : topic}`))
  expect([...hrefs].filter((href) => !served.has(href))).toEqual([])
  const { headers } = await fetch(`${sandbox.url}/_sandbox/docs/errors`)
  expect(headers.get('content-security-policy')).toBe(
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  )
  expect(headers.get('access-control-allow-origin')).toBeNull()
})

test('a page can be read at once: half of them have less than 700 words, none more than 6,000', async () => {
  const words = (await readSite()).map(({ topic, markdown }) => ({ topic, words: markdown.split(/\s+/).length }))
  expect(words.filter(({ words }) => words > 6_000)).toEqual([])
  const sorted = words.map(({ words }) => words).sort((one, other) => one - other)
  expect(sorted[sorted.length >> 1]).toBeLessThan(700)
  // Without the short ones: of codes, endpoints and commands.
  const guides = words.filter(({ topic }) => !topic.includes('/')).map(({ words }) => words)
  expect(guides.sort((one, other) => one - other)[guides.length >> 1]).toBeLessThan(1_000)
})

test('the first use of a word of the glossary leads to it, and no other', async () => {
  await using sandbox = await startSandbox()
  const html = await (await fetch(`${sandbox.url}/_sandbox/docs/placements`)).text()
  const found = [...html.matchAll(/<a class="word" href="\/_sandbox\/docs\/glossary#([\w-]+)">([\w-]+)<\/a>/g)]
  const words = found.map(([, , word]) => word)
  expect(words).toEqual(expect.arrayContaining(['turn', 'slot', 'decision', 'fill', 'no-fill', 'placement']))
  expect(new Set(words).size).toBe(words.length)
  const glossary = await (await fetch(`${sandbox.url}/_sandbox/docs/glossary`)).text()
  for (const [, anchor] of found) expect(glossary).toContain(`id="${anchor}"`)
  expect(glossary).not.toContain('class="word"')
  expect(html).not.toMatch(/<(?:h\d|code|a)[^>]*>[^<]*<a class="word"/)
})

test('the address in the pages is that of this sandbox, with a tag of its own', async () => {
  await using sandbox = await startSandbox()
  const page = await fetch(`${sandbox.url}/_sandbox/docs/errors/key_class`)
  expect(await page.text()).toContain(`${sandbox.url}/_sandbox/docs/errors/key_class`)
  const etag = page.headers.get('etag') ?? ''
  expect(etag).toMatch(new RegExp(`-127\\.0\\.0\\.1:${sandbox.port}"$`))
  const again = await fetch(page.url, { headers: { 'if-none-match': etag } })
  expect(again.status).toBe(304)
})

test('docs_url of every reason code leads to its page, and the earlier address to the list', async () => {
  await using sandbox = await startSandbox()
  const refused = await fetch(`${sandbox.url}/v1/placements`, { method: 'POST' })
  const { docs_url, reason_code } = (await refused.json()) as { docs_url: string; reason_code: string }
  expect(docs_url).toBe(`${sandbox.url}/_sandbox/docs/errors/${reason_code}`)
  const page = await (await fetch(docs_url)).text()
  expect(page).toContain(`<h1>${reason_code}</h1>`)
  const list = await fetch(`${sandbox.url}/_sandbox/errors`)
  expect(list.url).toBe(`${sandbox.url}/_sandbox/docs/errors`)
  const html = await list.text()
  for (const code of Object.keys(reasonCodes)) expect(html).toContain(`<tr id="${code}">`)
})

test.each(['nothing', 'errors/nothing', 'constructor', 'index', '..%2f..%2fpackage', 'errors/..%2f..%2findex.json'])(
  '%s is a page that says there is none',
  async (topic) => {
    await using sandbox = await startSandbox()
    const response = await fetch(`${sandbox.url}/_sandbox/docs/${topic}`)
    expect(response.status).toBe(404)
    expect(await response.text()).toContain('Page not found')
  },
)

test('another host name and another origin are refused, as for any page of the sandbox', async () => {
  await using sandbox = await startSandbox()
  const foreign = await fetch(`${sandbox.url}/_sandbox/docs/`, { headers: { origin: 'http://evil.example' } })
  expect(foreign.status).toBe(403)
})

test('svc docs prints the address of a page of the running sandbox', async () => {
  await using cli = await startTestCli()
  const { url } = cli.sandbox
  const opened = await cli.svc('docs errors')
  expect(opened.stdout.startsWith(`${url}/_sandbox/docs/errors\n\nErrors\n`)).toBe(true)
  expect(opened.stderr).toContain('Not opened, this is not a terminal')
  expect((await cli.svc('docs -q')).stdout).toBe(`${url}/_sandbox/docs/\n`)
  const json = JSON.parse((await cli.svc('docs key_class -o json')).stdout) as object
  expect(json).toEqual({
    topic: 'errors/key_class',
    title: 'key_class',
    url: `${url}/_sandbox/docs/errors/key_class`,
    opened: false,
  })
  const fromError = await cli.svc(`docs ${url}/_sandbox/docs/errors/key_class -q`)
  expect(fromError.stdout).toBe(`${url}/_sandbox/docs/errors/key_class\n`)
  expect((await cli.svc('docs key_class --text')).stdout).toMatch(/^key_class\n\n403 forbidden\. /)
})

test('without a sandbox svc docs prints the page of the package', async () => {
  const env = { SVC_HOME: temporaryDirectory() }
  const { code, stdout } = await svc('docs below_floor', { env })
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^below_floor\n\nNo fill, partner\. /) })
  for (const line of stdout.split('\n')) if (!line.startsWith('    ')) expect(line.length).toBeLessThanOrEqual(80)
  expect((await svc('docs settings', { env })).stderr).toBe('')
  const several = await svc('docs consent_not_granted', { env })
  expect(several.stdout).toMatch(/^consent_not_granted\n\n403 forbidden/)
  expect(several.stderr).toBe('Also: svc docs no-fill/consent_not_granted, svc docs render-js/consent_not_granted\n')
})

test('svc docs --list has every topic, and a topic that is mistyped is suggested', async () => {
  const env = { SVC_HOME: temporaryDirectory() }
  const topics = (await readSite()).map(({ topic }) => topic)
  const { stdout } = await svc('docs --list -o jsonl', { env })
  expect(
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { topic: string }).topic),
  ).toEqual(topics)
  const text = (await svc('docs --list', { env })).stdout
  for (const topic of topics)
    if (topic !== 'index' && !topic.includes('/')) expect(text).toMatch(new RegExp(`^${topic} `, 'm'))
  const refused = await svc('docs key_clas', { env })
  expect(refused).toEqual({
    code: 2,
    stdout: '',
    stderr: 'error: There is no topic "key_clas".\nhint: Did you mean key_class? All topics: svc docs --list\n',
  })
  const names = (await svc('config completion --names topics', { env })).stdout.split('\n')
  expect(names).toEqual(expect.arrayContaining(['qa', 'errors', 'errors/key_class', 'key_class']))
})
