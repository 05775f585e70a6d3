/** svc.config.json and profiles.json. */

import { ConfigFile, checkFile, ProfilesFile } from '#cli/settings/schemas.ts'
import { CliError } from '#text/cli-error.ts'
import { looseValue } from '../loose-json.ts'
import { checkSame, type FuzzTarget, readOrRefuse } from '../target.ts'

export const target: FuzzTarget = {
  max_bytes: 1_000,
  words: [
    ...[
      '"base_url"',
      '"origin"',
      '"client_id"',
      '"secret_key"',
      '"publishable_key"',
      '"output"',
      '"profile"',
      '"sandbox"',
    ],
    ...[
      '"port"',
      '"host"',
      '"rate"',
      '"profiles"',
      '"current"',
      'http://a.test',
      '"$schema"',
      '"public_url"',
      '"scenario"',
    ],
  ],
  run(bytes) {
    const value = looseValue(bytes)
    for (const schema of [ConfigFile, ProfilesFile]) {
      const data = readOrRefuse(() => checkFile('/a/svc.config.json', value, schema), CliError)
      // A file that svc has read it writes again without a change.
      if (data !== null) checkSame(checkFile('/a', JSON.parse(JSON.stringify(data)), schema), data, 'read again')
    }
  },
}
