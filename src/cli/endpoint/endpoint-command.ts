/** An endpoint as a command: arguments and flags come from its schemas, the output from its response. */

import { Argument, type Option } from 'commander'
import type { ResponseMeta } from '#client/client.ts'
import type { CallInput } from '#client/exchange.ts'
import type { PermittedKey } from '#client/permitted-key.ts'
import type { Output as Response } from '#contract/endpoint.ts'
import type { Contract, EndpointId } from '#contract/index.ts'
import { isLoopback } from '#foundation/http.ts'
import { CliError, didYouMean } from '#text/cli-error.ts'
import type { Style } from '#text/terminal.ts'
import { type Command, type CommandContext, type CommandInput, listOption, textOption } from '../run/command.ts'
import { noSandboxFor } from '../run/errors.ts'
import { type EndpointSchema, endpoints } from './facts.ts'
import { chooseVariant, endpointOptions, flagValues } from './flags.ts'
import { type Body, bodyOptions, buildBody, checkRequired } from './input.ts'
import { describeRecord, isPage, type Listing, printPage } from './listed-page.ts'

/** The parts of a command that its endpoint does not declare. */
type EndpointCommand<Id extends EndpointId> = Details<Id> & List

/** A list: its columns, and the note on how to add an item, printed when it is empty and not filtered. */
type List = Listing | { columns?: undefined; empty?: undefined }

/** What a text may say about the call itself, in addition to its response. */
interface CompletedCall<Data> {
  context: CommandContext
  meta: ResponseMeta
  options: CommandInput['options']
  sent: CallInput
  /** What `before` resolved to; null without it. */
  before: Data | null
}

interface Details<Id extends EndpointId> {
  /** The verb, when it differs from the endpoint's. */
  name?: string
  /** A second paragraph of the help, after the endpoint's description. */
  details?: string
  examples: Command['examples']
  /** In place of the path parameters. */
  arguments?: readonly Argument[]
  /** In place of the flags from the schemas. */
  options?: readonly Option[]
  negativeHint?: string
  usualFlags?: Command['usualFlags']
  /** Fields of the body that the command line does not give. */
  defaults?: (context: CommandContext, options: CommandInput['options']) => Body | Promise<Body>
  /** The path parameter when it is left out. Without this it is required. */
  defaultParam?: (context: CommandContext) => Promise<string> | string
  /** The whole input of the request, in place of arguments, flags and --data. */
  input?: (context: CommandContext, input: CommandInput) => CallInput | Promise<CallInput>
  /** The response from the package itself, without a request, when no sandbox is running and no service is named. */
  fromPackage?: () => Promise<Response<Contract[Id]>>
  /** The tables that `text` prints. */
  tables?: Command['tables']
  text?: (response: Response<Contract[Id]>, style: Style, call: CompletedCall<Response<Contract[Id]>>) => string[]
  /** The rows of a report, for csv and tsv. A report without them has neither. */
  rows?: (response: Response<Contract[Id]>) => readonly object[]
  /** The state that the request is about to change, in the form of its response. */
  before?: (context: CommandContext, sent: CallInput) => Promise<Response<Contract[Id]>>
  /** Called with the response before it is printed. */
  after?: (context: CommandContext, response: Response<Contract[Id]>, meta: ResponseMeta) => Promise<void>
  /** The exit code of a response; 0 when absent. */
  exitCode?: (response: Response<Contract[Id]>) => number
  /** Replaces the single call and its printing. */
  run?: Command['run']
}

