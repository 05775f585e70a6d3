/** The documentation for language models, as a sandbox serves it: its form, and that every link of it works. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { toAnchor } from '#build/docs/pages.ts'
import { type Sandbox, startSandbox } from '#sandbox/index.ts'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.close())

const read = async (path: string) => {
  const response = await fetch(sandbox.url + path)
  expect([path, response.status]).toEqual([path, 200])
  return { text: await response.text(), type: response.headers.get('content-type'), url: response.url }
}

/** Returns the links of a Markdown text, without those in blocks of code. */
function listLinks(text: string): string[] {
  const prose = text.replace(/^```[\s\S]*?^```$/gm, '')
  return [...new Set([...prose.matchAll(/(?<!`)\[[^\][]+\]\(([^)\s]+)\)/g)].map(([, href = '']) => href))]
}

test('llms.txt has the form of llmstxt.org, with a line for each page of the contents', async () => {
  const { text, type, url } = await read('/llms.txt')
  expect([url, type]).toEqual([`${sandbox.url}/_sandbox/docs/llms.txt`, 'text/plain; charset=utf-8'])
  const [head = '', ...sections] = text.split(/^## /m)
  expect(head).toMatch(/^# svc\n\n(?:> .+\n)+\n(?!#)/)
  expect(head).not.toMatch(/^#{2,}/m)
  expect(sections.map((section) => section.split('\n')[0])).toEqual(
    expect.arrayContaining(['Start', 'Guides', 'Reference', 'Optional']),
  )
  for (const section of sections) {
    for (const line of section.trim().split('\n').slice(2)) expect(line).toMatch(/^- \[[^\]]+\]\(http[^)]+\): \S.+$/)
  }
  const index = JSON.parse((await read('/_sandbox/docs/index.json')).text) as { topic: string }[]
  const pages = index.map(({ topic }) => topic).filter((topic) => topic !== 'index' && !topic.includes('/'))
  const listed = listLinks(sections.join('')).map((href) => href.replace(/^.*\/_sandbox\/docs\/|\.md$/g, ''))
  expect(listed).toEqual([...pages, 'llms-full.txt'])
})

test('llms-full.txt has every page that llms.txt names, in its order', async () => {
  const [{ text: contents }, { text }] = [await read('/llms.txt'), await read('/llms-full.txt')]
  const named = listLinks(contents).filter((href) => href.endsWith('.md'))
  expect([...text.matchAll(/^<!-- (\S+) -->$/gm)].map(([, href]) => href)).toEqual(named)
  expect(text.match(/^# /gm)!.length).toBeGreaterThanOrEqual(named.length)
  expect(text).not.toMatch(/\]\((?!http)[^)`\s]*\.md/)
  expect(text).not.toContain('http://127.0.0.1:4010/_sandbox/docs')
})

test('every link of both leads to a page of this sandbox, and to a heading of it', async () => {
  const hrefs = new Set<string>()
  for (const path of ['/llms.txt', '/llms-full.txt']) {
    for (const href of listLinks((await read(path)).text)) if (href.startsWith(sandbox.url)) hrefs.add(href)
  }
  expect(hrefs.size).toBeGreaterThan(60)
  const anchors = new Map<string, Set<string>>()
  for (const href of hrefs) {
    const [path = '', anchor] = href.slice(sandbox.url.length).split('#')
    if (!anchors.has(path)) {
      const { text } = await read(path)
      const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => toAnchor(heading))
      anchors.set(path, new Set(headings))
    }
    if (anchor !== undefined) expect([href, anchors.get(path)!.has(anchor)]).toEqual([href, true])
  }
})

test('a page as text is as a terminal has it; one that is missing is a 404', async () => {
  const { text, type } = await read('/_sandbox/docs/errors/key_class.md')
  expect(type).toBe('text/markdown; charset=utf-8')
  expect(text).toMatch(/^# key_class\n/)
  expect((await fetch(`${sandbox.url}/_sandbox/docs/nothing.md`)).status).toBe(404)
})
