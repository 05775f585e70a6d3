/** An agent for tests: the client of the official SDK, which checks each result against the schema of its tool. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import type { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { CallToolResult, Tool as ListedTool } from '@modelcontextprotocol/sdk/types.js'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv'
import { expect, onTestFinished } from 'vitest'
import { maxCharacters } from '#mcp/result-text.ts'
import type { Tool } from '#mcp/tool.ts'
import { localTools, tools } from '#mcp/tools.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { root } from './process.ts'

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

/** Connects an agent, until the end of the test. */
export async function connect(transport: StdioClientTransport | StreamableHTTPClientTransport): Promise<Agent> {
  const client = new Client({ name: 'test', version: '1.0.0' })
  await client.connect(transport as Parameters<Client['connect']>[0])
  onTestFinished(() => client.close())
  // From here on the client validates each result against the output schema of its tool, by Ajv.
  const listed = await client.listTools()
  const own = transport instanceof StdioClientTransport ? localTools : tools
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

/** A result by the schema that the server lists, and a success by that of the contract, which permits nothing more. */
function expectStructured(
  listed: readonly ListedTool[],
  own: readonly Tool[],
  name: string,
  { structuredContent, isError }: CallToolResult,
) {
  const { outputSchema } = listed.find((tool) => tool.name === name) ?? {}
  expect([name, outputSchema?.type]).toEqual([name, 'object'])
  const { valid, errorMessage } = new AjvJsonSchemaValidator().getValidator(outputSchema as object)(structuredContent)
  expect([name, valid, errorMessage]).toEqual([name, true, undefined])
  const { result, error } = structuredContent as Record<string, unknown>
  expect([name, error === undefined]).toEqual([name, isError !== true])
  if (isError === true) return
  const { output } = own.find((tool) => tool.name === name)!
  expect([name, output.safeParse(result).error?.issues ?? []]).toEqual([name, []])
}

const bin = `${root}/bin/svc.js`

/** Starts `svc mcp` with a home of its own, in a folder. */
export function spawnMcp(args: readonly string[], env: Record<string, string> = {}, cwd = temporaryDirectory()) {
  const home = temporaryDirectory()
  return new StdioClientTransport({
    command: process.execPath,
    args: [bin, 'mcp', ...args],
    env: { PATH: process.env.PATH ?? '', HOME: home, SVC_HOME: home, ...env },
    cwd,
    stderr: 'pipe',
  })
}
