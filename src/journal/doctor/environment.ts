import { settingsTable } from '../../cli/settings/table.ts'
import { type Check, orOk, warning } from './finding.ts'
import type { Machine } from './machine.ts'

const addressed = ['secret_key', 'publishable_key', 'client_id'] as const

/** Settings that point elsewhere than the sandbox that runs. */
export const environment: Check<Pick<Machine, 'settings' | 'running_urls'>> = {
  name: 'settings',
  find: ({ settings, running_urls }) => {
    const { base_url, source, sandbox } = settings
    const [running] = running_urls
    if (sandbox === null) {
      const isElsewhere = running !== undefined && source.base_url !== 'default'
      return orOk(
        isElsewhere
          ? [
              warning(
                `base_url (${source.base_url}) is ${base_url}; a sandbox runs at ${running}.`,
                `Set ${settingsTable.base_url.env}=${running}, or remove the setting.`,
              ),
            ]
          : [],
        'Nothing points elsewhere than the service in use.',
      )
    }
    const known = {
      secret_key: sandbox.projects.flatMap(({ secret_key, live_secret_key }) => [secret_key, live_secret_key]),
      publishable_key: sandbox.projects.map(({ publishable_key }) => publishable_key),
      client_id: sandbox.projects.map(({ client_id }) => client_id),
    }
    const foreign = addressed.filter((name) => {
      const value = settings[name]
      return value !== null && source[name] !== 'sandbox' && !known[name].includes(value)
    })
    return orOk(
      foreign.map((name) =>
        warning(
          `${name} (${source[name]}) is not one that the sandbox at ${sandbox.url} started with.`,
          `Remove ${settingsTable[name].env}, and the sandbox's own is used; or make it there.`,
        ),
      ),
      `Keys and project are those of ${sandbox.url}.`,
    )
  },
}
