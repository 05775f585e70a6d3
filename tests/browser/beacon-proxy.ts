/** A proxy in front of the emulator, which forwards, delays or refuses beacons while the browser waits. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { BeaconEvent } from '#contract/resources/beacons.ts'
import type { PlacementResponse } from '#contract/resources/placements.ts'

export interface BeaconProxy extends AsyncDisposable {
  /** The same placement, whose frame and beacons go through the proxy. */
  through(response: PlacementResponse): PlacementResponse
  /** Delays the next beacon of an event, or the next preflight, before the emulator receives it. */
  hold(what: 'preflight' | BeaconEvent): Held
  /** Responds with 503 to this many of the next beacons. */
  refusals: number
  /** Beacons that arrived, refused ones included. */
  readonly beacon_ids: string[]
}

export interface Held {
  arrived: Promise<void>
  release(): void
}

export async function openBeaconProxy(emulator_url: string): Promise<BeaconProxy> {
  const holds: { what: 'preflight' | BeaconEvent; arrive: () => void; released: Promise<void> }[] = []
  const beacon_ids: string[] = []
  const server = createServer(async (request, response) => {
    const body = await readBody(request)
    if (request.url === '/v1/beacons') {
      const beacon = request.method === 'POST' ? (JSON.parse(body) as { beacon_id: string; event: BeaconEvent }) : null
      const held = holds[0]?.what === (beacon?.event ?? 'preflight') ? holds.shift() : undefined
      held?.arrive()
      await held?.released
      if (beacon) {
        beacon_ids.push(beacon.beacon_id)
        if (gate.refusals > 0) {
          gate.refusals -= 1
          return response.writeHead(503, { 'access-control-allow-origin': request.headers.origin ?? '*' }).end()
        }
      }
    }
    const { host, connection, 'content-length': length, ...headers } = request.headers
    const answer = await fetch(emulator_url + request.url, {
      method: request.method ?? 'GET',
      headers: headers as Record<string, string>,
      ...(body !== '' && { body }),
    })
    const passed = [...answer.headers].filter(
      ([name]) => !/^(connection|keep-alive|content-(encoding|length)|transfer-encoding)$/.test(name),
    )
    response.writeHead(answer.status, Object.fromEntries(passed)).end(Buffer.from(await answer.arrayBuffer()))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const gate: BeaconProxy = {
    through: (response) => {
      const { placement } = response
      const frame_url = placement!.render.frame_url.replace(emulator_url, url)
      return { ...response, placement: { ...placement!, render: { ...placement!.render, frame_url } } }
    },
    hold: (what) => {
      const arrival = Promise.withResolvers<void>()
      const going = Promise.withResolvers<void>()
      holds.push({ what, arrive: arrival.resolve, released: going.promise })
      return { arrived: arrival.promise, release: going.resolve }
    },
    refusals: 0,
    beacon_ids,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return gate
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
