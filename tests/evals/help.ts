/** What an agent is helped with: nothing, a block in AGENTS.md, the skill, or the tools; each as `svc agent setup` writes it. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openProjectFiles } from '#agent-files/project-files.ts'
import { planSetup } from '#agent-files/setup.ts'
import { checkout } from './project.ts'

export const helps = ['none', 'agents-md', 'skill', 'mcp'] as const
export type Help = (typeof helps)[number]

/** What an agent reads of it before its first question, in tokens of about four characters. */
export interface Offered {
  help: Help
  tokens: number
}

const files: Readonly<Record<Exclude<Help, 'none'>, RegExp>> = {
  'agents-md': /^AGENTS\.md$/,
  skill: /SKILL\.md$/,
  mcp: /\.mcp\.json$/,
}

/** Writes a help into the folder of a task. */
export function writeHelp(directory: string, help: Help): void {
  if (help === 'none') return
  if (help === 'agents-md') writeFileSync(join(directory, 'AGENTS.md'), '# Agents\n')
  const words = [process.execPath, join(checkout, 'bin/svc.js')]
  const project = openProjectFiles(directory)
  const [skill, block] = ['SKILL.md', 'block.md'].map((name) => readSkillFile(name, words.join(' ')))
  const agents = [{ name: 'agents', signs: [], servers: mcpJson, skills: '.agents/skills' }]
  const plan = planSetup({ project, agents, skill: skill!, block: block!, version: '0', words })
  for (const { path, content } of plan.files)
    if (content !== null && files[help].test(path)) project.write(path, content)
}

const mcpJson = { files: ['.mcp.json'], key: 'mcpServers', form: 'command' } as const

function readSkillFile(name: string, command: string): string {
  const text = readFileSync(join(checkout, 'fixtures/agent-skill', name), 'utf8')
  return text.replaceAll('{{svc}}', command).replaceAll('{{version}}', '0')
}

/** Measures what a help costs. Of a skill an agent first reads its description alone; here the whole text counts. */
export async function measureHelp(help: Help, sandbox_url: string): Promise<Offered> {
  if (help === 'none') return { help, tokens: 0 }
  const text = help === 'mcp' ? await listTools(sandbox_url) : readSkillFile(textFiles[help], 'svc')
  return { help, tokens: Math.round(text.length / 4) }
}

const textFiles = { 'agents-md': 'block.md', skill: 'SKILL.md' } as const

async function listTools(sandbox_url: string): Promise<string> {
  const response = await fetch(`${sandbox_url}/_sandbox/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
  })
  const text = await response.text()
  if (!response.ok || !text.includes('inputSchema')) throw new Error(`The tools could not be listed: ${text}`)
  return text
}
