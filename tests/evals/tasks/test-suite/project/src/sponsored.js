/**
 * Returns the placement response of a turn for the page, or null. `consent` is null for a user who was not asked, and `topic` goes
 * with `consent.semantic_targeting` alone. Never throws.
 */
export async function findAd({ base_url, client_id, secret_key }, { session_id, topic, consent }) {
  if (consent === null) return null
  const prompt = consent.semantic_targeting ? { prompt: { topic } } : {}
  try {
    const response = await fetch(`${base_url}/v1/placements?wait_ms=500`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret_key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ client_id, session_id, job_type: 'chat', consent, ...prompt }),
    })
    if (!response.ok) return null
    const placement = await response.json()
    return placement.status === 'ready' && placement.decision.fill ? placement : null
  } catch {
    return null
  }
}
