/** `svc completion SHELL`: the command tree as a script of a shell. */
import { Argument } from 'commander'
import type { Command } from '../cli/command.ts'
import { bashCompletion } from '../cli/completion/bash.ts'
import { fishCompletion } from '../cli/completion/fish.ts'
import { powershellCompletion } from '../cli/completion/powershell.ts'
import { placesOf } from '../cli/completion/tree.ts'
import { zshCompletion } from '../cli/completion/zsh.ts'
import { shellMediaType } from '../cli/curl.ts'
import { commands } from './index.ts'

const shells = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion, powershell: powershellCompletion }

export const completion: Command = {
  name: 'completion',
  summary: 'Print the completion script of a shell',
  details: 'It completes commands, flags and their values. Its first lines say how to install it.',
  arguments: [new Argument('<shell>', 'your shell').choices(Object.keys(shells))],
  mendsSettings: true,
  examples: ['completion bash', 'completion fish'],
  async run({ out }, { args }) {
    const named = await Promise.all(commands.map(async ({ name, load }) => ({ name, entry: await load() })))
    const script = shells[args[0] as keyof typeof shells](placesOf(named))
    out.document(`${script.join('\n')}\n`, shellMediaType)
    return 0
  },
}
