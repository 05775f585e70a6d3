import { type Check, orOk, problem } from './finding.ts'
import type { SandboxFacts } from './sandbox-facts.ts'

export const integrity: Check<Pick<SandboxFacts, 'integrity' | 'info' | 'command_name'>> = {
  name: 'database',
  find: ({ integrity: found, info, command_name }) => {
    const anew = `Keep the file if you need it, then start with another --db, or empty it: ${command_name} sandbox reset`
    if ('failure' in found) return [problem(`${info.database} could not be checked: ${found.failure}`, anew)]
    const { database, evidence } = found
    const broken = evidence.chains.filter(({ broken_at }) => broken_at !== null)
    return orOk(
      [
        ...database.problems.slice(0, 1).map((first) => problem(`${info.database} is damaged: ${first}.`, anew)),
        ...broken.map(({ client_id, broken_at, problem: why }) =>
          problem(
            `The evidence of ${client_id} is broken at entry ${broken_at}: ${why ?? 'it does not hold'}.`,
            `Somebody changed the database by hand: ${command_name} evidence verify, then ${command_name} sandbox reset`,
          ),
        ),
      ],
      `${info.database} and ${evidence.chains.length} evidence chains hold.`,
    )
  },
}
