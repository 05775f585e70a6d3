/** Clients that wait for a decision at a WebSocket (RFC 6455): they get one frame, and leave. */
import { readViews } from '#tests/histories/known.ts'
import { type KnownSlot, type OpenSocket, readHistory } from '../acknowledged.ts'
import type { Connection } from '../virtual/upgrades.ts'
import { credential, pick, type RequestStep, readJson, type Sender } from './sender.ts'

type SocketStep = Extract<RequestStep, { kind: 'socket' }>

/** Resolves when the handshake has been answered: the client stays for as long as it waits. */
export async function openSocket(sender: Sender, step: SocketStep): Promise<void> {
  const { acknowledged, report } = sender
  const slot = pick(acknowledged.slots.toReversed(), step.slot)
  if (slot === null) return
  const path = `/public/wrapper/v1/slots/${slot.slot_id}`
  const issued = await sender.call(step, {
    method: 'POST',
    path: `${path}/decision-ticket`,
    headers: credential(slot.project, null),
  })
  const ticket = readJson<{ ticket?: string }>(issued)?.ticket
  if (ticket === undefined) return
  const { generation } = acknowledged
  if (!(await connect(sender, { step, slot, path: `${path}/decision/ws?ticket=${ticket}` }))) return
  const again = await connect(sender, {
    step: { ...step, leaves_ms: 0 },
    slot,
    path: `${path}/decision/ws?ticket=${ticket}`,
  })
  if (again && acknowledged.generation === generation)
    report({ check: 'refusals', text: `a ticket of ${slot.slot_id} opens two sockets` })
}

interface Target {
  step: SocketStep
  slot: KnownSlot
  path: string
}

/** Resolves to whether the handshake was accepted. */
function connect(sender: Sender, { step, slot, path }: Target): Promise<boolean> {
  const { acknowledged, network, log } = sender
  const state: OpenSocket = { slot_id: slot.slot_id, generation: acknowledged.generation, messages: [] }
  return new Promise((resolve) => {
    let connection: Connection | null = null
    const stream = readStream({
      onStatus(status) {
        log(`  a socket of ${slot.slot_id} is answered with ${status}`)
        if (status !== 101) return resolve(false)
        acknowledged.sockets.add(state)
        if (step.leaves_ms !== null) void sender.wait(step.leaves_ms).then(leave)
        resolve(true)
      },
      onFrame(opcode, payload) {
        if (opcode === opcodes.ping) connection?.write(frame(opcodes.pong, payload))
        else if (opcode === opcodes.close) {
          connection?.write(frame(opcodes.close, payload))
          leave()
        } else if (opcode === opcodes.text) take(payload.toString('utf8'))
      },
    })
    const leave = () => {
      acknowledged.sockets.delete(state)
      connection?.end()
    }
    const take = (text: string) => {
      log(`  a socket of ${slot.slot_id} gets ${text.slice(0, 200)}`)
      state.messages.push(text)
      checkMessage(sender, state, slot)
    }
    connection = network.connect(path, handshake, {
      onBytes: stream,
      onEnd() {
        acknowledged.sockets.delete(state)
        resolve(false)
      },
    })
    if (connection === null) resolve(false)
  })
}

/** One decision, which is made, and the one that other clients know. */
function checkMessage(
  { acknowledged, report }: Sender,
  { messages, generation }: OpenSocket,
  { slot_id }: KnownSlot,
): void {
  const add = (text: string) => report({ check: 'decisions', text: `a socket of ${slot_id} ${text}` })
  if (messages.length > 1) add('gets another decision')
  const {
    slot_id: named,
    status,
    fill,
    no_fill_reason,
  } = JSON.parse(messages.at(-1)!) as {
    slot_id: string
    status: string
    fill: boolean | null
    no_fill_reason: string | null
  }
  if (named !== slot_id) add(`gets the decision of ${named}`)
  if (status !== 'ready') add(`gets a decision that is ${status}`)
  const [known] = readViews(readHistory(acknowledged)).get(slot_id) ?? []
  if (known === undefined || generation !== acknowledged.generation || acknowledged.replacing > 0) return
  if (known.fill !== fill && no_fill_reason !== 'slot_expired') add(`gets ${fill}, and its decision was ${known.fill}`)
}

const handshake = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
}

const opcodes = { text: 1, close: 8, ping: 9, pong: 10 } as const

/** A frame of a client: short, and masked with zeros. */
function frame(opcode: number, payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0x80 | opcode, 0x80 | payload.length, 0, 0, 0, 0]), payload])
}

interface Reader {
  onStatus(status: number): void
  onFrame(opcode: number, payload: Buffer): void
}

/** Returns a function that takes the bytes of the process: the response to the handshake, then frames. */
function readStream({ onStatus, onFrame }: Reader): (bytes: Buffer) => void {
  let rest = Buffer.alloc(0)
  let isOpen = false
  let isRefused = false
  return (bytes) => {
    if (isRefused) return
    rest = Buffer.concat([rest, bytes])
    if (!isOpen) {
      const end = rest.indexOf('\r\n\r\n')
      if (end === -1) return
      isOpen = true
      const status = Number(rest.toString('latin1', 9, 12))
      rest = rest.subarray(end + 4)
      isRefused = status !== 101
      onStatus(status)
      if (isRefused) return
    }
    for (let read = readFrame(rest); read !== null; read = readFrame(rest)) {
      rest = rest.subarray(read.size)
      onFrame(read.opcode, read.payload)
    }
  }
}

function readFrame(bytes: Buffer): { opcode: number; payload: Buffer; size: number } | null {
  if (bytes.length < 2) return null
  const isLong = bytes[1]! === 126
  const from = isLong ? 4 : 2
  if (bytes.length < from) return null
  const size = from + (isLong ? bytes.readUInt16BE(2) : bytes[1]!)
  if (bytes.length < size) return null
  return { opcode: bytes[0]! & 15, payload: bytes.subarray(from, size), size }
}
