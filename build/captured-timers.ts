/** `node:timers/promises` for every chunk, taken when the first one loads: see captured-globals.ts. */
import timers from 'node:timers/promises'

export const { setTimeout, setImmediate } = timers
