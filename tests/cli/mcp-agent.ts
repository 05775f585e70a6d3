/** An agent for tests: the client of the official SDK, which checks each result against the schema of its tool. */
import {
  type CallToolResult,
  Client,
  type JsonSchemaType,
  type JsonSchemaValidator,
  type jsonSchemaValidator,
  type Tool as ListedTool,
  ReadBuffer,
  StreamableHTTPClientTransport,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv'
import { expect, onTestFinished } from 'vitest'
import { maxCharacters } from '#mcp/results/result-text.ts'
import type { Tool } from '#mcp/tool.ts'
import { localTools, tools } from '#mcp/tools.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { follow } from './follow.ts'
import { root } from './process.ts'
import type { RunOptions } from './test-cli.ts'

export interface Agent {
  client: Client
  /** Calls a tool that must succeed. Returns its result. */
  use<Result = Record<string, never>>(name: string, given?: object): Promise<Result>
  /** Calls a tool that must succeed. Returns everything around its result too. */
  ask(name: string, given?: object): Promise<Answer>
  /** Calls a tool that must fail. Returns the text of the failure. */
  fail(name: string, given?: object): Promise<string>
}

export interface Answer {
  truncated?: string
  from_outside?: string[]
  result: unknown
}

/** Validators by their schema: each agent lists the same tools, and compiling their schemas takes longer than calling them. */
const validators = new Map<string, JsonSchemaValidator<unknown>>()
const ajv = new AjvJsonSchemaValidator()
const keptValidators: jsonSchemaValidator = {
  getValidator<T>(schema: JsonSchemaType) {
    const key = JSON.stringify(schema)
    const kept = validators.get(key) ?? ajv.getValidator(schema)
    validators.set(key, kept)
    return kept as JsonSchemaValidator<T>
  },
}

/** Connects an agent, until the end of the test. */
export async function connect(transport: Transport): Promise<Agent> {
  const client = new Client({ name: 'test', version: '1.0.0' }, { jsonSchemaValidator: keptValidators })
  await client.connect(transport)
  onTestFinished(() => client.close())
  // From here on the client validates each result against the output schema of its tool, by Ajv.
  const listed = await client.listTools()
  const own = transport instanceof StreamableHTTPClientTransport ? tools : localTools
  const call = async (name: string, given: object) => {
    const result = await client.callTool({ name, arguments: { ...given } })
    const [content] = result.content as { type: 'text'; text: string }[]
    expect(content!.text.length).toBeLessThanOrEqual(maxCharacters)
    expectStructured(listed.tools, own, name, result as CallToolResult)
    return {
      text: content!.text,
      answer: result.structuredContent as unknown as Answer,
      isError: result.isError === true,
    }
  }
  const ask = async (name: string, given: object) => {
    const { text, answer, isError } = await call(name, given)
    expect({ name, isError, text: isError ? text : '' }).toEqual({ name, isError: false, text: '' })
    expect(JSON.parse(text)).toEqual(answer)
    return answer
  }
  return {
    client,
    ask: (name, given = {}) => ask(name, given),
    use: async <Result>(name: string, given = {}) => (await ask(name, given)).result as Result,
    async fail(name, given = {}) {
      const { text, isError } = await call(name, given)
      expect({ name, isError }).toEqual({ name, isError: true })
      return text
    },
  }
}

/** Loads what checks beacons: on a busy computer loading alone takes the time that a text may take; a second time is short. */
export async function loadLinter({ client }: Agent): Promise<void> {
  const lint = () => client.callTool({ name: 'lint_beacons', arguments: { text: '{}' } })
  await expect.poll(async () => (await lint()).isError === true).toBe(false)
}

/** A result by the schema that the server lists, and a success by that of the contract, which permits nothing more. */
function expectStructured(
  listed: readonly ListedTool[],
  own: readonly Tool[],
  name: string,
  { structuredContent, isError }: CallToolResult,
) {
  const { outputSchema } = listed.find((tool) => tool.name === name) ?? {}
  expect([name, outputSchema?.type]).toEqual([name, 'object'])
  const { valid, errorMessage } = keptValidators.getValidator(outputSchema as object)(structuredContent)
  expect([name, valid, errorMessage]).toEqual([name, true, undefined])
  const { result, error } = structuredContent as Record<string, unknown>
  expect([name, error === undefined]).toEqual([name, isError !== true])
  if (isError === true) return
  const { output } = own.find((tool) => tool.name === name)!
  expect([name, output.safeParse(result).error?.issues ?? []]).toEqual([name, []])
}

/** `svc agent mcp` in this process, over streams in memory. */
export interface McpHere extends Transport {
  stderr(): string
}

/** Starts `svc agent mcp` in this process, with a home of its own unless `env` names one, in a folder. */
export function mcpHere(args = '', env: Record<string, string> = {}, options: RunOptions = {}): McpHere {
  const home = temporaryDirectory()
  const input = new TransformStream<Uint8Array, Uint8Array>(undefined, undefined, { highWaterMark: 100 })
  const writer = input.writable.getWriter()
  const buffer = new ReadBuffer()
  const stdout = {
    is_terminal: false,
    columns: undefined,
    write(text: string) {
      buffer.append(Buffer.from(text))
      try {
        for (let message = buffer.readMessage(); message !== null; message = buffer.readMessage())
          transport.onmessage?.(message)
      } catch (error) {
        // A line that is no message.
        transport.onerror?.(error as Error)
      }
    },
  }
  const end = () => void writer.close().catch(() => {})
  const running = follow(`agent mcp ${args.includes('--tools') ? args : `${args} --tools all`}`, {
    cwd: temporaryDirectory(),
    ...options,
    env: { SVC_HOME: home, ...env },
    system: { home, stdin: input.readable, closeInput: end, stdout, now: Date.now, ...options.system },
  })
  const transport: McpHere = {
    start: async () => {},
    send: async (message) => void writer.write(new TextEncoder().encode(serializeMessage(message))),
    async close() {
      end()
      await running.ended
      transport.onclose?.()
    },
    stderr: running.stderr,
  }
  return transport
}

/** Starts `svc agent mcp` as a process, with a home of its own. */
export function spawnMcp(args: readonly string[], env: Record<string, string> = {}) {
  const home = temporaryDirectory()
  return new StdioClientTransport({
    command: process.execPath,
    args: [`${root}/bin/svc.js`, 'agent', 'mcp', '--tools', 'all', ...args],
    env: { PATH: process.env.PATH ?? '', HOME: home, SVC_HOME: home, ...env },
    cwd: temporaryDirectory(),
    stderr: 'pipe',
  })
}

/** Connects an agent to the usual tools of a sandbox over HTTP. A result of theirs is text alone. */
export async function connectShort(url: string) {
  const client = new Client({ name: 'test', version: '1.0.0' })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/_sandbox/mcp`)))
  onTestFinished(() => client.close())
  const ask = async (name: string, given: object) => {
    const { content, structuredContent, isError } = await client.callTool({ name, arguments: { ...given } })
    expect(structuredContent).toBeUndefined()
    return { text: (content as { text: string }[])[0]!.text, isError: isError === true }
  }
  return {
    client,
    /** Calls a tool that must succeed. Returns its result. */
    async call<Result = Record<string, never>>(name: string, given: object = {}): Promise<Result> {
      const { text, isError } = await ask(name, given)
      expect({ name, isError, text: isError ? text : '' }).toEqual({ name, isError: false, text: '' })
      return (JSON.parse(text) as { result: Result }).result
    },
    /** Calls a tool that must fail. Returns the text of the failure. */
    async fail(name: string, given: object = {}): Promise<string> {
      const { text, isError } = await ask(name, given)
      expect(isError).toBe(true)
      return text
    },
  }
}