/** Returns the command of one endpoint: name, summary, description, arguments and flags come from the contract. */
export function endpointCommand<Id extends EndpointId>(id: Id, extra: EndpointCommand<Id>): Command {
  const endpoint = endpoints[id]
  const params = Object.entries(endpoint.params)
  const flags = endpointOptions(id)
  const argument = ([name, description]: [string, string]) =>
    new Argument(extra.defaultParam === undefined ? `<${name}>` : `[${name}]`, description)
  const buildInput = async (context: CommandContext, input: CommandInput): Promise<CallInput> => ({
    params: await buildParams(endpoint, input, () => extra.defaultParam?.(context)),
    query: endpoint.query === null ? undefined : await buildQuery(context, endpoint, flags.query, input),
    body:
      endpoint.body === null
        ? undefined
        : await readRequestBody(context, id, flags.body, {
            options: input.options,
            defaults: await extra.defaults?.(context, input.options),
          }),
  })
  return {
    name: extra.name ?? id.slice(id.indexOf('.') + 1),
    summary: endpoint.summary,
    details: [`${endpoint.description} (${endpoint.method} ${endpoint.path})`, extra.details]
      .filter(Boolean)
      .join('\n\n'),
    arguments: extra.arguments ?? params.map(argument),
    options: extra.options ?? [
      ...flags.query.values(),
      ...flags.body.values(),
      ...(Object.keys(chooseVariant(endpoint.body, [])?.properties ?? {}).length === 0 ? [] : bodyOptions()),
    ],
    ...chooseTables(extra, endpoint),
    ...(extra.usualFlags === undefined ? {} : { usualFlags: extra.usualFlags }),
    ...(extra.negativeHint === undefined ? {} : { negativeHint: extra.negativeHint }),
    examples: extra.examples,
    run:
      extra.run ??
      (async (context, input) => {
        const hasService = context.settings.source.base_url !== 'default'
        const fromPackage = hasService ? undefined : extra.fromPackage
        // Reported before a missing argument that only a sandbox could supply: its last placement, its project.
        if (!hasService && fromPackage === undefined) throw noSandboxFor(context.settings)
        const sent = fromPackage ? {} : await (extra.input ?? buildInput)(context, input)
        const before = (await extra.before?.(context, sent)) ?? null
        const { data, meta } = fromPackage
          ? { data: await fromPackage(), meta: noMeta }
          : await callEndpoint(context, id, sent)
        await extra.after?.(context, data, meta)
        if (extra.columns !== undefined && isPage(data)) printPage(context, data, sent.query ?? {}, extra)
        else printResponse(endpoint, extra, data, { context, meta, options: input.options, sent, before })
        return extra.exitCode?.(data) ?? 0
      }),
  }
}

function chooseTables(
  { columns, tables, rows }: Pick<EndpointCommand<EndpointId>, 'columns' | 'tables'> & { rows?: unknown },
  { item_fields = [] }: EndpointSchema,
): Pick<Command, 'tables' | 'fields' | 'hasRows'> {
  if (columns !== undefined) return { tables: [columns], fields: item_fields, hasRows: true }
  return { ...(tables && { tables }), ...(rows !== undefined && { hasRows: true }) }
}

/** The meta of a response that was not requested. */
const noMeta: ResponseMeta = {
  status: 200,
  request_id: null,
  warnings: [],
  would_bill: null,
  slot_ids: [],
  differences: [],
}

/** Calls an endpoint for a command. Notes slow calls, sandbox warnings and breaches of the contract. */
export async function callEndpoint<Id extends EndpointId>(
  context: CommandContext,
  id: Id,
  input: CallInput,
  credential?: PermittedKey,
): Promise<{ data: Response<Contract[Id]>; meta: ResponseMeta }> {
  const { settings, out, signal } = context
  const { method, path, credentials } = endpoints[id]
  if (credentials.length > 0 && credential === undefined && settings.secret_key === null)
    throw await noCredential(context)
  const call = context.client({ credential }).call(id, input, { signal })
  const { data, meta } = await out.progress(`${method} ${path}: waiting for the response`, call)
  if (out.view.time === 'relative' && settings.sandbox !== null) await takeSandboxTime(context)
  await noteWarnings(context, meta.warnings)
  for (const difference of meta.differences) out.note(`breaks the contract: ${difference}`)
  return { data: data as Response<Contract[Id]>, meta }
}

async function noteWarnings({ out }: CommandContext, warnings: readonly string[]): Promise<void> {
  if (warnings.length === 0) return
  const { describeWarning } = await import('#contract/warnings.ts')
  for (const warning of warnings) out.note(`sandbox warning: ${describeWarning(warning)}`)
}

/** The clock of a sandbox can be moved, and its times are relative to that clock. */
async function takeSandboxTime({ out, client, signal }: CommandContext): Promise<void> {
  const clock = await client()
    .clock.show({}, { signal })
    .catch(() => null)
  if (clock !== null) out.view.now_ms = clock.now_ms
}

async function buildQuery(
  context: CommandContext,
  { query }: EndpointSchema,
  flags: Map<string, Option>,
  input: CommandInput,
): Promise<Body> {
  const hasProject = query?.properties?.client_id !== undefined
  return { ...(hasProject ? await projectFilter(context) : {}), ...flagValues(flags, input.options) }
}

/**
 * Returns the filter of --client-id: without that flag a list shows every project. Throws CliError for a project that the
 * sandbox does not have: every list of it would be empty.
 */
