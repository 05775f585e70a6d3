/** Every page of the table, by kind. */
import type { Kind } from './case.ts'
import { consoles } from './console.ts'
import { copies } from './copies.ts'
import { engines } from './engines.ts'
import { extensions } from './extensions.ts'
import { network } from './network.ts'
import { policies } from './policies.ts'
import { turns } from './turns.ts'
import { covers, effects } from './visibility.ts'

export const kinds: readonly Kind[] = [extensions, turns, copies, effects, covers, network, engines, policies, consoles]
