/** `svc docs [TOPIC]` opens the documentation in the browser, or prints it when no sandbox serves it. */

import { Argument, Option } from 'commander'
import { openPage } from '#cli/process/open-url.ts'
import type { Command, CommandContext } from '#cli/run/command.ts'
import { withAddress } from '#foundation/http.ts'
import { readTexts, readTopics, type Topic } from '#mcp/resources.ts'
import { CliError, didYouMean } from '#text/cli-error.ts'
import type { Style } from '#text/terminal.ts'
import { alignPairs } from '#text/text.ts'

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
  async run(context, { args: [given = contents], options }) {
    const { out, settings } = context
    const topics = readTopics()
    if (options.list === true) return list(context, topics)
    const { topic, title } = findTopic(given, topics, context)
    const { sandbox } = settings
    const written = readTexts()[topic]!
    const text = sandbox === null ? written : withAddress(written, sandbox.public_url ?? sandbox.url)
    if (sandbox === null || options.text === true) {
      out.list({ topic, title, text }, [{ topic, title, text }], (style) => styledLines(text, style))
      return 0
    }
    const url = `${sandbox.url}/_sandbox/docs/${topic === contents ? '' : topic}`
    const opened = await openPage(context, url)
    out.data({ topic, title, url, opened }, (style) => [
      url,
      ...(opened || out.quiet ? [] : ['', ...styledLines(text, style)]),
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
