/** The tool `bundle`: a turn as one signed file, as `svc bundle create` writes it. Over HTTP, its address. */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { findAlterations } from '#contract/bundles/proof.ts'
import { contract } from '#contract/index.ts'
import { withoutUndefined } from '#foundation/json.ts'
import { bundleFileName, requireBundle } from '#text/bundle-page.ts'
import { requireLocal, type SandboxAccess } from './access.ts'
import { ofOne, type Tool } from './tool.ts'

const { slot_id, session_id, client_id } = contract['bundles.page'].query.shape

const given = {
  slot_id,
  session_id,
  client_id,
  with_media: z.boolean().optional().describe('true: with the clip, not only its still.'),
}

const written = {
  size_bytes: z.int().min(1),
  slot_ids: z.array(slot_id.unwrap()).min(1).describe('The slots of its turns, oldest first.'),
  left_out: z.int().min(0).describe('Older turns of the session that are not in it.'),
  alterations: z
    .array(z.string())
    .describe('What in it is not as the sandbox signed it. Empty: every part and the evidence hold.'),
}

const common = {
  name: 'bundle',
  command: 'bundle create',
  title: 'Write a turn as one signed file that opens anywhere',
  narrower: ofOne,
} as const

const about =
  'A page without a script, with the requests, decision and trace, creative, beacons with verdicts, consent, billing and evidence of a turn, signed: hand it over instead of describing the turn. Without slot_id and session_id: the newest turn. Keys, tokens and prompt texts are not in it.'

/** For a server on the user's computer. */
export const bundleFile: Tool = {
  ...common,
  description: `${about} svc evidence verify FILE checks it again, svc bundle import FILE shows it in an inspector.`,
  effect: 'changes',
  isIdempotent: false,
  input: z.strictObject({
    ...given,
    out: z
      .string()
      .regex(/\.html?$/, { error: 'a name that ends with .html' })
      .max(500)
      .optional()
      .describe('The file, in the folder of this server. Default: SLOT.svc.html.'),
    force: z.boolean().optional().describe('true: replace an existing file.'),
  }),
  output: z.strictObject({ file: z.string(), ...written }),
  async call(access, { out, force, ...query }, signal) {
    const { page, bundle, ...facts } = await readPage(access, query, signal)
    const name = out === undefined ? bundleFileName(bundle) : String(out)
    return { file: await requireLocal(access).writeText(name, page, { overwrite: force === true }), ...facts }
  },
}

/** For a server of a sandbox. */
export const bundleAddress: Tool = {
  ...common,
  description: `${about} Returns the address of the file: download it, with the token of this server if it needs one.`,
  effect: 'reads',
  isIdempotent: true,
  input: z.strictObject(given),
  output: z.strictObject({ bundle_url: z.string(), ...written }),
  async call(access, query, signal) {
    const { page: _, bundle: __, ...facts } = await readPage(access, query, signal)
    const { public_url } = await (await access.client()).sandbox.info({}, { signal })
    const address = new URL(contract['bundles.page'].path, public_url)
    // Of this slot, also when it is opened after the next turn.
    const [newest] = facts.slot_ids
    const asked = toQuery(query)
    const named = asked.slot_id === undefined && asked.session_id === undefined ? { ...asked, slot_id: newest } : asked
    for (const [name, value] of Object.entries(named)) address.searchParams.set(name, String(value))
    return { bundle_url: address.href, ...facts }
  },
}

async function readPage(access: SandboxAccess, input: Readonly<Record<string, unknown>>, signal: AbortSignal) {
  const client = await access.client()
  const { data } = await client.call('bundles.page', { query: toQuery(input) }, { signal })
  const page = String(data)
  const bundle = requireBundle(page)
  return {
    page,
    bundle,
    size_bytes: Buffer.byteLength(page),
    slot_ids: bundle.turns.map(({ placement }) => placement.slot_id),
    left_out: bundle.left_out,
    alterations: findAlterations(bundle, (text) => createHash('sha256').update(text).digest('hex')),
  }
}

function toQuery({ with_media, ...query }: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return withoutUndefined({ ...query, media: with_media === true ? 'true' : undefined })
}
