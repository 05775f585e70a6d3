/** The coding agents that `svc agent setup` knows: by which files a project shows them, and which files they read. */
import type { JsonObject } from '#foundation/json.ts'

/** A coding agent, and the files of a project that are its own. Paths have forward slashes. */
export interface CodingAgent {
  name: string
  /** Files and folders that show that a project uses it. */
  signs: readonly string[]
  /** The files that may name its MCP servers, the usual one first, and the object of servers in them. */
  servers: { files: readonly string[]; key: string; form: ServerForm }
  /** The folder of its skills. */
  skills: string
}

/** How a file writes the command of a server. */
type ServerForm = 'command' | 'typed' | 'local'

/** Where agents that follow the common convention look for skills. */
const commonSkills = '.agents/skills'
const mcpJson = { files: ['.mcp.json'], key: 'mcpServers', form: 'command' } as const

export const codingAgents: readonly CodingAgent[] = [
  { name: 'agents', signs: ['AGENTS.md', '.agents'], servers: mcpJson, skills: commonSkills },
  { name: 'claude', signs: ['.claude', 'CLAUDE.md', '.mcp.json'], servers: mcpJson, skills: '.claude/skills' },
  {
    name: 'cursor',
    signs: ['.cursor', '.cursorrules'],
    servers: { files: ['.cursor/mcp.json'], key: 'mcpServers', form: 'command' },
    skills: commonSkills,
  },
  {
    name: 'vscode',
    signs: ['.vscode/mcp.json', '.github/copilot-instructions.md', '.github/instructions', '.github/skills'],
    servers: { files: ['.vscode/mcp.json'], key: 'servers', form: 'typed' },
    skills: commonSkills,
  },
  {
    name: 'gemini',
    signs: ['.gemini', 'GEMINI.md'],
    servers: { files: ['.gemini/settings.json'], key: 'mcpServers', form: 'command' },
    skills: commonSkills,
  },
  {
    name: 'opencode',
    signs: ['.opencode', 'opencode.json', 'opencode.jsonc'],
    servers: { files: ['opencode.json', 'opencode.jsonc'], key: 'mcp', form: 'local' },
    skills: commonSkills,
  },
]

/** The files of instructions that take a block, where a project has them. */
export const instructionFiles: readonly string[] = ['AGENTS.md', 'CLAUDE.md']

/** Returns what a file of servers has for svc. @param words how commands begin: `npx`, `--no`, `svc-sandbox` */
export function serverEntry(form: ServerForm, [command = 'svc', ...words]: readonly string[]): JsonObject {
  const args = [...words, 'agent', 'mcp', '--start']
  if (form === 'local') return { type: 'local', command: [command, ...args] }
  return { ...(form === 'typed' ? { type: 'stdio' } : {}), command, args }
}
