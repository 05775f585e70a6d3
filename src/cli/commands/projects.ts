import { Argument } from 'commander'
import { callEndpoint, endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import { type Command, type CommandContext, listOption, type Noun } from '#cli/run/command.ts'
import { noSandboxFor } from '#cli/run/errors.ts'
import { saveProject } from '#cli/settings/files.ts'
import type { ProjectDetail } from '#contract/resources/projects.ts'
import { isObject } from '#foundation/json.ts'
import { CliError } from '#text/cli-error.ts'
import { paintWord } from '#text/table.ts'
import type { Style } from '#text/terminal.ts'
import { alignPairs, formatValue } from '#text/text.ts'

export const projects: Noun = {
  summary: 'Read and change projects and their settings',
  commands: [
    endpointCommand('projects.list', {
      empty: 'No projects. Create one: svc sandbox projects create proj_mine',
      examples: ['sandbox projects list', 'sandbox projects list -o jsonl'],
      columns: [
        { name: 'project', field: 'client_id' },
        { name: 'enabled', paint: paintWord },
        { name: 'billing', field: 'billing_model' },
        { name: 'consent', field: 'consent_required', rank: 2 },
        { name: 'revision', field: 'config_revision', rank: 3 },
        { name: 'origins', field: 'allowed_origins', least: 20 },
      ],
    }),
    endpointCommand('projects.show', {
      details: 'Without client_id: the project in use.',
      examples: ['sandbox projects show', 'sandbox projects show proj_strict -o json'],
      defaultParam: projectInUse,
    }),
    createProject(),
    endpointCommand('projects.update', {
      usualFlags:
        '--enabled --label-text --label-required --billing-model --publisher-share --fill-rate --activation-ttl-ms --decision-ttl-ms --secret-key-in-browser --personal-data --set --data',
      details: 'Without client_id: the project in use. Give lists in full, with their items separated by commas.',
      examples: [
        "sandbox projects update --set 'allowed_origins=http://localhost:*,http://127.0.0.1:*'",
        'sandbox projects update proj_other --billing-model cpc --set viewability.ratio=0.6 -o json',
      ],
      defaultParam: projectInUse,
      before: async (context, { params }) => (await callEndpoint(context, 'projects.show', { params })).data,
      text: (project, style, { before }) => changeLines(project, before, style),
    }),
  ],
}

/** Returns the settings that differ from before, each with its earlier and its new value. */
function changeLines(
  { client_id, config_revision, settings }: ProjectDetail,
  before: ProjectDetail | null,
  style: Style,
) {
  const earlier = leafValues(before?.settings ?? {})
  const rows = [...leafValues(settings)].filter(([path, value]) => earlier.get(path) !== value)
  for (const path of earlier.keys()) if (!leafValues(settings).has(path)) rows.push([path, '-'])
  if (rows.length === 0)
    return [`Nothing changed: ${client_id} has these settings already, revision ${config_revision}.`]
  return [
    `Changed ${client_id}, revision ${config_revision}:`,
    ...alignPairs(
      rows.map(([path, value]) => [path, `${value}  (was ${earlier.get(path) ?? '-'})`]),
      style,
      '  ',
    ),
  ]
}

/** Returns the values of an object as text, by dotted path; a list is one value. */
function leafValues(value: object, above = ''): Map<string, string> {
  return new Map(
    Object.entries(value).flatMap(([name, field]) =>
      isObject(field) ? [...leafValues(field, `${above}${name}.`)] : [[above + name, formatValue(field)] as const],
    ),
  )
}

/** Returns the project of the settings. Throws CliError when there is none. */
export function projectInUse({ settings }: CommandContext): string {
  if (settings.client_id !== null) return settings.client_id
  if (settings.source.base_url === 'default') throw noSandboxFor(settings)
  throw new CliError('usage', 'argument_missing', 'client_id is missing.', 'Give it, or set SVC_CLIENT_ID.')
}

/** The name of a new project is an argument, because --client-id names the project in use. */
function createProject(): Command {
  const command = endpointCommand('projects.create', {
    usualFlags:
      '--enabled --label-text --label-required --billing-model --publisher-share --fill-rate --activation-ttl-ms --decision-ttl-ms --secret-key-in-browser --personal-data --set --data',
    details: 'Its keys are stored in the state directory, where --client-id finds them.',
    arguments: [new Argument('<client_id>', 'proj_ and a name')],
    examples: [
      'sandbox projects create proj_shop --set allowed_origins=https://shop.example',
      'sandbox projects create proj_news --billing-model cpc --set consent.required=true -o json',
    ],
    async after({ system, settings, out }, { client_id, settings: { allowed_origins }, keys }) {
      await saveProject(system, settings, { client_id, allowed_origins, ...keys })
      out.note(`Its keys are stored: use them with --client-id ${client_id}`)
    },
  })
  return {
    ...command,
    run: (context, input) => {
      const { options, args } = input
      const set = [...listOption(options, 'set'), `client_id=${args[0]}`]
      return command.run(context, { ...input, options: { ...options, set }, args: [] })
    },
  }
}
