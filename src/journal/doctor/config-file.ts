import { type Check, ok, problem } from './finding.ts'
import type { Machine } from './machine.ts'

export const configFile: Check<Pick<Machine, 'config'>> = {
  name: 'config file',
  find: ({ config: { path, problem: found } }) => {
    if (found !== null) return [problem(found.message, found.hint ?? 'Correct it; see svc help settings.')]
    return [ok(path === null ? 'No svc.config.json; none is needed.' : `${path} is valid.`)]
  },
}
