export interface Settings {
  /** The URL of the placement service. */
  base_url: string
  client_id: string
  secret_key: string
  port: number
}

/** Reads the environment. Throws with everything that is wrong, before anything starts. */
export function readSettings(env: NodeJS.ProcessEnv): Settings {
  const { SVC_BASE_URL = '', SVC_CLIENT_ID = '', SVC_SECRET_KEY = '', PORT = '3000' } = env
  const missing = Object.entries({ SVC_BASE_URL, SVC_CLIENT_ID, SVC_SECRET_KEY })
    .filter(([, value]) => value === '')
    .map(([name]) => name)
  if (missing.length > 0) {
    throw new Error(`${missing.join(', ')} not set. Try: cp .env.example .env, or npm run dev`)
  }
  if (!SVC_SECRET_KEY.startsWith('sk_')) {
    throw new Error('SVC_SECRET_KEY is not a secret key (sk_...). A publishable key (pk_...) belongs in a browser.')
  }
  return { base_url: SVC_BASE_URL, client_id: SVC_CLIENT_ID, secret_key: SVC_SECRET_KEY, port: Number(PORT) }
}
