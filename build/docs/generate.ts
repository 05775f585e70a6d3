/**
 * Writes the generated files that are committed: the tables of endpoints from the contract, docs/commands.md from the commands,
 * the tables of rules in docs/qa-observe.md and of settings in docs/guides/settings.md, those of docs/host-pages.md and docs/renderer.md from
 * the pages of the tests, the first paragraph of every code in docs/codes, the JSON schemas of svc.config.json, of QA suites, of
 * overrides and of game days from their own. With --check it writes nothing, and exits 1 when one is out of date.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { configFileSchema } from '#cli/settings/schemas.ts'
import { startFlags } from '#cli/settings/start-options.ts'
import { settingNames, settingsTable } from '#cli/settings/table.ts'
import { observeFileRules } from '#commands/qa/observe-file.ts'
import { overridesSchema } from '#contract/recordings/overrides.ts'
import { observeFileSchema } from '#diagnosis/observe-file/observe-file.ts'
import { allPageRules, journalRules } from '#diagnosis/rules/index.ts'
import { bidsSchema, partnerRequestSchema } from '#domain/bids.ts'
import type { JsonObject } from '#foundation/json.ts'
import { gamedaySchema } from '#gameday/gameday-file.ts'
import { qaSuiteSchema } from '#qa/suite/schema.ts'
import { demandSchema } from '#sandbox/rules/demand/demand-file.ts'
import { groupNames, writeGroup } from './codes.ts'
import { commandsMarkdown } from './commands.ts'
import { writeHostPages } from './host-pages.ts'
import { formatJson } from './json.ts'
import { referenceFiles } from './reference.ts'
import { writeSights } from './sights.ts'

const renderer = current('renderer.md') ?? ''
const codes = groupNames.map((group) => [
  `codes/${group}.md`,
  writeGroup(group, current(`codes/${group}.md`) ?? '', renderer),
])

const files: Record<string, string> = {
  ...referenceFiles(),
  'commands.md': await commandsMarkdown(),
  ...Object.fromEntries(codes),
  'host-pages.md': writeHostPages(current('host-pages.md') ?? ''),
  'renderer.md': writeSights(renderer),
  'qa-observe.md': withRules(current('qa-observe.md') ?? ''),
  'guides/settings.md': withSettings(current('guides/settings.md') ?? ''),
  '../fixtures/svc.config.schema.json': json(configFileSchema()),
  '../fixtures/svc.gameday.schema.json': json(gamedaySchema()),
  '../fixtures/svc.qa.schema.json': json(qaSuiteSchema()),
  '../fixtures/svc.bids.schema.json': json(bidsSchema()),
  '../fixtures/svc.demand.schema.json': json(demandSchema()),
  '../fixtures/svc.partner-request.schema.json': json(partnerRequestSchema()),
  '../fixtures/svc.observe.schema.json': json(observeFileSchema(await observeFileRules())),
  '../fixtures/svc.overrides.schema.json': json(overridesSchema()),
}

function json(schema: object): string {
  return `${formatJson(schema as JsonObject)}\n`
}

const stale = Object.entries(files).filter(([name, text]) => current(name) !== text)

if (process.argv.includes('--check')) {
  for (const [name] of stale) console.error(`docs/${name} is out of date. Write it again: npm run docs`)
  process.exitCode = stale.length === 0 ? 0 : 1
} else {
  for (const [name, text] of stale) writeFileSync(location(name), text)
  console.log(stale.length === 0 ? 'docs are up to date' : `wrote ${stale.map(([name]) => `docs/${name}`).join(', ')}`)
}

/** Replaces the rows of the two tables of rules, which are under headings of their own. */
function withRules(text: string): string {
  const tables = { 'Rules about requests': journalRules, 'Rules about the page': allPageRules }
  return Object.entries(tables).reduce((written, [heading, rules]) => {
    const rows = Object.values(rules).map(
      ({ id, severity, title, costs, fix }) => `| \`${id}\` | ${severity} | ${title} | ${costs} ${fix} |\n`,
    )
    return withRows(written, heading, rows)
  }, text)
}

/** Replaces the rows of the tables of settings and of the options of `svc start`. */
function withSettings(text: string): string {
  const settings = settingNames.map((name) => {
    const { flag, env, isFileSetting, description } = settingsTable[name]
    return row([isFileSetting ? `\`${name}\`` : '', flag === null ? '' : `\`${flag}\``, `\`${env}\``, description])
  })
  const start = [...startFlags()].map(([name, { flags, description }]) =>
    row([`\`${name}\``, `\`${flags}\``, description]),
  )
  return withRows(withRows(text, 'Flags and variables', settings), 'Start options', start)
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`
}

/** Replaces the rows of the first table below a heading. */
function withRows(text: string, heading: string, rows: readonly string[]): string {
  const table = new RegExp(`(## ${heading}\\n(?:(?![|#]).*\\n)*\\|.*\\n\\|.*\\n)(?:\\|.*\\n)*`)
  return text.replace(table, (_, head: string) => head + rows.join(''))
}

function current(name: string): string | null {
  try {
    return readFileSync(location(name), 'utf8')
  } catch {
    return null
  }
}

function location(name: string): URL {
  return new URL(`../../docs/${name}`, import.meta.url)
}
