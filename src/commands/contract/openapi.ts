/** `svc openapi`: the OpenAPI document of the contract, generated without a sandbox. */
import { Option } from 'commander'
import type { Command } from '../../cli/run/command.ts'
import { openapiDocument } from '../../contract/openapi.ts'
import type { Json } from '../../foundation/json.ts'

type Document = ReturnType<typeof openapiDocument>

export const openapi: Command = {
  name: 'openapi',
  summary: 'Print the OpenAPI 3.1 document of the contract',
  details:
    'Covers v1 and the control plane, with x-provenance on every field; --v1 or --control selects one of them. For the document that the running sandbox serves: svc contract openapi. Always JSON.',
  options: [
    new Option('--v1', 'only the public API').conflicts('control'),
    new Option('--control', 'only the control plane of the sandbox'),
  ],
  examples: ['openapi --v1', 'openapi -o json'],
  acceptsInvalidSettings: true,
  async run({ out, settings }, { options }) {
    const whole = openapiDocument({ server_url: settings.base_url })
    const tag = options.v1 === true ? 'v1' : options.control === true ? 'sandbox' : null
    const document = tag === null ? whole : partOf(whole, tag)
    out.data(document, () => [JSON.stringify(document, null, 2)])
    return 0
  },
}

/** Returns the document with the operations of one tag, and the components that they refer to. */
function partOf(document: Document, tag: string): Document {
  const paths = Object.entries(document.paths as Fields).flatMap(([path, item]) => {
    const own = Object.entries(item as Fields).filter(([, operation]) => tagsOf(operation).includes(tag))
    return own.length === 0 ? [] : [[path, Object.fromEntries(own)] as const]
  })
  const part = { ...document, tags: (document.tags as Fields[]).filter(({ name }) => name === tag) }
  const components = document.components as { [kind: string]: Fields }
  const used = referencesIn(Object.fromEntries(paths), components)
  return {
    ...part,
    paths: Object.fromEntries(paths),
    components: Object.fromEntries(
      Object.entries(components).map(([kind, named]) => [
        kind,
        Object.fromEntries(
          Object.entries(named).filter(([name]) => kind === 'securitySchemes' || used.has(`${kind}/${name}`)),
        ),
      ]),
    ),
  }
}

type Fields = { [name: string]: Json }

function tagsOf(operation: Json): Json[] {
  return ((operation as Fields).tags ?? []) as Json[]
}

/** Returns every component that a value refers to, directly or not, such as `schemas/Placement`. */
function referencesIn(value: Json, components: { readonly [kind: string]: Fields }): Set<string> {
  const found = new Set<string>()
  const open: Json[] = [value]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== 'object' || next === null) continue
    for (const [key, inner] of Object.entries(next)) {
      if (key === '$ref' && typeof inner === 'string') {
        const [kind = '', name = ''] = inner.replace('#/components/', '').split('/')
        const target = components[kind]?.[name]
        if (target !== undefined && !found.has(`${kind}/${name}`)) open.push(target)
        found.add(`${kind}/${name}`)
      } else open.push(inner as Json)
    }
  }
  return found
}
