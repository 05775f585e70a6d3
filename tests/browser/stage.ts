/**
 * Two origins for tests of the renderer: a host page, and a service that has render.js, real frame pages, creatives
 * and a record of the beacons. It stands in for the sandbox where a test needs a service that misbehaves.
 */
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Creative, framePage, frameProblemPage, type Page } from '../../sandbox/http/frame-page.ts'
import { BeaconRequest, type BeaconResult } from '../../src/contract/v1/beacons.ts'
import { PlacementResponse } from '../../src/contract/v1/placements.ts'

const fixtures = fileURLToPath(new URL('../../fixtures', import.meta.url))

export interface FillOptions {
  creative: Creative
  sponsor_name?: string
  click_url?: string
  is_test?: boolean
  consent?: object
}

/** How the service answers one beacon: by status, and more. */
export interface BeaconAnswer {
  status: number
  headers?: Record<string, string>
  body?: object
}

export interface Stage {
  /** The host page; at `/isolated` it is cross-origin isolated, `?script=` names another render.js. */
  host_url: string
  base_url: string
  /** Beacons accepted, in the order they came. */
  beacons: BeaconRequest[]
  /** Every POST of a beacon, refused ones too. */
  posts: { at_ms: number; beacon_id: string; authorization: string }[]
  /** What the next beacons are answered; when empty they are accepted. */
  answers: BeaconAnswer[]
  /** A response whose frame exists. */
  fill(options: FillOptions): PlacementResponse
  /** A response whose frame is a problem page. */
  problem(status: 403 | 404, reason_code: string): PlacementResponse
  /** What the host's backend answers, by the `case` in the request body. */
  backend: Map<string, unknown>
  asset(path: string): string
  close(): Promise<void>
}

export async function openStage(scripts: string): Promise<Stage> {
  const render = await readFile(join(scripts, 'render.js'), 'utf8')
  const script = await readFile(join(scripts, 'frame.js'), 'utf8')
  const frames = new Map<string, () => Page<number>>()
  const backend = new Map<string, unknown>()
  const beacons: BeaconRequest[] = []
  const posts: Stage['posts'] = []
  const answers: BeaconAnswer[] = []
  let count = 0

  const service = createServer(async (request, response) => {
    const path = new URL(request.url ?? '/', 'http://x').pathname
    const cors = {
      'access-control-allow-origin': request.headers.origin ?? '*',
      'access-control-allow-headers': 'authorization, content-type',
      'access-control-expose-headers': 'retry-after',
    }
    if (path === '/v1/render.js') return answer(response, 200, script_headers, render)
    if (path.startsWith('/v1/render/')) {
      const page = frames.get(path.slice('/v1/render/'.length))?.()
      return page ? answer(response, page.status, page.headers, page.html) : answer(response, 404, {}, '')
    }
    if (path === '/v1/beacons' && request.method === 'OPTIONS') return answer(response, 204, cors, '')
    if (path === '/v1/beacons') {
      const beacon = BeaconRequest.parse(JSON.parse(await bodyOf(request)))
      const authorization = request.headers.authorization ?? ''
      posts.push({ at_ms: performance.now(), beacon_id: beacon.beacon_id, authorization })
      const refusal = answers.shift()
      if (refusal) {
        return answer(response, refusal.status, { ...cors, ...refusal.headers }, JSON.stringify(refusal.body ?? {}))
      }
      beacons.push(beacon)
      const result: BeaconResult = {
        ok: true,
        accepted: true,
        duplicate: false,
        billable: false,
        reason_code: 'OK',
        contract_version: 'csl_wrapper_beacon/v1',
        request_id: 'req_1',
      }
      return answer(response, 200, { ...cors, 'content-type': 'application/json' }, JSON.stringify(result))
    }
    return sendFile(request, response, path)
  })
  const host = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://x')
    if (request.method === 'POST') {
      const { case: name } = JSON.parse(await bodyOf(request)) as { case: string }
      const wanted = await backend.get(name)
      return answer(response, wanted ? 200 : 500, { 'content-type': 'application/json' }, JSON.stringify(wanted ?? {}))
    }
    const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Host</title><link rel="icon" href="data:,"><style>body{margin:16px;font:16px/1.5 system-ui;background:Canvas;color:CanvasText;color-scheme:light dark}</style><script src="${url.searchParams.get('script') ?? `${base_url}/v1/render.js`}"></script><p>An answer of the host.</p><div id="slot"></div>`
    const isolation = {
      'cross-origin-embedder-policy': 'require-corp',
      'cross-origin-opener-policy': 'same-origin',
    }
    const headers = { 'content-type': 'text/html; charset=utf-8', ...(url.pathname === '/isolated' ? isolation : {}) }
    return answer(response, 200, headers, html)
  })
  const base_url = `http://127.0.0.1:${await listen(service)}`
  const host_url = `http://localhost:${await listen(host)}`

  function respond(creative: Creative, page: () => Page<number>, options: Partial<FillOptions>): PlacementResponse {
    count += 1
    const asset_token = `ast_${count}_secret`
    frames.set(asset_token, page)
    return PlacementResponse.parse(placementResponse(base_url, asset_token, creative, options))
  }

  return {
    host_url,
    base_url,
    beacons,
    posts,
    answers,
    backend,
    fill: (options) =>
      respond(
        options.creative,
        () =>
          framePage({
            base_url,
            frame_ancestors: ['http://localhost:*'],
            script,
            nonce: 'dGVzdC1ub25jZQ',
            beacon_token: 'bt_1_secret',
            server_time_ms: Date.now(),
            is_test: options.is_test ?? false,
            creative: options.creative,
            sponsor_name: options.sponsor_name ?? 'Larkfield Coffee',
            label_text: 'Sponsored',
            click_url: options.click_url ?? `${host_url}/landing`,
          }),
        options,
      ),
    problem: (status, reason_code) =>
      respond(
        { format: 'banner', image_url: '', width: 300, height: 250 },
        () =>
          frameProblemPage({ status, reason_code, message: 'This ad cannot be shown.' }, 'dGVzdC1ub25jZQ', [
            'http://localhost:*',
          ]),
        {},
      ),
    asset: (path) => `${base_url}/${path}`,
    close: async () => {
      for (const server of [service, host]) {
        server.closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
      }
    },
  }
}

