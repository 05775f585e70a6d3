/** How orval's functions send: with the base URL of the test. */
export const service = { url: '' }

export async function send<Sent>(path: string, init: RequestInit): Promise<Sent> {
  const response = await fetch(`${service.url}${path}`, init)
  return { data: await response.json(), status: response.status, headers: response.headers } as Sent
}
