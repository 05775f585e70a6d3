/** `svc demand`: your own campaigns, from a file. */
import { resolve, sep } from 'node:path'
import { Argument, Option } from 'commander'
import type { Noun } from '#cli/run/command.ts'
import type { System } from '#cli/run/system.ts'
import type { CheckedCampaign } from '#sandbox/index.ts'
import { CliError, nothingChecked } from '#text/cli-error.ts'
import { type Column, tableLines } from '#text/table.ts'
import { plural } from '#text/text.ts'
import { categories } from './sandbox/emulator.ts'

const columns: readonly Column[] = [
  { name: 'campaign', field: 'campaign_id' },
  { name: 'line' },
  { name: 'price', field: 'price_cpm' },
  { name: 'topics' },
  { name: 'creatives', kind: 'prose' },
]

export const demand: Noun = {
  summary: 'Check your own campaigns before a sandbox starts with them',
  commands: [
    {
      name: 'check',
      summary: 'Check a file of campaigns and the pictures and clips that it names',
      details:
        'Everything wrong is printed with file, line and fix, exit code 2; nothing is started. Without a campaign it is exit code 5. Then start with it: svc start --demand FILE.',
      arguments: [new Argument('[file]', 'a YAML file, or a folder of them')],
      options: [new Option('--schema', 'print the JSON schema of the files, for editors')],
      examples: ['demand check demand.yaml', 'demand check --schema'],
      tables: [columns],
      async run({ system, out }, { args: [file], options }) {
        if (options.schema === true) {
          const schema = await (await import('#sandbox/index.ts')).demandSchema()
          out.data(schema, () => JSON.stringify(schema, null, 2).split('\n'))
          return 0
        }
        if (file === undefined)
          throw new CliError('usage', 'missing_argument', 'No file is named.', 'Try: svc demand check demand.yaml')
        const campaigns = await checkDemandFile(system, resolve(system.cwd, file))
        if (campaigns.length === 0) throw nothingChecked(`${file} has no campaign.`, 'Add one, as in: svc docs own-ads')
        out.list({ items: campaigns }, campaigns, (style) => [
          `${file}: valid, ${plural(campaigns.length, 'campaign')}`,
          '',
          ...tableLines(columns, campaigns.map(toRow), style),
        ])
        for (const { campaign_id, notes } of campaigns) for (const note of notes) out.note(`${campaign_id}: ${note}`)
        return 0
      },
    },
  ],
}

/** Reads a file of demand, or a folder. Throws CliError with everything that is wrong, a line each. */
export async function checkDemandFile(
  { cwd, now }: Pick<System, 'cwd' | 'now'>,
  path: string,
): Promise<CheckedCampaign[]> {
  const { checkDemand, SandboxError } = await import('#sandbox/index.ts')
  try {
    return await checkDemand(path, now())
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error
    // Editors and eyes find the file by the name that was typed.
    const message = error.message.replaceAll(`${cwd}${sep}`, '')
    throw new CliError(categories[error.code], error.code, message, error.hint)
  }
}

function toRow({ topics, creatives, price_cpm, currency, ...rest }: CheckedCampaign) {
  return {
    ...rest,
    price_cpm: `${price_cpm} ${currency}`,
    topics: topics.length === 0 ? 'any' : topics.join(', '),
    creatives: creatives.join(', '),
  }
}
