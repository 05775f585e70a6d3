/** `svc contract openapi --for`: the API as a collection of requests for Postman and editors. */
import { resolve } from 'node:path'
import { type CommandContext, type CommandInput, textOption } from '#cli/run/command.ts'
import type { Settings } from '#cli/settings/settings.ts'
import { type Collection, type CollectionSettings, demoProject, describeCollection } from '#collections/collection.ts'
import { writeHttpFile } from '#collections/http-file.ts'
import { writePostman } from '#collections/postman.ts'
import type { CollectionTool } from '#collections/tools.ts'
import { exitCodes } from '#text/cli-error.ts'
import { plural } from '#text/text.ts'
import { oneText, quotePath, writeAtomically } from '../files.ts'

const writers: Readonly<Record<CollectionTool, { media_type: string; write(of: Collection): string }>> = {
  postman: {
    media_type: 'application/json',
    write: (collection) => `${JSON.stringify(writePostman(collection), null, 2)}\n`,
  },
  http: { media_type: 'text/plain', write: writeHttpFile },
}

/** Prints or writes the collection of a tool. Returns the exit code. @throws CliError */
export async function writeCollection(
  context: CommandContext,
  tool: CollectionTool,
  { options }: CommandInput,
): Promise<number> {
  const { settings, out, system } = context
  const collection = describeCollection(collectionSettings(settings), options.v1 === true ? 'v1' : undefined)
  const named = textOption(options, 'out')
  const how = { overwrite: options.overwrite === true, shown: named ?? '' }
  if (collection.variables.some(({ name, value }) => name === 'secret_key' && value === '')) {
    out.note(`No key is written for ${settings.base_url}: set secret_key and publishable_key in the tool.`)
  }
  const { write, media_type } = writers[tool]
  const text = write(collection)
  if (named === undefined) {
    out.document(text, media_type)
    return exitCodes.ok.exit_code
  }
  const path = resolve(system.cwd, named)
  await writeAtomically(context, path, oneText(text), how)
  return report(context, { tool, path, files: [named], collection })
}

/**
 * Returns the values of the running sandbox, or of the demo project when none runs. Keys are those of a sandbox: one that
 * the settings have from elsewhere is not written into a file.
 */
function collectionSettings({ base_url, client_id, secret_key, publishable_key, origin, sandbox, source }: Settings) {
  const isDemo = sandbox === null && source.base_url === 'default'
  const projects = isDemo ? [demoProject] : (sandbox?.projects ?? [])
  const project = projects.find((each) => each.client_id === client_id) ?? (isDemo ? demoProject : undefined)
  const own = [project, demoProject].flatMap((each) => [each?.secret_key, each?.publishable_key])
  const isOwn = (key: string | null) => key !== null && own.includes(key)
  return {
    base_url: sandbox?.public_url ?? base_url,
    client_id: project?.client_id ?? client_id ?? '',
    secret_key: isOwn(secret_key) ? secret_key : isDemo ? demoProject.secret_key : null,
    publishable_key: isOwn(publishable_key) ? publishable_key : isDemo ? demoProject.publishable_key : null,
    origin: origin ?? demoProject.origin,
    control_token: sandbox?.admin_token ?? null,
  } satisfies CollectionSettings
}

interface Written {
  tool: CollectionTool
  path: string
  files: string[]
  collection: Collection
}

function report({ out }: CommandContext, { tool, path, files, collection }: Written): number {
  const requests = collection.folders.flatMap((folder) => folder.requests).length
  out.data({ tool, path, files, requests, folders: collection.folders.length }, () => [
    `Wrote ${path}: ${plural(requests, 'request')} in ${plural(collection.folders.length, 'folder')}.`,
    nextSteps[tool](quotePath(path)),
  ])
  return exitCodes.ok.exit_code
}

const nextSteps: Readonly<Record<CollectionTool, (path: string) => string>> = {
  postman: (path) => `Import it in Postman and run it, or: npx newman run ${path}`,
  http: (path) => `Open it in a JetBrains IDE or with httpYac, or: npx httpyac send ${path} --all`,
}
