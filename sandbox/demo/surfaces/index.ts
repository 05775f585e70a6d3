import type { JobType } from '../../../src/contract/fields.ts'
import { agent } from './agent.ts'
import { chat } from './chat.ts'
import { code } from './code.ts'
import { image } from './image.ts'
import type { SurfaceKind } from './surface.ts'
import { voice } from './voice.ts'

export const surfaces: Readonly<Record<JobType, SurfaceKind>> = { chat, code, image, voice, agent }
