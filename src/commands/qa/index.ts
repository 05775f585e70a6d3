import type { Noun } from '../../cli/run/command.ts'
import { observe } from './observe.ts'
import { run } from './run.ts'
import { list, show, validate } from './suites.ts'

export const qa: Noun = {
  summary: 'Run scripted QA against the emulator, an integration or a service',
  commands: [run, observe, list, show, validate],
}
