/** The documentation for language models, as a sandbox serves it: its form, and its pages. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Sandbox, startSandbox } from '#sandbox/index.ts'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox?.[Symbol.asyncDispose]())

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
    expect.arrayContaining(['Start', 'In a backend', 'In a page', 'In your tests', 'Ad operations', 'Reference']),
  )
  for (const section of sections) {
    for (const line of section.trim().split('\n').slice(2)) expect(line).toMatch(/^- \[[^\]]+\]\(http[^)]+\): \S.+$/)
  }
  const index = JSON.parse((await read('/_sandbox/docs/index.json')).text) as { topic: string }[]
  const pages = index.map(({ topic }) => topic).filter((topic) => topic !== 'index' && !topic.includes('/'))
  const listed = listLinks(sections.join('')).map((href) => href.replace(/^.*\/_sandbox\/docs\/|\.md$/g, ''))
  expect(listed).toEqual(pages)
  expect(text.length).toBeLessThan(12_000)
})

test('every page that it names is text of a few kB', async () => {
  const hrefs = listLinks((await read('/llms.txt')).text).filter((href) => href.endsWith('.md'))
  expect(hrefs.length).toBeGreaterThan(40)
  for (const href of hrefs) {
    expect(href.startsWith(sandbox.url)).toBe(true)
    const { text } = await read(href.slice(sandbox.url.length))
    expect([href, text.length < 60_000, /^# \S/.test(text)]).toEqual([href, true, true])
  }
})

test('a page as text is as a terminal has it; one that is missing is a 404', async () => {
  const { text, type } = await read('/_sandbox/docs/errors/key_class.md')
  expect(type).toBe('text/markdown; charset=utf-8')
  expect(text).toMatch(/^# key_class\n/)
  expect((await fetch(`${sandbox.url}/_sandbox/docs/nothing.md`)).status).toBe(404)
})
