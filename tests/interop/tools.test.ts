import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { temporaryDirectory } from '../temporary.ts'
import { installTools } from './tools.ts'

test('without its registry a run fails at once, and names it', async () => {
  const root = temporaryDirectory()
  const env = {
    npm_config_registry: 'http://127.0.0.1:9/',
    npm_config_cache: join(root, 'cache'),
    npm_config_fetch_retries: '0',
  }
  await expect(installTools(root, env)).rejects.toThrow(
    /^npm run test:interop could not install its tools from http:\/\/127\.0\.0\.1:9\/\.\nCheck the network[\s\S]*ECONNREFUSED/,
  )
  expect(readdirSync(root)).toEqual(['cache'])
})

test('tools that are installed are found again', async () => {
  const tools = inject('tools')
  expect(await installTools(join(tools, '..'))).toBe(tools)
  expect(existsSync(join(tools, 'node_modules/@redocly/cli/package.json'))).toBe(true)
})