function placementResponse(base_url: string, asset_token: string, creative: Creative, options: Partial<FillOptions>) {
  const { width, height, format } = creative
  const sponsor_name = options.sponsor_name ?? 'Larkfield Coffee'
  const click_url = options.click_url ?? 'https://larkfield-coffee.example/'
  const image_url = format === 'banner' ? creative.image_url : format === 'native' ? creative.assets.image_url : null
  const video_url = format === 'clip' ? creative.video_url : null
  const label = { ad_label_text: 'Sponsored', sponsor_name, click_url, asset_token, format }
  return {
    slot_id: `slot_${asset_token.slice(4, 6)}`,
    status: 'ready',
    placement: {
      ...label,
      image_url,
      video_url,
      width,
      height,
      render: {
        strategy: 'hosted_frame',
        frame_url: `${base_url}/v1/render/${asset_token}`,
        script_url: `${base_url}/v1/render.js`,
        media_type: ({ banner: 'image', clip: 'video', native: 'native' } as const)[format],
        width,
        height,
        aspect_ratio: `${width}/${height}`,
        label_text: 'Sponsored',
        sponsor_name,
        click_url,
        ...(format === 'native' ? { native_template_id: creative.template_id } : {}),
      },
    },
    decision: {
      ...label,
      fill: true,
      delivery_url: image_url ?? video_url,
      assets: format === 'native' ? creative.assets : null,
      mime_type: 'image/png',
      dimensions: { width, height },
      duration_ms: null,
      constraints: {
        mode: 'hosted_frame',
        max_render_delay_ms: 300_000,
        require_viewability_ms: 1_000,
        creative_duration_ms: null,
      },
      cs_declaration: 'CS-S (S1/P0)',
      revenue_estimate: { gross_cpm: 4, estimated_net_per_impression: 0.003, currency: 'USD' },
    },
    authoritative_consent: options.consent ?? grantedConsent(),
  }
}

/** A snapshot that permits ads for `lifetime_ms` from now. */
export function grantedConsent(lifetime_ms = 3_600_000) {
  return {
    lifecycle_state: 'granted',
    revision: 1,
    updated_at_ms: Date.now() - 1_000,
    expires_at_ms: Date.now() + lifetime_ms,
    source: 'wrapper_cmp',
    purposes: { semantic_targeting: true, prompt_shared: false },
  } as const
}

/** Files of the fixtures, with the headers of an isolated asset and with ranges, which video needs. */
async function sendFile(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
  const type = types[path.slice(path.lastIndexOf('.'))]
  const bytes =
    type === undefined || path.includes('..') ? null : await readFile(join(fixtures, path)).catch(() => null)
  if (!bytes || !type) return answer(response, 404, {}, '')
  const headers = { 'content-type': type, 'cross-origin-resource-policy': 'cross-origin', 'accept-ranges': 'bytes' }
  const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? []
  if (from === undefined) return answer(response, 200, headers, bytes)
  const last = to ? Number(to) : bytes.length - 1
  const range = { ...headers, 'content-range': `bytes ${from}-${last}/${bytes.length}` }
  return answer(response, 206, range, bytes.subarray(Number(from), last + 1))
}

const script_headers = { 'content-type': 'text/javascript', 'cross-origin-resource-policy': 'cross-origin' }
const types: Record<string, string> = { '.png': 'image/png', '.webp': 'image/webp', '.mp4': 'video/mp4' }

function answer(
  response: ServerResponse,
  status: number,
  headers: Record<string, string>,
  body: string | Uint8Array,
): void {
  response.writeHead(status, headers).end(body)
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}
