/**
 * A node with an edit, instead of the program: `node mutant-node.ts ... start --port N --namespace NAME`, with the name of the
 * edit in SVC_EDIT. Prints the first line that `svc start -o json` prints.
 */
import { parseArgs } from 'node:util'
import type { startSandbox } from '#sandbox/index.ts'
import { findEdit } from '#tests/mutations/edits.ts'
import { importMutant } from '#tests/mutations/mutant-modules.ts'

const { values } = parseArgs({
  args: process.argv.slice(2),
  allowPositionals: true,
  strict: false,
  options: { port: { type: 'string' }, namespace: { type: 'string' }, 'decision-latency': { type: 'string' } },
})
const edit = findEdit(process.env.SVC_EDIT ?? '')
const module = await importMutant<{ startSandbox: typeof startSandbox }>('sandbox/index.ts', edit.name, [edit])
const sandbox = await module.startSandbox({
  port: Number(values.port),
  namespace: String(values.namespace),
  store: process.env.SVC_STORE ?? '',
  rate_limit: 'off',
  decision_latency_ms: Number(values['decision-latency']),
})
console.log(JSON.stringify({ url: sandbox.url, admin_token: sandbox.first_token ?? sandbox.admin_token }))
