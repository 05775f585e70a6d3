/** The routes. The service's responses go to the page unchanged, as render.js expects of its endpoint. */
import { join } from 'node:path'
import express, { type ErrorRequestHandler, type Express, type Response } from 'express'
import { forwardBeacon, readBeacon } from './beacons.ts'
import { jobTypes, placementRequest } from './placement-request.ts'
import { type Answer, createService } from './service.ts'
import { type Consent, createSessions, grantedConsent } from './sessions.ts'
import type { Settings } from './settings.ts'

const decisions = ['granted', 'denied', 'withdrawn']
const wait_ms = 1_500

export function createApp(settings: Settings): Express {
  const { client_id } = settings
  const call = createService(settings)
  const sessionOf = createSessions()
  const app = express()
  app.disable('x-powered-by')
  app.use(express.static(join(import.meta.dirname, '../public')))
  app.use(express.json({ limit: '64kb' }))

  app.get('/api/config', (_request, response) => {
    response.json({ script_url: new URL('/v1/render.js', settings.base_url).href, job_types: jobTypes })
  })

  app.post('/api/placement', async (request, response) => {
    const session = sessionOf(request, response)
    const consent = grantedConsent(session, Date.now())
    if (consent === null) return void response.json(noFill('consent_not_granted'))
    const body = placementRequest(request.body, { client_id, session_id: session.id }, consent.purposes)
    if (body === null) return void response.status(400).json(problem(`job_type is one of ${jobTypes.join(', ')}.`))
    const answer = await call('POST', `/v1/placements?wait_ms=${wait_ms}`, body)
    const { slot_id } = answer.body as { slot_id?: string }
    if (slot_id !== undefined) session.slot_ids.add(slot_id)
    pass(answer, response)
  })

  // Pending is not no-fill: render.js polls here until it is decided.
  app.get('/api/placement', async (request, response) => {
    const { slot_ids } = sessionOf(request, response)
    const slot_id = String(request.query.slot_id)
    if (!slot_ids.has(slot_id)) return void response.status(404).json(problem('No slot of this session.'))
    pass(await call('GET', `/v1/decisions/${slot_id}?wait_ms=${Number(request.query.wait_ms) || 0}`), response)
  })

  app.post('/api/consent', async (request, response) => {
    const session = sessionOf(request, response)
    const { decision, semantic_targeting, prompt_shared } = (request.body ?? {}) as Record<string, unknown>
    if (!decisions.includes(String(decision))) {
      return void response.status(400).json(problem(`decision is one of ${decisions.join(', ')}.`))
    }
    // Denied until the service has stored it: if the call fails, nothing is permitted, whatever the earlier answer.
    session.consent = null
    const isGrant = decision === 'granted'
    const answer = await call('POST', '/v1/consent', {
      client_id,
      session_id: session.id,
      decision,
      purposes: {
        semantic_targeting: isGrant && semantic_targeting === true,
        prompt_shared: isGrant && prompt_shared === true,
      },
    })
    if (answer.status === 200)
      session.consent = (answer.body as { authoritative_consent: Consent }).authoritative_consent
    pass(answer, response)
  })

  app.post('/api/beacons', async (request, response) => {
    pass(await forwardBeacon(call, readBeacon(request.body)), response)
  })

  app.use(refuse)
  return app
}

/** Answers what the service answered, with the headers that the page needs: when to come back, and the service's time. */
function pass({ status, body, headers }: Answer, response: Response): void {
  for (const name of ['retry-after', 'date', 'x-request-id']) {
    const value = headers.get(name)
    if (value !== null) response.set(name, value)
  }
  response.status(status).json(body)
}

/** This server's own decision, in the shape of the service's. */
function noFill(no_fill_reason: string): object {
  return { slot_id: null, status: 'ready', placement: null, decision: { fill: false, no_fill_reason } }
}

function problem(message: string): object {
  return { error: 'validation_error', message, retryable: false }
}

/** A body that is not JSON is the caller's mistake; anything else is ours, and is only logged. */
const refuse: ErrorRequestHandler = (error, _request, response, _next) => {
  if (error.status < 500) return void response.status(error.status).json(problem(error.message))
  console.error(error)
  response.status(500).json({ error: 'internal_error', message: 'Something failed here.', retryable: true })
}
