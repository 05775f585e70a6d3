/**
 * Pages of the running sandbox in the browser: `svc docs [TOPIC]` opens the documentation, or prints it when no sandbox
 * serves it; `svc open [ID]` opens the inspector.
 */
import { Argument, Option } from 'commander'
import type { Style } from '#cli/output/terminal.ts'
import { alignPairs } from '#cli/output/text.ts'
import { openPage } from '#cli/process/open-url.ts'
import type { Command, CommandContext } from '#cli/run/command.ts'
import { CliError, didYouMean, noSandboxFor } from '#cli/run/errors.ts'
import { readTexts, readTopics, type Topic } from '#mcp/resources.ts'

const contents = 'index'

export const docs: Command = {
  name: 'docs',
  summary: 'Open the documentation, or print it',
  details:
    'Opens a page that the running sandbox serves; without a browser or a terminal it prints the URL and the page. Without a sandbox it prints the page. TOPIC is a page, a code (key_class, no-fill/below_floor, rules/busy-polling) or the docs_url of an error.',
  arguments: [new Argument('[topic]', 'page or code; default: the contents')],
  options: [
    new Option('--list', 'list the topics').conflicts('text'),
    new Option('--text', 'print the page, even if a sandbox is running'),
  ],
  examples: ['docs --list', 'docs key_class --text'],
  async run(session, { args: [given = contents], options }) {
    const { out, settings } = session
    const topics = readTopics()
    if (options.list === true) return list(session, topics)
    const { topic, title } = findTopic(given, topics, session)
    if (settings.sandbox === null || options.text === true) {
      const text = readTexts()[topic]!
      out.list({ topic, title, text }, [{ topic, title, text }], (style) => styledLines(text, style))
      return 0
    }
    const url = `${settings.sandbox.url}/_sandbox/docs/${topic === contents ? '' : topic}`
    const opened = await openPage(session, url)
    out.data({ topic, title, url, opened }, (style) => [
      url,
      ...(opened || out.quiet ? [] : ['', ...styledLines(readTexts()[topic]!, style)]),
    ])
    return 0
  },
}

/** Lists the pages with their subjects; as text, only the groups of the codes. */
function list({ out }: CommandContext, topics: readonly Topic[]): number {
  const items = topics.map(({ topic, title, summary, section }) => ({ topic, title, summary, section }))
  out.list({ items }, items, (style) => {
    const pages = items.filter(({ topic }) => topic !== contents && !topic.includes('/'))
    const sections = [...Map.groupBy(pages, ({ section }) => section)]
    const lines = sections.flatMap(([section, own]) => [
      style.bold(section),
      ...alignPairs(
        own.map(({ topic, summary }) => [topic, summary.replaceAll('`', '')]),
        style,
      ),
      '',
    ])
    return [...lines, 'A code is a topic too: svc docs key_class. All of them: svc docs --list -o jsonl']
  })
  return 0
}

/** Returns the topic of a page, of a code, of a code without its group, or of an address of the documentation. */
function findTopic(given: string, topics: readonly Topic[], { out }: CommandContext): Topic {
  const wanted = given.replace(/^.*\/_sandbox\/docs\//, '').replace(/\/$/, '') || contents
  const isSame = (name: string) => name.toLowerCase() === wanted.toLowerCase()
  const [found, ...others] = [
    ...topics.filter(({ topic }) => isSame(topic)),
    ...topics.filter(({ topic }) => topic.includes('/') && isSame(topic.split('/')[1]!)),
  ]
  if (found === undefined) {
    const names = topics.flatMap(({ topic }) => [topic, ...topic.split('/').slice(1)])
    const hint = [didYouMean(wanted, names), 'All topics: svc docs --list'].filter((part) => part !== null).join(' ')
    throw new CliError('usage', 'topic_unknown', `There is no topic ${JSON.stringify(given)}.`, hint)
  }
  // A page is preferred over a code with the same name.
  if (found.topic.includes('/') && others.length > 0)
    out.note(`Also: ${others.map(({ topic }) => `svc docs ${topic}`).join(', ')}`)
  return found
}

function styledLines(text: string, style: Style): string[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => (/^#+ /.test(line) ? style.bold(line.replace(/^#+ /, '')) : line))
}

/* svc open */

/** The pages of identifiers with their own form. The inspector looks for all others. */
const folders: readonly (readonly [prefix: string, folder: string])[] = [
  ['slot_', 'placements'],
  ['job_', 'jobs'],
  ['req_', 'requests'],
  ['cns_', 'consent'],
  ['key_', 'keys'],
  ['proj_', 'projects'],
]

export const open: Command = {
  name: 'open',
  summary: 'Open the inspector in the browser',
  details:
    'With ID it opens the page of a slot, job, request, beacon, session, project, consent or key, or of an evidence entry (proj_demo~12). Always prints the URL; without a browser or a terminal it does only that.',
  arguments: [new Argument('[id]', 'an identifier that a command has printed; default: the overview')],
  examples: ['open', 'open slot_00000000003', 'open -o json'],
  async run(session, { args: [id] }) {
    const { out, settings } = session
    if (settings.sandbox === null) throw noSandboxFor(settings)
    const { url: own_url, public_url = own_url, admin_token } = settings.sandbox
    if (id !== undefined) await checkKnown(session, id)
    const token = admin_token === undefined ? '' : `?token=${admin_token}`
    const url = `${public_url}${pathOf(id)}${token}`
    const opened = await openPage(session, url)
    out.data({ url, opened }, () => [url])
    return 0
  },
}

/** Throws CliError for a name that nothing here has: no session, and no beacon of the journal. */
async function checkKnown({ client, signal }: CommandContext, id: string): Promise<void> {
  if (id.includes('~') || folders.some(([prefix]) => id.startsWith(prefix))) return
  const { placements, consent, requests } = client()
  const query = { session_id: id, limit: 1 }
  const found = await Promise.all([
    placements.list({ query }, { signal }).then(({ items }) => items.length),
    consent.list({ query }, { signal }).then(({ items }) => items.length),
    requests.count({ body: { body: { beacon_id: id } } }, { signal }).then(({ count }) => count),
  ])
  if (found.some((count) => count > 0)) return
  const hint = 'Give an identifier that a command has printed, such as slot_...: svc placements list'
  throw new CliError('usage', 'id_unknown', `Nothing here has the identifier ${JSON.stringify(id)}.`, hint)
}

function pathOf(id: string | undefined): string {
  if (id === undefined) return '/_sandbox/'
  const folder = folders.find(([prefix]) => id.startsWith(prefix) && !id.includes('~'))?.[1] ?? 'id'
  return `/_sandbox/${folder}/${encodeURIComponent(id)}`
}
