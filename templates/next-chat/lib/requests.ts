/** What the routes of the page have in common. */

/** Whether a request may come from another site's page: those get nothing. Programs without a browser say nothing here. */
export function isForeign(request: Request): boolean {
  const site = request.headers.get('sec-fetch-site')
  return site !== null && site !== 'same-origin'
}

export function refuse(status: number, reason_code: string): Response {
  return Response.json({ reason_code }, { status })
}

/** The members of a JSON object, or none. */
export async function membersOf(message: Request | Response): Promise<Record<string, unknown>> {
  const body: unknown = await message.json().catch(() => null)
  return typeof body === 'object' && body !== null ? { ...body } : {}
}
