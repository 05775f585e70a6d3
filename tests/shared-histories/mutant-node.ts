/**
 * A node with a fault put into it on purpose, instead of the program: `node mutant-node.ts ... start --port N --namespace NAME`,
 * with the name of the fault in SVC_MUTANT. Prints the first line that `svc start -o json` prints.
 */
import { parseArgs } from 'node:util'
import type { startSandbox } from '#sandbox/index.ts'
import { importMutant } from '#tests/mutations/mutant-modules.ts'
import { mutants } from './mutants.ts'

const { values } = parseArgs({
  args: process.argv.slice(2),
  allowPositionals: true,
  strict: false,
  options: { port: { type: 'string' }, namespace: { type: 'string' }, 'decision-latency': { type: 'string' } },
})
const mutant = mutants.find(({ name }) => name === process.env.SVC_MUTANT)
if (mutant === undefined) throw new Error(`There is no mutant ${process.env.SVC_MUTANT}.`)
const module = await importMutant<{ startSandbox: typeof startSandbox }>('sandbox/index.ts', mutant.name, [mutant])
const sandbox = await module.startSandbox({
  port: Number(values.port),
  namespace: String(values.namespace),
  store: process.env.SVC_STORE ?? '',
  rate_limit: 'off',
  decision_latency_ms: Number(values['decision-latency']),
})
console.log(JSON.stringify({ url: sandbox.url, admin_token: sandbox.first_token ?? sandbox.admin_token }))
