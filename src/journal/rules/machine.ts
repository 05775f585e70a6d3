import { type Check, type Outcome, orOk, problem, warning } from '../doctor/finding.ts'
import type { Machine } from '../doctor/machine.ts'

/** Key type, the first point to check when migrating, in the settings. Keys themselves are never printed. */
export const keys: Check<Pick<Machine, 'settings'>> = {
  name: 'keys',
  find: ({ settings }) =>
    orOk(
      [...secretKey(settings), ...publishableKey(settings), ...projectOf(settings)],
      settings.secret_key === null ? 'No key is set.' : 'Each key is of the kind that belongs there.',
    ),
}

function secretKey({ secret_key, source }: Machine['settings']): Outcome[] {
  if (secret_key === null || secret_key.startsWith('sk_test_') || secret_key.startsWith('at_')) return []
  const where = `secret_key (${source.secret_key})`
  if (secret_key.startsWith('sk_live_')) {
    return [
      warning(`${where} is a production key: its traffic is not test traffic.`, 'Use a key that begins with sk_test_.'),
    ]
  }
  if (secret_key.startsWith('pk_')) {
    return [
      problem(
        `${where} holds a publishable key; servers send a secret key.`,
        'Set SVC_SECRET_KEY to the key that begins with sk_test_, and this one as SVC_PUBLISHABLE_KEY.',
      ),
    ]
  }
  return [problem(`${where} is no key of this service.`, 'Set SVC_SECRET_KEY to the key that begins with sk_test_.')]
}

function publishableKey({ publishable_key, source }: Machine['settings']): Outcome[] {
  if (publishable_key === null || publishable_key.startsWith('pk_')) return []
  const where = `publishable_key (${source.publishable_key})`
  if (publishable_key.startsWith('sk_')) {
    return [
      problem(
        `${where} holds a secret key, which would be given to browsers.`,
        'Revoke that key, and set SVC_PUBLISHABLE_KEY to the one that begins with pk_.',
      ),
    ]
  }
  return [problem(`${where} is no publishable key.`, 'Set SVC_PUBLISHABLE_KEY to the key that begins with pk_.')]
}

/** Keys of another project than client_id names, where the sandbox tells whose they are. */
function projectOf({ client_id, secret_key, sandbox }: Machine['settings']): Outcome[] {
  const owner = sandbox?.projects.find((project) =>
    [project.secret_key, project.live_secret_key].includes(secret_key ?? ''),
  )
  if (owner === undefined || client_id === null || owner.client_id === client_id) return []
  return [
    problem(
      `secret_key is of ${owner.client_id}, client_id is ${client_id}.`,
      `Set SVC_CLIENT_ID=${owner.client_id}, or use a key of ${client_id}.`,
    ),
  ]
}
