import { type Check, type Outcome, ok, problem, unknown, warning } from './finding.ts'
import type { Machine } from './machine.ts'

/** Whether something answers at the base URL, and who holds the port where it is not a sandbox. */
export const service: Check<Pick<Machine, 'service' | 'settings' | 'port' | 'command_name'>> = {
  name: 'port',
  find: ({ service, settings, port, command_name }) => {
    const { base_url } = settings
    if (service === 'sandbox') return [ok(`A sandbox answers at ${base_url}.`)]
    if (service === 'other') {
      return [unknown(`What answers at ${base_url} is no sandbox.`, `Its traffic is not seen: ${command_name} start`)]
    }
    return [silence(settings, port, command_name)]
  },
}

function silence({ base_url, source }: Machine['settings'], port: Machine['port'], command_name: string): Outcome {
  if (port.holder !== null) {
    return problem(
      `Port ${port.number} is taken by ${port.holder}, which does not answer as the service.`,
      `End it, or start the sandbox elsewhere: ${command_name} start --port ${port.number + 1}`,
    )
  }
  const start = `Start one: ${command_name} start`
  if (source.base_url === 'default') return warning(`No sandbox runs; port ${port.number} is free.`, start)
  return problem(`Nothing answers at ${base_url} (${source.base_url}).`, `${start}, or correct the address.`)
}