export async function projectFilter(context: CommandContext): Promise<{ client_id?: string }> {
  const client_id = namedProject(context)
  if (client_id === null) return {}
  const { settings, client, signal } = context
  const names = (await client().sandbox.info({}, { signal })).projects.map((project) => project.client_id)
  if (!names.includes(client_id)) throw unknownProject(settings.base_url, client_id, names)
  return { client_id }
}

/** Returns the project that --client-id names, or null. */
export function namedProject({ settings }: CommandContext): string | null {
  return settings.source.client_id === 'flag' ? settings.client_id : null
}

async function readRequestBody(
  context: CommandContext,
  id: EndpointId,
  flags: Map<string, Option>,
  { options, defaults = {} }: { options: CommandInput['options']; defaults: Body | undefined },
): Promise<unknown> {
  const { client_id, secret_key } = context.settings
  const data = textOption(options, 'data')
  const body = await buildBody(context.system, id, {
    defaults: { ...(client_id === null ? {} : { client_id }), ...defaults },
    flags: flagValues(flags, options),
    data,
    set: listOption(options, 'set'),
  })
  // A missing credential is reported first.
  const isSent = secret_key !== null || endpoints[id].credentials.length === 0
  const names = [...flags.values()].map(({ long }) => long)
  if (data === undefined && isSent) checkRequired(id, body, names)
  return body
}

/** Longer than every identifier, and short enough for the head of a request, which holds 16 KiB. */
const maxParamLength = 1_000

async function buildParams(
  { params: described, param_limits }: EndpointSchema,
  { args }: CommandInput,
  fallback: () => Promise<string> | string | undefined,
): Promise<Record<string, string>> {
  const params: Record<string, string> = {}
  for (const [index, name] of Object.keys(described).entries()) {
    const value = args[index] ?? (await fallback())
    if (value === undefined) throw new CliError('usage', 'argument_missing', `${name} is missing.`)
    const limit = param_limits[name] ?? maxParamLength
    if (value.length > limit) {
      const length = value.length.toLocaleString('en-US')
      const hint = `It can have at most ${limit.toLocaleString('en-US')}.`
      throw new CliError('usage', 'argument_too_long', `${name} has ${length} characters.`, hint)
    }
    params[name] = value
  }
  return params
}

function printResponse<Id extends EndpointId>(
  { response }: EndpointSchema,
  { text, rows }: EndpointCommand<Id>,
  data: Response<Contract[Id]>,
  call: CompletedCall<Response<Contract[Id]>>,
): void {
  const { out } = call.context
  // `text` reads fields that only a response in line with the contract is sure to have.
  const isAsAgreed = call.meta.differences.length === 0
  if (response.media_type !== undefined) out.document(String(data), response.media_type)
  else if (text !== undefined && isAsAgreed) out.data(data, (style) => text(data, style, call), rows?.(data))
  else out.data(data, (style) => describeRecord(data, style))
}

/** Distinguishes a project that the running sandbox does not have from one whose key is unknown here. */
async function noCredential({ settings, client, signal }: CommandContext): Promise<CliError> {
  const { source, base_url, sandbox, client_id } = settings
  if (source.base_url === 'default') return noSandboxFor(settings)
  if (sandbox === null || client_id === null) {
    const isHere = isLoopback(new URL(base_url).hostname)
    const other = isHere ? ' None of your sandboxes runs there. List them: svc sandbox ps' : ''
    const hint = `Set SVC_SECRET_KEY, or give --secret-key KEY.${other}`
    return new CliError('credentials', 'secret_key_missing', `There is no secret key for ${base_url}.`, hint)
  }
  const names = (await client().sandbox.info({}, { signal })).projects.map((project) => project.client_id)
  if (names.includes(client_id)) {
    const hint = `Give --secret-key KEY, or create one: svc sandbox keys create ${client_id}`
    return new CliError('credentials', 'secret_key_missing', `No key of ${client_id} is known here.`, hint)
  }
  return unknownProject(base_url, client_id, names)
}

function unknownProject(base_url: string, client_id: string, names: readonly string[]): CliError {
  const hint =
    didYouMean(client_id, names) ??
    `Create it: svc sandbox projects create ${client_id}. There are: ${names.slice(0, 8).join(', ')}${names.length > 8 ? ', ...' : '.'}`
  return new CliError('usage', 'project_unknown', `${base_url} has no project ${client_id}.`, hint)
}
